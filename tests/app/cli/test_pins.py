"""`warploom run --check` checks the pins of a patch."""

from pathlib import Path

import numpy as np
import pytest

from tests.app.cli.cli_support import Warploom
from tests.runtime.check.pinning import moving, pinned
from warploom.engine.patch.files import save_patch


@pytest.mark.feature("pins")
def test_run_with_check_fails_with_one_line_for_each_pin(warploom: Warploom, tmp_path: Path) -> None:
    """`run --check` runs as many frames as the pins need, and reports what was expected, what was found, and where."""
    patch = moving()
    pinned(patch, patch["total"]["out"], frame=4)
    path = tmp_path / "moving.loom"
    save_patch(patch, path)
    arguments = "run", path, "--device", "host", "--frames", 2
    right = warploom(*arguments, "--check")
    assert (right.status, "1 pin passed" in right.out) == (0, True), right.err
    patch.set("data", data=np.zeros(8, np.float32))
    save_patch(patch, path)
    assert warploom(*arguments).status == 0
    wrong = warploom(*arguments, "--check", "--json")
    (line,) = wrong.err.splitlines()
    assert line == "pin of total.out, frame 4: 8 of 8 elements: expected -5.0, found 0.0 at [0]"
    assert wrong.status == 1 and wrong.json["frames"] == 5
    assert wrong.json["pins"] == [
        {"node": "total", "port": "out", "frame": 4, "passed": False, "text": line.partition(": ")[2]}
    ]
