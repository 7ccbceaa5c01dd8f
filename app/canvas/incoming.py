"""What comes from other programs: files, pictures and tables that a person drops on the canvas, or pastes."""

import re
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, QPointF, QUrl, Signal
from PySide6.QtGui import QImage

from warploom.app.canvas.drawing.node_layout import node_size
from warploom.app.canvas.items.scene import GraphScene
from warploom.app.edits import nodes as node_edits
from warploom.app.edits.files.dropped_files import (
    FILMS,
    file_parameter,
    free_file,
    give_file,
    is_usable,
    not_read,
    place_files,
)
from warploom.app.edits.interfaces import drop_work
from warploom.app.qt.beside import Run, at_once
from warploom.engine.diagnostics import PatchError, cut
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import SUFFIX
from warploom.engine.patch.inner_patch import InnerPatch

_PASTED = "pasted"
_UNREAD = "picture must be one that can be read, of at most 256 MB of pixels, got another; save it and drop the file"
_ADDRESS = "address must be that of a stream or film, got {}; save what is there, and drop the file"
#: An address that the block of films can open, or that of a page or file.
_NETWORK = re.compile(r"(?:https?|rtsps?|rtmps?|srt|udp|rtp)://\S+")
_LEAVE = "Files become blocks of the whole patch: leave this one (Esc) to add them"


class Incoming(QObject):
    """Makes blocks of what is dropped or pasted, each time one undo step.

    A file that is dropped on a block becomes the file that the block reads, if it can be. A picture without a file,
    such as one from a browser, and a table of a spreadsheet are written into a file first, in `folder`.
    """

    refused = Signal(str)  # why nothing is done with it
    noted = Signal(str)
    placed = Signal(list)  # the nodes that were made, or that read another file
    patch_dropped = Signal(Path)

    def __init__(self, scene: GraphScene, parent: QObject) -> None:
        super().__init__(parent)
        self._scene = scene
        self.patch = Patch()
        #: Runs slow work.
        self.beside: Run = at_once
        #: Returns the folder for pictures and tables that have no file yet.
        self.folder: Callable[[], Path] = lambda: Path(tempfile.gettempdir())

    def explain(self, data: QMimeData, point: QPointF) -> tuple[str, bool]:
        """Return what a drop at a point of the scene would do, and True; or why it would do nothing, and False."""
        paths = files_of(data)
        if patch := patch_of(paths):
            return f"Open {patch.name}", True
        if self._is_inner:
            return _LEAVE, False
        address = "" if paths else address_of(data)
        if address and (is_film(address) or not data.hasImage()):
            return ("Add the stream", True) if is_film(address) else (_ADDRESS.format(cut(address, 60)), False)
        if not paths:
            return ("Add the picture", True) if data.hasImage() else ("", False)
        if target := self._target(paths, point):
            return f"Let {self.patch.title(target[0])} read {paths[0].name}", True
        usable = [path for path in paths if is_usable(path)]
        if not usable:
            return not_read(paths[0]), False
        return f"Add {usable[0].name if len(usable) == 1 else f'{len(usable)} files'}", True

    def take(self, data: QMimeData, point: QPointF, *, drops: bool = True) -> bool:
        """Make blocks at a point of the scene. Return False if there is neither a file, nor a picture, nor a table.

        A text counts only if it is pasted, not if something `drops`.
        """
        text, address = data.text() if not drops else "", address_of(data)
        paths = files_of(data) or _named_files(text)
        is_table, is_picture = _is_table(text, data.html()), data.hasImage() and not text.lstrip().startswith("{")
        if patch := patch_of(paths):
            self.patch_dropped.emit(patch)
        elif self._is_inner and (paths or is_table or is_picture or address):
            self.refused.emit(_LEAVE)
        elif paths:
            self._read(paths, point, on_node=drops)
        elif address and is_film(address):
            self._stream(address, point)
        elif is_table:
            self._write(".tsv", point, lambda path: bool(path.write_text(text, encoding="utf-8", newline="\n")))
        elif is_picture:
            image = QImage(data.imageData())
            if image.isNull():
                self.refused.emit(_UNREAD)
            else:
                self._write(".png", point, lambda path: image.save(str(path)))
        elif address:
            self.refused.emit(_ADDRESS.format(cut(address, 60)))
        else:
            return False
        return True

    @property
    def _is_inner(self) -> bool:
        return isinstance(self.patch, InnerPatch)

    def _target(self, paths: Sequence[Path], point: QPointF) -> tuple[str, str] | None:
        """Return the node at a point that can read what is dropped, and its parameter."""
        view = self._scene.node_at(point)
        parameter = file_parameter(self.patch, view.id, paths) if view is not None else ""
        return (view.id, parameter) if view is not None and parameter else None

    def _write(self, suffix: str, point: QPointF, write: Callable[[Path], bool]) -> None:
        """Write what has no file into one, and add the block that reads it."""
        folder = self.folder()
        path = free_file(folder, _PASTED, suffix)

        def work() -> bool:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                return write(path)
            except OSError:
                return False

        def then(is_written: bool | None) -> None:
            if is_written:
                self.noted.emit(f"Saved what you pasted as {path}")
                self._read([path], point, on_node=False)
            else:
                self.refused.emit(f"folder for what you paste must be writable, got {folder}")

        self.beside(f"Saving {path.name} …", work, then)

    def _read(self, paths: list[Path], point: QPointF, *, on_node: bool) -> None:
        patch, target = self.patch, self._target(paths, point) if on_node else None
        if target is not None:
            self._try(target[0], partial(give_file, patch, *target, paths[0]))
            return
        names = ", ".join(path.name for path in paths[:3])
        self.beside(
            f"Reading {names} …", drop_work(patch, paths), lambda _: self._place(patch, paths, point), lambda: None
        )

    def _place(self, patch: Patch, paths: list[Path], point: QPointF) -> None:
        if patch is not self.patch:
            return  # another patch is shown by now
        place, scope = node_edits.snapped(point.x(), point.y()), self._scene.regions.scope_at(point)
        try:
            self.placed.emit(place_files(patch, paths, place, scope, partial(node_size, patch)))
        except PatchError as problem:
            self.refused.emit(str(problem))
            return
        if unread := [path for path in paths if not is_usable(path)]:
            left = [path.name for path in unread]
            names = f"{', '.join(left[:3])}{' and others' if len(left) > 3 else ''}"
            self.noted.emit(not_read(unread[0]) if len(unread) == 1 else f"No block reads {names}")

    def _stream(self, address: str, point: QPointF) -> None:
        """Add the block that plays a stream."""
        place, scope = node_edits.snapped(point.x(), point.y()), self._scene.regions.scope_at(point)
        with self.patch.edit("Add a stream"):
            node = self.patch.add("io.load_video", position=place, region=scope, address=address)
        self.placed.emit([node.id])

    def _try(self, node: str, edit: Callable[[], object]) -> None:
        try:
            edit()
        except PatchError as problem:
            self.refused.emit(str(problem))
        else:
            self.placed.emit([node])


def is_incoming(data: QMimeData) -> bool:
    """True for files of this machine, pictures, and addresses."""
    return bool(files_of(data)) or data.hasImage() or bool(address_of(data))


def address_of(data: QMimeData) -> str:
    """Return the address in a network that is dragged or copied, "" if there is none."""
    text = data.text().strip()
    return text if _NETWORK.fullmatch(text) else ""


def is_film(address: str) -> bool:
    """True for a stream, and for a film on a server."""
    url = QUrl(address)
    return url.scheme() not in ("http", "https") or Path(url.path()).suffix.lower() in (*FILMS, ".m3u8", ".mpd")


def files_of(data: QMimeData) -> list[Path]:
    """Return the local files that are dragged or copied."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


def patch_of(paths: Sequence[Path]) -> Path | None:
    """Return the first patch among files."""
    return next((path for path in paths if path.suffix == SUFFIX), None)


def _named_files(text: str) -> list[Path]:
    """Return the file whose path is a text, as file managers copy it."""
    line = text.strip().strip('"')
    path = Path(line)
    if not line or "\n" in line or not path.is_absolute():
        return []
    try:
        return [path] if path.exists() else []
    except OSError:  # its name is too long, or its folder may not be read
        return []


def _is_table(text: str, html: str = "") -> bool:
    """True for cells of a spreadsheet: all lines have equally many, which tabs separate.

    A single row or column is one if `html`, the same in another form, says so.
    """
    if not text.strip() or text.lstrip().startswith("{"):  # blocks
        return False
    lines = text.rstrip("\r\n").splitlines()
    tabs = {line.count("\t") for line in lines}
    return len(tabs) == 1 and ("<table" in html or (len(lines) > 1 and tabs != {0}))
