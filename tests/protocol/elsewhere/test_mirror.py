"""The mirror of a client's files has the same files with the same contents, and each content travels once."""

import hashlib
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzzing import many, seeds
from warploom import Patch, forget_blocks, trust_blocks
from warploom.engine.diagnostics import WarploomError
from warploom.engine.patch.files import save_patch
from warploom.engine.protocol.elsewhere import files as files_module
from warploom.engine.protocol.elsewhere.files import FilesOfPatch
from warploom.engine.protocol.elsewhere.messages import Files
from warploom.engine.protocol.elsewhere.mirror import Mirror
from warploom.engine.readings import here

NAMES = ["a.cu", "b.h", "c", "c/d.h", "c/e", "c/e/f.npy", "g/h", "..i", "j\udcff.h", ".hidden", "c/__pycache__/k.pyc"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A trusted folder, in a process with caches of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mine = tmp_path / "mine"
    mine.mkdir()
    trust_blocks(mine)
    yield mine
    forget_blocks(mine)


def edit(folder: Path, chance: random.Random) -> None:
    """Write, remove, link or move a random file or folder."""
    path, other = (folder / chance.choice(NAMES) for _ in range(2))
    try:
        match chance.randrange(5):
            case 0 | 1:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(chance.choice([b"", b"same", chance.randbytes(20)]))
            case 2 if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            case 2:
                path.unlink(missing_ok=True)
            case 3:
                path.symlink_to(other)
            case _:
                path.rename(other)
    except OSError:
        pass  # no such file, or one in the way


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder that an engine may use."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        for path in (Path(place, name) for name in names if not name.startswith(".")):
            if path.is_file():
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


@pytest.mark.parametrize("seed", seeds(3))
def test_the_mirror_follows_all_edits(seed: int, folder: Path, tmp_path: Path) -> None:
    """After any edits, also while contents are under way or no engine runs, the mirror equals the folder."""
    chance = random.Random(seed)
    sent: list[bytes] = []

    def connected() -> tuple[FilesOfPatch, Mirror, dict[bytes, bytes]]:
        return FilesOfPatch(Patch()), Mirror("client"), {}

    ours, mirror, lacking = connected()
    for _ in range(many(40)):
        for _ in range(chance.randint(1, 4)):
            edit(folder, chance)
        if chance.random() < 0.1:
            mirror.close()
            ours, mirror, lacking = connected()
        found, problems = ours.look(1)
        ours.note_sent()
        assert not problems
        for digest in mirror.take(found) if found is not None else ():
            (path, *_) = ours.paths(digest)
            lacking[digest] = path.read_bytes()
        is_late = chance.random() < 0.3
        for digest in list(lacking)[: len(lacking) // 2 if is_late else None]:
            sent.append(lacking.pop(digest))
            mirror.add(sent[-1])
        if not lacking:
            assert mirror.is_complete
            assert contents(here(folder)) == contents(folder)
            assert ours.look(1)[0] is None  # nothing more to say
    mirror.close()
    assert len(set(sent)) == len(sent)


def test_two_engines_of_a_client_have_two_mirrors(folder: Path) -> None:
    """A second engine has another folder; a later one has the first folder again, with the contents that were sent."""
    (folder / "a.cu").write_bytes(b"kernel")
    first, second = Mirror("client"), Mirror("client")
    assert first.root != second.root
    found, _ = FilesOfPatch(Patch()).look(1)
    assert found is not None
    assert second.take(found) == [hashlib.sha256(b"kernel").digest()]
    second.add(b"kernel")
    assert first.take(found) == []
    assert (first.root / folder.relative_to("/") / "a.cu").read_bytes() == b"kernel"
    second.close()
    first.close()
    again = Mirror("client")
    assert again.root == first.root and again.take(found) == []
    again.close()


@pytest.mark.parametrize("path", [Path("a"), Path("/a/../b"), Path("/a\0b")])
def test_no_path_leads_out_of_the_mirror(path: Path, folder: Path) -> None:
    """Relative paths, paths with "..", and NULs are refused."""
    mirror = Mirror("client")
    with pytest.raises(WarploomError, match="whole path"):
        mirror.take(Files(1, "client", Path("/p"), (), ((path, b""),)))
    mirror.close()


def test_a_patch_needs_what_it_names_and_trusts(folder: Path, tmp_path: Path) -> None:
    """Files of parameters, kernels with their headers, and trusted folders are needed; what lies beside them is not."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "add.cu").write_text(
        '#include "c.h"\nextern "C" __global__ void add(const float* x, float* out, int count) { out[0] = x[0] + C; }'
    )
    (tmp_path / "kernels" / "c.h").write_text("#define C 1.0f")
    (tmp_path / "photo.png").write_bytes(b"photo")
    for other in ("kernels/other.cu", "other.png", "mine/.hidden"):
        (tmp_path / other).write_text("private")
    (folder / "table.txt").write_text("1")
    (tmp_path / "patches").mkdir()
    patch = Patch()
    save_patch(patch, tmp_path / "patches" / "p.loom")
    ours = FilesOfPatch(patch)
    patch.subscribe(ours.follow)
    patch.add("kernel.file", file="../kernels/add.cu")
    patch.add("io.load_image", file=str(tmp_path / "photo.png"))
    found, _ = ours.look(1)
    ours.note_sent()
    assert found is not None and found.patch == tmp_path / "patches" / "p.loom"
    assert {str(path.relative_to(tmp_path)) for path, _ in found.present} == {
        "kernels/add.cu",
        "kernels/c.h",
        "photo.png",
        "mine/table.txt",
    }
    (tmp_path / "kernels" / "c.h").write_text('#include "deeper.h"')
    (tmp_path / "kernels" / "deeper.h").write_text("#define C 2.0f")
    found, _ = ours.look(2)
    assert found is not None
    assert {path.name for path, _ in found.present} == {"c.h", "deeper.h"}
    ours.note_sent()
    (tmp_path / "moved" / "kernels").mkdir(parents=True)
    (tmp_path / "moved" / "patches").mkdir()
    (tmp_path / "moved" / "kernels" / "add.cu").write_text("// another one")
    patch.path = tmp_path / "moved" / "patches" / "p.loom"  # not saved there, so that its paths stay as they are
    found, _ = ours.look(3)
    assert found is not None and found.patch == tmp_path / "moved" / "patches" / "p.loom"
    assert [path for path, _ in found.present] == [tmp_path / "moved" / "kernels" / "add.cu"]
    assert {path.name for path in found.gone} == {"add.cu", "c.h", "deeper.h"}


def test_a_large_folder_is_cut_and_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a folder with too many files the first ones are sent, and one warning says so."""
    monkeypatch.setattr(files_module, "FOLDER_FILES", 3)
    for number in range(5):
        (folder / f"{number}.h").write_text(str(number))
    ours = FilesOfPatch(Patch())
    found, problems = ours.look(1)
    ours.note_sent()
    assert found is not None and [path.name for path, _ in found.present] == ["0.h", "1.h", "2.h"]
    (problem,) = problems
    assert "must have at most 3 files" in problem.message and "before 3.h" in problem.message
    assert ours.look(2) == (None, [])


def test_a_large_file_is_left_out_and_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large is not sent, and one warning says so; once it is smaller, it is sent."""
    monkeypatch.setattr(files_module, "MOST_BYTES", 1 << 20)
    (folder / "data.npy").write_bytes(bytes((1 << 20) + 1))
    ours = FilesOfPatch(Patch())
    found, (problem,) = ours.look(1)
    ours.note_sent()
    assert found is not None and not found.present
    assert problem.message.startswith("file must have at most 1 MiB") and "data.npy" in problem.message
    (folder / "data.npy").write_bytes(b"1")
    found, problems = ours.look(2)
    assert found is not None and [path.name for path, _ in found.present] == ["data.npy"] and not problems
