"""Files of every version of the format open; `formats` has a file of each, as that version wrote it."""

import json
from pathlib import Path

import pytest

from warploom import Patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.beside.array_files import ArrayFiles
from warploom.engine.patch.files import dump_patch, dump_value, load_patch, parse_patch
from warploom.engine.patch.schemas import _UPGRADES, NEWEST

FORMATS = Path(__file__).parent / "formats"


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_a_file_of_each_version_opens_and_is_written_as_it_was(version: int) -> None:
    """A file says its version, opens with everything in it, and is written byte for byte as it was read."""
    path = FORMATS / f"{version}.loom"
    text = path.read_text()
    assert json.loads(text)["schema"] == version
    patch = load_patch(path)
    assert dump_patch(patch, ArrayFiles(path.stem, dump_value).dump) == text
    assert patch.title("double") == "Twice" and patch.value("double", "scale") == 2.0
    assert patch.value("numbers", "data").tolist() == [0, 1, 2, 3]
    assert len(patch.connections) >= 3 and len(patch.sentinels) == 1
    assert patch.nodes["copy"].region == "sometimes"
    assert [str(patch.nodes[node].mode) for node in ("double", "copy")] == (
        ["", ""] if version == 1 else ["bypassed", "disabled"]
    )


def test_there_is_a_step_from_each_version_to_the_next() -> None:
    """Each version but the newest has a step to the next one, and each has a file."""
    assert sorted(_UPGRADES) == list(range(1, NEWEST))
    assert sorted(int(path.stem) for path in FORMATS.glob("*.loom")) == list(range(1, NEWEST + 1))


def test_a_patch_is_written_for_the_oldest_version_that_can_run_it() -> None:
    """Bypassed blocks and groups need version 2, keys and a timeline 3; without them again, the file is the first."""
    patch = Patch()
    patch.add("math.scale_offset", node_id="a")
    first = dump_patch(patch)
    assert json.loads(first)["schema"] == 1
    patch.set_mode("a", "bypassed")
    assert json.loads(dump_patch(patch))["schema"] == 2
    patch.undo()
    assert dump_patch(patch) == first
    patch.animate("a", "scale", [(0, 1.0), (1, 2.0)])
    assert json.loads(dump_patch(patch))["schema"] == 3
    patch.undo()
    patch.set_timeline(rate=24)
    assert json.loads(dump_patch(patch))["schema"] == 3
    patch.undo()
    patch.add("math.scale_offset", node_id="b")
    patch.order("a", "b")
    assert json.loads(dump_patch(patch))["schema"] == 5
    patch.undo(), patch.undo()
    patch.group(["a"], "Group")
    assert json.loads(dump_patch(patch))["schema"] == 2
    patch.undo()
    assert dump_patch(patch) == first


def test_a_file_of_a_newer_version_is_refused_clearly() -> None:
    """A file of a version that this Warploom does not know is not opened, since it would show another patch."""
    with pytest.raises(PatchError, match="schema must be from 1 to 5, got 6; a newer Warploom may read it"):
        parse_patch('{"schema": 6, "nodes": [], "connections": []}')
