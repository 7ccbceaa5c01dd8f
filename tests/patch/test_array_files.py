"""Large arrays are in NPY files beside the patch."""

import json
from pathlib import Path

import numpy as np
import pytest

from warploom import Patch, load_patch, save_patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.files import dump_patch, parse_patch

BIG = np.arange(1025, dtype=np.float32).reshape(25, 41)


def saved(path: Path, data: np.ndarray) -> tuple[Patch, Path | None]:  # type: ignore[type-arg]  # any array
    """Save a patch with an array; return it, and the array's file if it has one."""
    patch = Patch()
    patch.add("io.array", data=data)
    save_patch(patch, path)
    files = list(path.parent.glob(f"{path.stem}.*.npy"))
    return patch, files[0] if files else None


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_a_large_array_has_a_file(tmp_path: Path, dtype: str) -> None:
    """numpy reads the file, the patch's text is short, and loading gives the same array."""
    data = (np.arange(5000) % 120).reshape(50, 100).astype(dtype)
    _, file = saved(tmp_path / "a.loom", data)
    assert file is not None
    np.testing.assert_array_equal(np.load(file), data)
    text = (tmp_path / "a.loom").read_text()
    assert len(text) < 600
    assert json.loads(text)["schema"] == 4
    found = load_patch(tmp_path / "a.loom").value("array", "data")
    assert found.dtype == data.dtype
    np.testing.assert_array_equal(found, data)


def test_up_to_4_kb_are_in_the_text(tmp_path: Path) -> None:
    """An array of 4096 bytes is in the patch's own text, which an older Warploom reads; one byte more is not."""
    for size, schema in ((4096, 1), (4097, 4)):
        _, file = saved(tmp_path / f"{size}.loom", np.zeros(size, np.uint8))
        assert (file is not None) is (schema == 4)
        assert json.loads((tmp_path / f"{size}.loom").read_text())["schema"] == schema


def test_save_as_takes_arrays_along(tmp_path: Path) -> None:
    """A patch saved elsewhere has its arrays there; the same contents are written once; other contents get a file."""
    patch, first = saved(tmp_path / "a.loom", BIG)
    assert first is not None
    before = first.stat().st_mtime_ns
    save_patch(patch, tmp_path / "a.loom")
    assert first.stat().st_mtime_ns == before
    (tmp_path / "other").mkdir()
    save_patch(patch, tmp_path / "other" / "b.loom")
    first.unlink()
    np.testing.assert_array_equal(load_patch(tmp_path / "other" / "b.loom").value("array", "data"), BIG)
    patch.set("array", data=BIG + 1)
    save_patch(patch, tmp_path / "other" / "b.loom")
    assert len(list((tmp_path / "other").glob("b.*.npy"))) == 2
    np.testing.assert_array_equal(load_patch(tmp_path / "other" / "b.loom").value("array", "data"), BIG + 1)


def test_a_missing_or_changed_file_is_one_clear_message(tmp_path: Path) -> None:
    """The message has the place, the file and what to do."""
    _, file = saved(tmp_path / "a.loom", BIG)
    assert file is not None
    contents = file.read_bytes()
    file.write_bytes(contents[:-1])
    with pytest.raises(
        PatchError, match=r"array.data\): file .*npy must be as it was written, got other contents; copy"
    ):
        load_patch(tmp_path / "a.loom")
    file.unlink()
    with pytest.raises(
        PatchError, match=r"nodes\[0\] \(array.data\): array must be in the file .*npy, got: No such file.*; copy it"
    ):
        load_patch(tmp_path / "a.loom")
    with pytest.raises(PatchError, match="array must be in the text, got one in the file a"):
        parse_patch((tmp_path / "a.loom").read_text())


@pytest.mark.parametrize("name", ["../a.0123456789abcdef.npy", "/etc/a.0123456789abcdef.npy", "a.npy", 3, "a.XYZ.npy"])
def test_names_stay_in_the_folder(tmp_path: Path, name: object) -> None:
    """A patch names only files of its own folder."""
    saved(tmp_path / "a.loom", BIG)
    document = json.loads((tmp_path / "a.loom").read_text())
    document["nodes"][0]["parameters"]["data"]["npy"] = name
    (tmp_path / "a.loom").write_text(json.dumps(document))
    with pytest.raises(PatchError, match=r"file of an array must be NAME\.DIGEST\.npy"):
        load_patch(tmp_path / "a.loom")


def test_copies_hold_arrays_themselves() -> None:
    """The text of a patch for the clipboard and for other processes has its arrays."""
    patch = Patch()
    patch.add("io.array", data=BIG)
    np.testing.assert_array_equal(parse_patch(dump_patch(patch)).value("array", "data"), BIG)
