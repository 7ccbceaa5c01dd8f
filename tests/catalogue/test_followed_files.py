"""An engine that watches files follows every change to the files that it read, however the change was made."""

import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.catalogue.block_texts import KERNEL, BlockFolder, block_text
from tests.waiting import until
from warploom import Engine, Patch
from warploom.engine.catalogue.catalogue import trust_blocks
from warploom.engine.catalogue.saved_files import SavedFiles
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import NodeState

X = np.arange(1, 8, dtype=np.float32)
OUT = PortRef("k", "out")
ADDED = """#include "added.h"
extern "C" __global__ void k(const float* x, float* out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = x[i] + ADDED;
}
"""
OLD_NS = 10**18


def _kernel(file: Path) -> Patch:
    patch = Patch()
    x = patch.add("io.array", node_id="x", data=X)
    patch.add("kernel.file", node_id="k", file=str(file))
    if patch.block_type("k").ports:  # type: ignore[union-attr]
        patch.connect(x["out"], patch["k"]["x"])
    return patch


def _header(folder: Path, number: int) -> Path:
    folder.mkdir(exist_ok=True)
    header = folder / "added.h"
    header.write_text(f"#define ADDED {number}\n")
    return header


def _shows(engine: Engine, expected: object) -> bool:
    engine.step()
    return np.array_equal(engine.read(OUT), expected)  # type: ignore[arg-type]


def _in_place(header: Path, text: str) -> None:
    header.write_text(text)


def _renamed(header: Path, text: str) -> None:
    temporary = header.with_suffix(".tmp")
    temporary.write_text(text)
    temporary.replace(header)


def _with_an_old_time(header: Path, text: str) -> None:
    _renamed(header, text)
    os.utime(header, ns=(OLD_NS, OLD_NS))


def _linked(header: Path, text: str) -> None:
    target = header.parent.parent / f"elsewhere{len(list(header.parent.parent.iterdir()))}.txt"
    target.write_text(text)
    header.unlink()
    header.symlink_to(target)


def _written_behind_a_link(header: Path, text: str) -> None:
    header.resolve().write_text(text)


def _with_its_folder(header: Path, text: str) -> None:
    folder = header.parent
    folder.rename(folder.with_name(f"away{len(list(folder.parent.iterdir()))}"))
    folder.mkdir()
    (folder / "k.cu").write_text(ADDED)
    header.write_text(text)


WAYS = (_in_place, _renamed, _with_an_old_time, _linked, _written_behind_a_link, _with_its_folder, _in_place)


@pytest.mark.parametrize("first", range(len(WAYS)))
def test_every_way_of_changing_a_file_is_followed(tmp_path: Path, device: Device, first: int) -> None:
    """Three changes of a file in a row are followed, whichever way of changing it comes first."""
    folder = tmp_path / "patch"
    header = _header(folder, 1)
    (folder / "k.cu").write_text(ADDED)
    os.utime(header, ns=(OLD_NS, OLD_NS))
    with Engine(_kernel(folder / "k.cu"), device) as engine:
        engine.watch_files()
        engine.step()
        for number, change in enumerate((WAYS * 2)[first : first + 3], 2):
            change(header, f"#define ADDED {number}\n")
            until(lambda n=number: _shows(engine, X + n))


def test_a_save_without_a_change_is_not_reported(tmp_path: Path) -> None:
    """Saving the same contents reports nothing, and saving other contents reports the file."""
    file, reports = tmp_path / "k.cu", list[frozenset[Path]]()
    _header(tmp_path, 1)
    file.write_text(ADDED)
    _kernel(file)
    with closing(SavedFiles(reports.append)) as files:
        for text, reported in ((ADDED, []), (ADDED + "\n", [{file}])):
            file.write_text(text)
            files._look(frozenset({file}))
            until(lambda expected=reported: reports or not expected)  # the watcher's thread may have reported first
            assert reports == reported


def test_a_header_that_appears_is_found(tmp_path: Path, device: Device) -> None:
    """A missing header is found when it appears, even with its folder; so is a new header that hides another."""
    file = tmp_path / "k.cu"
    file.write_text(ADDED.replace("added.h", "sub/added.h"))
    patch = _kernel(file)
    patch.set("k", include_folders=f"{tmp_path / 'include'}")
    (tmp_path / "include").mkdir()
    with Engine(patch, device) as engine:
        engine.watch_files()
        assert engine.step().nodes["k"].state is NodeState.ERROR
        (tmp_path / "include" / "sub").mkdir()
        _header(tmp_path / "include" / "sub", 1)
        until(lambda: patch.block_type("k").ports)  # type: ignore[union-attr]
        patch.connect(patch["x"]["out"], patch["k"]["x"])
        until(lambda: not engine.step().diagnostics)
        assert _shows(engine, X + 1)
        _header(tmp_path / "sub", 2)
        until(lambda: _shows(engine, X + 2))


def test_a_kernel_file_that_is_deleted_is_a_word_on_its_block(tmp_path: Path, device: Device) -> None:
    """A deleted kernel file is a warning on its block, whose last good code runs on, until the file is back."""
    file = tmp_path / "k.cu"
    file.write_text(ADDED.replace("ADDED;", "3;").replace('#include "added.h"', ""))
    with Engine(_kernel(file), device) as engine:
        engine.watch_files()
        assert engine.step().diagnostics == ()
        text = file.read_text()
        for _ in range(2):
            file.unlink()
            until(lambda: engine.step().diagnostics)
            (reported,) = engine.step().diagnostics
            assert (reported.node, reported.message) == ("k", f"kernel file must exist, got {file}")
            assert _shows(engine, X + 3)
            file.write_text(text)
            until(lambda: not engine.step().diagnostics)


def test_a_picture_that_is_overwritten_is_followed(tmp_path: Path, device: Device) -> None:
    """A picture is followed when it is overwritten by one of equal size and time, by text, or by another size."""
    file = tmp_path / "picture.bmp"

    def save(grey: int, size: tuple[int, int]) -> None:
        Image.new("RGB", size, (grey, grey, grey)).save(file)
        os.utime(file, ns=(OLD_NS, OLD_NS))

    def shows(grey: int, size: tuple[int, int]) -> bool:
        engine.step()
        found = engine.read(PortRef("load", "out"))
        return found.shape[:2] == size[::-1] and bool(np.all(found[..., 0] == (grey == 255)))

    save(0, (8, 4))
    patch = Patch()
    patch.add("io.load_image", node_id="load", file=str(file))
    with Engine(patch, device) as engine:
        assert shows(0, (8, 4))
        engine.watch_files()
        save(255, (8, 4))
        until(lambda: shows(255, (8, 4)))
        file.write_bytes(b"none")
        until(lambda: engine.step().diagnostics)
        assert shows(255, (8, 4))
        save(0, (2, 4))
        until(lambda: shows(0, (2, 4)))
        assert engine.step().diagnostics == ()
        file.unlink()
        until(lambda: engine.step().diagnostics)
        save(255, (2, 4))
        until(lambda: not engine.step().diagnostics)
        assert shows(255, (2, 4))
    assert np.all(_fresh(file) == 1)


def _fresh(file: Path) -> np.ndarray:
    patch = Patch()
    patch.add("io.load_image", node_id="load", file=str(file))
    with Engine(patch, "host") as engine:
        engine.step()
        return np.asarray(engine.read(PortRef("load", "out"))[..., 0])


def test_a_picture_of_the_same_size_and_time_is_another_in_a_new_patch(tmp_path: Path) -> None:
    """A new patch reads the picture's current contents, although the file's size and time are unchanged."""
    file = tmp_path / "picture.bmp"
    for grey in (0, 255, 0):
        Image.new("RGB", (8, 4), (grey, grey, grey)).save(file)
        os.utime(file, ns=(OLD_NS, OLD_NS))
        assert np.all(_fresh(file) == (grey == 255))


def _scaled(folder: BlockFolder) -> Patch:
    assert trust_blocks(folder.path) == []
    patch = Patch()
    x = patch.add("io.array", node_id="x", data=X)
    patch.add("live.scale", node_id="k")
    patch.connect(x["out"], patch["k"]["x"])
    return patch


def test_a_block_file_behind_a_link_and_a_folder_of_blocks_that_is_moved_are_followed(
    folder: BlockFolder, tmp_path: Path
) -> None:
    """A block file behind a link is followed, and so is a folder that takes the place of one that was moved away."""
    texts = {gain: block_text(gain=f"{gain}.0") for gain in (1, 2, 3, 4)}
    elsewhere = BlockFolder(tmp_path / "elsewhere")
    for gain, text in texts.items():
        elsewhere.write(f"scale{gain}.py", text)
    file = folder.path / "scale.py"
    file.symlink_to(elsewhere.path / "scale1.py")
    with Engine(_scaled(folder), "host") as engine:
        engine.watch_files()
        assert _shows(engine, X)
        file.unlink()
        file.symlink_to(elsewhere.path / "scale2.py")
        until(lambda: _shows(engine, 2 * X))
        elsewhere.write("scale2.py", texts[3])
        until(lambda: _shows(engine, 3 * X))
        folder.path.rename(tmp_path / "away")
        BlockFolder(folder.path).write("scale.py", texts[4])
        until(lambda: _shows(engine, 4 * X))
        folder.write("scale.cu", KERNEL.replace("gain *", "-gain *"))
        until(lambda: _shows(engine, -4 * X))


def test_the_kernel_of_a_block_is_followed_where_it_lies(folder: BlockFolder, tmp_path: Path) -> None:
    """A block's kernel and headers outside all folders of blocks are followed, and so is the kernel's deletion."""
    header = _header(tmp_path / "headers", 1)
    kernel = folder.path / "scale.cu"
    kernel.write_text(f'#include "{header}"\n' + KERNEL.replace("gain *", "ADDED + gain *"))
    folder.write("scale.py", block_text())
    with Engine(_scaled(folder), "host") as engine:
        engine.watch_files()
        assert _shows(engine, X + 1)
        header.write_text("#define ADDED 2\n")
        until(lambda: _shows(engine, X + 2))
        text = kernel.read_text()
        kernel.unlink()
        until(lambda: engine.step().nodes["k"].state is NodeState.ERROR)
        assert _shows(engine, X + 2)
        kernel.write_text(text)
        until(lambda: not engine.step().diagnostics)
        kernel.write_text(KERNEL)
        until(lambda: _shows(engine, X))


def test_a_block_that_is_added_has_the_kernel_that_its_file_holds_now(folder: BlockFolder) -> None:
    """An added block and the running ones get the current kernel of their file, although nothing watches the file."""
    folder.write("scale.py", block_text())
    patch = _scaled(folder)
    with Engine(patch, "host") as engine:
        assert _shows(engine, X)
        folder.write("scale.cu", KERNEL.replace("gain *", "1 + gain *"))
        patch.add("live.scale", node_id="late")
        patch.connect(patch["x"]["out"], patch["late"]["x"])
        assert _shows(engine, X + 1)
        assert np.array_equal(engine.read(PortRef("late", "out")), X + 1)
