"""A kill at any moment loses at most 3 s of work, damages no file and leaves nothing behind."""

import json
import subprocess
import sys
from pathlib import Path

from tests.fuzzing import FACTOR, FIRST_SEED

KILLS, IN_FUZZ = 10, 1000
AT_ONCE = 2
MOST_LOST_S = 3.0


def test_work_survives_kills(tmp_path: Path) -> None:
    """Work survives ten kills in an ordinary run, and a thousand in `make fuzz`."""
    kills = (IN_FUZZ if FACTOR > 1 else KILLS) // AT_ONCE
    command = [sys.executable, "-m", "tests.app.documents.kill_editors"]
    running = [
        subprocess.Popen([*command, str(tmp_path / str(n)), str(kills), str(FIRST_SEED + n)], stdout=subprocess.PIPE)
        for n in range(AT_ONCE)
    ]
    found = [json.loads(line) for process in running for line in process.communicate()[0].splitlines()]
    assert len(found) == AT_ONCE * kills
    assert all(one["killed"] and one["whole"] and not one["older_offered"] and one["left"] == [] for one in found)
    assert max(one["lost_s"] for one in found) <= MOST_LOST_S
    lost, parts = max(one["lost_s"] for one in found), sum(one["parts"] for one in found)
    sys.stdout.write(f"{len(found)} kills: at most {lost:.2f} s lost, {parts} .part files until the next save\n")
