"""Files that are dropped on the canvas become blocks that load them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from warploom import Engine, Patch, ProfilingLevel
from warploom.app.edits.files.dropped_files import give_file, is_usable, place_files
from warploom.app.edits.nodes import set_parameter
from warploom.engine.diagnostics import PatchError


def test_each_file_becomes_a_block_that_loads_it(tmp_path: Path) -> None:
    """Pictures in formats of other programs, numbers that numpy has saved as text, and a folder run at once."""
    shots = tmp_path / "shots"
    shots.mkdir()
    pixels = np.full((4, 5, 3), 255, np.uint8)
    files = [tmp_path / f"a{suffix}" for suffix in (".tga", ".ppm", ".jp2", ".dds", ".sgi")]
    for path in (*files, shots / "b.TGA"):
        Image.fromarray(pixels).save(path)
    np.savetxt(text := tmp_path / "c.txt", np.arange(6).reshape(2, 3))
    patch = Patch()
    nodes = place_files(patch, [*files, shots, text], (0.0, 0.0), "")
    assert [patch.nodes[node].type for node in nodes] == ["io.load_image"] * 5 + ["io.load_images", "data.load_table"]
    with Engine(patch, device="host", profiling=ProfilingLevel.SUMMARY) as engine:
        assert not engine.step().diagnostics
        for node in nodes[:-1]:
            np.testing.assert_allclose(engine.read(patch[node]["out"]), np.ones((4, 5, 4)), atol=0.02)
        np.testing.assert_array_equal(engine.read(patch[nodes[-1]]["out"]), np.arange(6).reshape(2, 3))
    assert [patch.title(node) for node in nodes] == [*(path.name for path in files), "shots", "c.txt"]
    give_file(patch, nodes[0], "file", files[1])
    set_parameter(patch, nodes[1:2], "file", "elsewhere/other.png")
    patch.rename(nodes[2], "Mine")
    give_file(patch, nodes[2], "file", files[1])
    patch.rename(nodes[3], "linear")  # the name of a choice, not of a file
    for choice in ("linear", "raw"):
        set_parameter(patch, nodes[3:4], "space", choice)
    assert [patch.title(node) for node in nodes[:4]] == ["a.ppm", "other.png", "Mine", "linear"]
    for _ in range(8):
        patch.undo()
    assert not patch.nodes


def test_what_no_block_loads_is_refused(tmp_path: Path) -> None:
    """The message says what can be dropped."""
    (tmp_path / "notes.md").write_text("x")
    assert not is_usable(tmp_path / "notes.md") and not is_usable(tmp_path)
    with pytest.raises(PatchError, match=r"must be a picture, sound, film, table, .*, got notes\.md"):
        place_files(Patch(), [tmp_path / "notes.md"], (0.0, 0.0), "")
