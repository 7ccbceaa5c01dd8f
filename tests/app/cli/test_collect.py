"""`warploom collect`."""

from pathlib import Path

import numpy as np
import pytest

from tests.app.cli.cli_support import Warploom
from warploom import Patch, save_patch


def test_a_patch_and_its_files_fill_a_new_folder(warploom: Warploom, tmp_path: Path) -> None:
    """The files are listed, missing ones are named, and a folder that has files is refused."""
    sky = tmp_path / "sky.png"
    sky.write_bytes(b"sky")
    patch = Patch()
    patch.add("io.load_image", file=str(sky))
    patch.add("io.load_image", file="gone.png")
    home, new = tmp_path / "home", tmp_path / "deep" / "new"
    home.mkdir()
    save_patch(patch, home / "p.loom")
    found = warploom("collect", home / "p.loom", new)
    assert found.status == 1
    assert found.err == "file must be there to be copied, got gone.png, which is missing\n"
    assert found.out == f"wrote {new / 'p.loom'}\nwrote {new / 'sky.png'}\n"
    assert sorted(path.name for path in new.iterdir()) == ["p.loom", "sky.png"]
    again = warploom("collect", home / "p.loom", new)
    assert (again.status, "DIR must be a new or an empty folder" in again.err) == (2, True)


def test_all_files_are_listed_alike(warploom: Warploom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies and large arrays are listed by paths from where the command runs, as the folder was given."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "sky.png").write_bytes(b"sky")
    patch = Patch()
    patch.add("io.load_image", file="sky.png")
    patch.add("io.array", data=np.zeros(100_000, np.float32))
    save_patch(patch, tmp_path / "home" / "p.loom")
    monkeypatch.chdir(tmp_path)
    found = warploom("collect", "home/p.loom", "new")
    (array,) = (tmp_path / "new").glob("p.*.npy")
    assert found.out == f"wrote new/p.loom\nwrote new/{array.name}\nwrote new/sky.png\n"
