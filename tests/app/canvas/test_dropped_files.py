"""Files that are dropped on the canvas become blocks."""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QColor, QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication

from warploom.app.canvas.canvas import Canvas
from warploom.engine.inner_patches.op_patch import OpPatch
from warploom.engine.patch.document import Patch

KERNEL = (
    'extern "C" __global__ void {}(const float* x, float* out, float gain, int n) {{ out[0] = gain * x[0] * n; }}\n'
)


def _drop(canvas: Canvas, paths: list[Path], at: QPointF) -> bool:
    """Drag files to a point of the scene and drop them, and return whether the canvas accepts them there."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return _drop_data(canvas, data, at)


def _drop_data(canvas: Canvas, data: QMimeData, at: QPointF) -> bool:
    place: QPoint = canvas.view.mapFromScene(at)
    kind, buttons, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    target, dragged = canvas.view.viewport(), QDragMoveEvent(place, kind, data, buttons, keys)
    enter = QDragEnterEvent(place, kind, data, buttons, keys)
    QApplication.sendEvent(target, enter)
    if enter.isAccepted():
        QApplication.sendEvent(target, dragged)
    is_taken = enter.isAccepted() and dragged.isAccepted()
    QApplication.sendEvent(
        target, QDropEvent(QPointF(place), kind, data, buttons, keys) if is_taken else QDragLeaveEvent()
    )
    return is_taken


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
    for number, name in enumerate(("stencil.cu", "stencil.cu", "3 points.cu"), 1):
        (tmp_path / name).write_text(KERNEL.format("compute"))
        assert _drop(canvas, [tmp_path / name], QPointF(0, number * 200))
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
        ("memo.m4a", "io.load_audio"),
        ("photo.HEIC", "io.load_image"),
        ("layers.psd", "io.load_image"),
        ("rows.json", "data.load_table"),
        ("model.safetensors", "data.load_array"),
        ("serif.otf", "image.text"),
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
    assert (patch.nodes[node].type, patch.value(node, "font_file" if block == "image.text" else "file")) == (
        block,
        name,
    )


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
    canvas.incoming.patch_dropped.connect(opened.append)
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


@pytest.mark.feature("bring_in")
def test_a_file_becomes_that_of_the_block_that_it_is_dropped_on(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """A block reads another file of its kind; a file of another kind becomes a block of its own."""
    for name in ("a.png", "b.png", "c.csv"):
        (tmp_path / name).write_bytes(b"")
    assert _drop(canvas, [tmp_path / "a.png"], QPointF(0, 400))
    (node,) = canvas.selected()
    on_block = canvas.scene.nodes[node].place.center()
    assert _drop(canvas, [tmp_path / "b.png"], on_block)
    assert (canvas.selected(), patch.value(node, "file")) == ([node], str(tmp_path / "b.png"))
    assert patch.undo() == "Load b.png"
    assert patch.value(node, "file") == str(tmp_path / "a.png")
    assert _drop(canvas, [tmp_path / "c.csv"], on_block)
    assert canvas.selected() != [node]


def test_many_files_cover_no_other_block_of_the_drop(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """Files stand in columns with room for their thumbnails; too many at a time are refused."""
    paths = [tmp_path / f"{n}.png" for n in range(65)]
    for path in paths:
        path.write_bytes(b"")
    assert _drop(canvas, paths[:20], QPointF(0, 400))
    places = [canvas.scene.nodes[node].place.adjusted(0, 0, 0, 100) for node in canvas.selected()]
    assert len(places) == 20
    assert not any(one.intersects(other) for one, other in combinations(places, 2))
    before = len(patch.nodes)
    said: list[str] = []
    canvas.refused.connect(said.append)
    _drop(canvas, paths, QPointF(0, 400))
    assert said == ["files must be at most 64 at a time, got 65; a folder of pictures becomes one Load Images"]
    assert len(patch.nodes) == before


def test_a_drag_says_what_a_drop_would_do(canvas: Canvas, tmp_path: Path) -> None:
    """At the pointer stands which file is added, or why none is."""
    said: list[tuple[str, bool]] = []
    canvas.view.drop_explained.connect(lambda text, is_refused: said.append((text, is_refused)))
    (tmp_path / "a.png").write_bytes(b"")
    _drop(canvas, [tmp_path / "a.png"], QPointF(0, 400))
    for name in ("notes.md", "scene.FBX", "."):
        _drop(canvas, [tmp_path / name], QPointF(0, 400))
    (tmp_path / "a.png").unlink()
    _drop(canvas, [tmp_path], QPointF(0, 400))
    folder = f"No block reads folder {tmp_path.name}, which has no pictures; drop the files in it"
    expected = ["No block reads notes.md", "No block reads scene.FBX; export it as glTF or OBJ", folder]
    assert [text for text, is_refused in said if is_refused] == expected
    assert [text for text, is_refused in said if text and not is_refused] == ["Add a.png", f"Add {tmp_path.name}"]


@pytest.mark.parametrize("drops", [True, False])
def test_an_address_of_a_stream_becomes_its_block(canvas: Canvas, patch: Patch, drops: bool) -> None:
    """A link to a film or camera is played; one to a page says what to do, and adds no block."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    for address in ("rtsp://camera.local:554/main", "https://host/films/a.MP4?key=1"):
        data = QMimeData()
        data.setText(address)
        assert canvas.incoming.take(data, QPointF(0, 400), drops=drops)
        (node,) = canvas.selected()
        assert (patch.nodes[node].type, patch.value(node, "address")) == ("io.load_video", address)
    before = dict(patch.nodes)
    data.setText("https://host/page.html")
    assert not said
    assert canvas.incoming.take(data, QPointF(0, 400), drops=drops)
    assert [text.partition(", ")[0] for text in said] == ["address must be that of a stream or film"]
    assert patch.nodes == before


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ('{"last_node_id": 3, "nodes": [{"id": 1, "type": "KSampler"}], "links": []}', "ComfyUI"),
        ('{"3": {"class_type": "KSampler", "inputs": {}}}', "ComfyUI"),
        ('<?xml version="1.0"?><Document xmlns:p="property" Id="a"/>', "vvvv"),
        ("set cut_paste_input [stack 0]\nBlur {\n}", "Nuke"),
    ],
)
def test_blocks_of_other_programs_are_named(canvas: Canvas, patch: Patch, text: str, program: str) -> None:
    """Blocks that were copied in another node editor are refused in its name."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    QGuiApplication.clipboard().setText(text)
    before = dict(patch.nodes)
    canvas.paste()
    assert said == [f"clipboard must hold blocks of Warploom, got a patch of {program}; build it from blocks (Tab)"]
    assert patch.nodes == before


@pytest.mark.feature("bring_in")
def test_a_picture_of_another_program_is_pasted_and_dropped(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """It is written beside the patch, and a block loads it."""
    patch.path = tmp_path / "a.loom"
    canvas.incoming.folder = lambda: tmp_path
    image = QImage(5, 4, QImage.Format.Format_RGB32)
    image.fill(QColor(10, 200, 30))
    QGuiApplication.clipboard().setImage(image)
    canvas.paste()
    (node,) = canvas.selected()
    assert (patch.nodes[node].type, patch.value(node, "file")) == ("io.load_image", "pasted_1.png")
    assert QImage(str(tmp_path / "pasted_1.png")).pixelColor(4, 3) == QColor(10, 200, 30)
    data = QMimeData()
    data.setImageData(image)
    assert _drop_data(canvas, data, QPointF(0, 400))
    assert [patch.value(each, "file") for each in canvas.selected()] == ["pasted_2.png"]


@pytest.mark.parametrize("is_text", [False, True])
def test_a_copied_file_is_pasted(canvas: Canvas, patch: Patch, tmp_path: Path, is_text: bool) -> None:
    """File managers copy files, or their paths as text."""
    (tmp_path / "rain.wav").write_bytes(b"")
    data = QMimeData()
    if is_text:
        data.setText(str(tmp_path / "rain.wav"))
    else:
        data.setUrls([QUrl.fromLocalFile(str(tmp_path / "rain.wav"))])
    QGuiApplication.clipboard().setMimeData(data)
    canvas.paste()
    (node,) = canvas.selected()
    assert patch.value(node, "file") == str(tmp_path / "rain.wav")


def test_cells_of_a_spreadsheet_are_pasted(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """They come as lines of text with tabs, and often as a picture too; the numbers count."""
    canvas.incoming.folder = lambda: tmp_path
    data = QMimeData()
    data.setText("x\ty\n1\t2\n3\t4\n")
    data.setImageData(QImage(5, 4, QImage.Format.Format_RGB32))
    QGuiApplication.clipboard().setMimeData(data)
    canvas.paste()
    (node,) = canvas.selected()
    assert patch.nodes[node].type == "data.load_table"
    assert (tmp_path / "pasted_1.tsv").read_text() == "x\ty\n1\t2\n3\t4\n"


def test_a_folder_that_can_not_be_written_is_named(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """Nothing is added then."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    (tmp_path / "file").write_text("")
    canvas.incoming.folder = lambda: tmp_path / "file" / "pasted"
    QGuiApplication.clipboard().setImage(QImage(5, 4, QImage.Format.Format_RGB32))
    before = dict(patch.nodes)
    canvas.paste()
    assert said == [f"folder for what you paste must be writable, got {tmp_path / 'file' / 'pasted'}"]
    assert patch.nodes == before


def test_files_are_not_taken_inside_a_kernel(canvas: Canvas, tmp_path: Path) -> None:
    """An op graph has no blocks: the drag and the paste say so, and no file is written."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    canvas.incoming.folder = lambda: tmp_path / "pasted"
    canvas.set_patch(OpPatch())
    (tmp_path / "a.png").write_bytes(b"")
    assert not _drop(canvas, [tmp_path / "a.png"], QPointF(0, 400))
    QGuiApplication.clipboard().setImage(QImage(5, 4, QImage.Format.Format_RGB32))
    canvas.paste()
    assert said == ["Files become blocks of the whole patch: leave this one (Esc) to add them"]
    assert not (tmp_path / "pasted").exists()


@pytest.mark.parametrize("text", ["1\n2\n3\n", "1\t2\t3", "5"])
def test_a_row_and_a_column_of_a_spreadsheet_are_pasted(
    canvas: Canvas, patch: Patch, tmp_path: Path, text: str
) -> None:
    """They come with a picture and as a table of HTML, which a line of other text is not."""
    canvas.incoming.folder = lambda: tmp_path
    data = QMimeData()
    data.setText(text)
    data.setHtml("<html><body><table><tr><td>1</td></tr></table></body></html>")
    data.setImageData(QImage(5, 4, QImage.Format.Format_RGB32))
    QGuiApplication.clipboard().setMimeData(data)
    canvas.paste()
    (node,) = canvas.selected()
    assert patch.nodes[node].type == "data.load_table"
    assert (tmp_path / "pasted_1.tsv").read_text() == text


@pytest.mark.parametrize("text", ["/" + 300 * "a", "/no/such/file.png", "1\n2\n"])
def test_other_texts_are_refused(canvas: Canvas, patch: Patch, text: str) -> None:
    """A name that is too long for a file is one."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    QGuiApplication.clipboard().setText(text)
    before = dict(patch.nodes)
    canvas.paste()
    assert len(said) == 1 and patch.nodes == before


def test_a_picture_that_can_not_be_read_is_refused(canvas: Canvas, patch: Patch, tmp_path: Path) -> None:
    """No file is written."""
    said: list[str] = []
    canvas.refused.connect(said.append)
    canvas.incoming.folder = lambda: tmp_path / "pasted"
    data = QMimeData()
    data.setImageData(QImage())  # what Qt makes of a picture that it refuses
    assert canvas.incoming.take(data, QPointF(0, 400), drops=False)
    assert [text.partition(",")[0] for text in said] == ["picture must be one that can be read"]
    assert not (tmp_path / "pasted").exists()


def test_a_folder_that_may_not_be_read_is_not_taken(
    canvas: Canvas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing fails while it is dragged."""

    def refuse(_: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(Path, "iterdir", refuse)
    assert not _drop(canvas, [tmp_path / "closed"], QPointF(0, 400))
