"""Files that are dropped on the canvas become blocks."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication

from warploom.app.canvas.canvas import Canvas
from warploom.engine.patch.document import Patch

KERNEL = (
    'extern "C" __global__ void {}(const float* x, float* out, float gain, int n) {{ out[0] = gain * x[0] * n; }}\n'
)


def _drop(canvas: Canvas, paths: list[Path], at: QPointF) -> bool:
    """Drop files, and return whether the canvas accepts them."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    place: QPoint = canvas.view.mapFromScene(at)
    kind, buttons, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(place, kind, data, buttons, keys)
    QApplication.sendEvent(canvas.view.viewport(), enter)
    if enter.isAccepted():
        QApplication.sendEvent(canvas.view.viewport(), QDropEvent(QPointF(place), kind, data, buttons, keys))
    return enter.isAccepted()


def test_each_kernel_of_a_file_becomes_a_block(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """Each kernel of a dropped file becomes a selected block at the pointer, and one undo removes all of them."""
    file = tmp_path / "two.cu"
    file.write_text(KERNEL.format("louder") + KERNEL.format("softer"))
    assert _drop(canvas, [file], QPointF(-160, 160))
    made = canvas.selected()
    assert [patch.value(node, "entry") for node in made] == ["louder", "softer"]
    assert [patch.title(node) for node in made] == ["Louder", "Softer"]
    assert made == ["louder", "softer"]
    assert patch.nodes[made[0]].position == (-160, 160)
    assert {"x", "out"} <= set(patch.block_type(made[0]).ports)  # type: ignore[union-attr]
    assert patch.undo() == "Add two.cu"
    assert not set(made) & set(patch.nodes)


def test_a_dropped_kernel_is_called_as_its_entry_point(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """Messages and `--set` then say `compute`; a name that is taken is counted on."""
    found = []
    for name in ("stencil.cu", "stencil.cu", "3 points.cu"):
        (tmp_path / name).write_text(KERNEL.format("compute"))
        assert _drop(canvas, [tmp_path / name], QPointF(0, 200))
        found += canvas.selected()
    assert found == ["compute", "compute_2", "compute_3"]


def test_a_kernel_with_a_mistake_gets_its_block(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """A dropped file whose kernel has a mistake still becomes a block, which refers to the file."""
    file = tmp_path / "wrong.cu"
    file.write_text("what is this")
    assert _drop(canvas, [file], QPointF(0, 200))
    (node,) = canvas.selected()
    assert patch.nodes[node].parameters == {"file": str(file)}


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("flower.png", "io.load_image"),
        ("Rain.WAV", "io.load_audio"),
        ("sky.exr", "io.load_image"),
        ("Sizes.CSV", "data.load_table"),
        ("weights.npz", "data.load_array"),
        ("teapot.obj", "geometry.load_mesh"),
        ("hill.laz", "geometry.load_points"),
        ("dusk.cube", "image.lut"),
        ("a.flac", "io.load_audio"),
        ("shot.MOV", "io.load_video"),
        ("clip.webm", "io.load_video"),
    ],
)
def test_files_become_blocks_that_load_them(
    canvas: Canvas, patch: Patch, tmp_path: Path, name: str, block: str
) -> None:
    """Each kind of file becomes the block that loads it; files beside the patch are named relative to it."""
    patch.path = tmp_path / "a.loom"
    file = tmp_path / name
    file.write_bytes(b"")
    assert _drop(canvas, [file], QPointF(0, 200))
    (node,) = canvas.selected()
    assert (patch.nodes[node].type, patch.value(node, "file")) == (block, name)


def test_a_folder_of_images_becomes_one_block(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """A folder with images is played by one block, and one undo removes it."""
    patch.path = tmp_path / "a.loom"
    (tmp_path / "shots").mkdir()
    assert not _drop(canvas, [tmp_path / "shots"], QPointF(0, 200))
    (tmp_path / "shots" / "frame_1.png").write_bytes(b"")
    assert _drop(canvas, [tmp_path / "shots"], QPointF(0, 200))
    (node,) = canvas.selected()
    assert (patch.nodes[node].type, patch.value(node, "files")) == ("io.load_images", "shots")
    assert patch.undo() == "Add shots"
    assert node not in patch.nodes


def test_a_patch_is_opened(canvas: Canvas, tmp_path: Path) -> None:
    """Dropping a patch file requests that the window opens it."""
    opened: list[Path] = []
    canvas.patch_dropped.connect(opened.append)
    assert _drop(canvas, [tmp_path / "other.loom"], QPointF(0, 200))
    assert opened == [tmp_path / "other.loom"]


@pytest.mark.parametrize("name", ["notes.md", "folder"])
def test_other_files_are_not_taken(canvas: Canvas, patch: Patch, tmp_path: Path, name: str) -> None:
    """Other files are refused, and dropping them adds no block."""
    before = dict(patch.nodes)
    assert not _drop(canvas, [tmp_path / name], QPointF(0, 200))
    assert patch.nodes == before


@pytest.mark.parametrize(("faces", "block"), [(0, "load_points"), (12, "load_mesh"), (None, "load_points")])
def test_a_ply_file_is_a_mesh_if_it_has_faces(
    canvas: Canvas, patch: Patch, tmp_path: Path, faces: int | None, block: str
) -> None:
    """The header decides; a file that can't be read is taken for points, whose block says what is wrong."""
    file = tmp_path / "scan.ply"
    if faces is not None:
        file.write_bytes(b"ply\nformat ascii 1.0\nelement vertex 8\nelement face %d\nend_header\n" % faces)
    assert _drop(canvas, [file], QPointF(0, 200))
    (node,) = canvas.selected()
    assert patch.nodes[node].type == f"geometry.{block}"
