"""A kill at any moment loses at most 2 s of work, damages no file and leaves nothing behind."""

import json
import subprocess
import sys
from pathlib import Path

from tests.fuzzing import FACTOR, FIRST_SEED

KILLS, IN_FUZZ = 2, 1000
#: How many of these editors have an engine in a process of its own, which is killed too.
ENGINES, IN_FUZZ_ENGINES = 0, 100
AT_ONCE = 2
MOST_LOST_S = 2.0


def test_work_survives_kills(tmp_path: Path) -> None:
    """Work survives two kills in an ordinary run, and a thousand in `make fuzz`, where a tenth is of engines too."""
    kills, engines = (n // AT_ONCE for n in ((IN_FUZZ, IN_FUZZ_ENGINES) if FACTOR > 1 else (KILLS, ENGINES)))
    command = [sys.executable, "-m", "tests.app.documents.kill_editors"]
    running = [
        subprocess.Popen(
            [*command, str(tmp_path / str(n)), str(kills), str(FIRST_SEED + n), str(engines)], stdout=subprocess.PIPE
        )
        for n in range(AT_ONCE)
    ]
    found = [json.loads(line) for process in running for line in process.communicate()[0].splitlines()]
    assert len(found) == AT_ONCE * kills
    assert all(one["killed"] and one["whole"] and not one["older_offered"] and one["left"] == [] for one in found)
    assert not any(one["orphans"] or one["after_engine"] == 0 for one in found)
    assert max(one["lost_s"] for one in found) <= MOST_LOST_S
    lost, parts = max(one["lost_s"] for one in found), sum(one["parts"] for one in found)
    sys.stdout.write(f"{len(found)} kills: at most {lost:.2f} s lost, {parts} .part files until the next save\n")
