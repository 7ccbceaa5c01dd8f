"""The pictures that `tools/look.py` takes of menus and dialogs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QDialog, QMenu, QMessageBox, QToolButton, QWidget

from warploom.app.canvas.gestures.connection_edits import DropTarget
from warploom.app.canvas.sentinel_form import SentinelForm
from warploom.app.commands.commands import CONTEXT_MENUS
from warploom.app.commands.help_dialogs import show_about
from warploom.app.commands.shortcut_dialog import ShortcutDialog
from warploom.app.docks.pins.pin_form import PinForm
from warploom.app.documents import dialogs as questions
from warploom.app.documents.code_files.new_code_dialog import NewCodeDialog
from warploom.app.documents.trust.contents import FileChange
from warploom.app.edits.organise.frames import add_frame
from warploom.app.inspector.inspector import Inspector
from warploom.app.view_models.looking.tone import Tone
from warploom.app.viewers.recording.record_form import RecordForm
from warploom.app.viewers.recording.recorder import Order
from warploom.app.window.main_window import MainWindow
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import PortRef

#: What to save, with its name.
Shown = Iterator[tuple[str, QWidget]]


def menus(window: MainWindow) -> Shown:
    """Yield every menu, and the menus of what is selected."""
    actions, canvas, patch = window.actions_by_id, window.canvas, window.session.patch
    assert patch is not None
    canvas.select(["forces"])
    actions.look()
    for name, menu in actions.menus.items():
        menu.aboutToShow.emit()
        if not menu.isEmpty():
            yield f"menu-{name}", menu
    yield from _context_menus(window)
    canvas.select(["forces"])
    row = window.docks.widget(Inspector).rows["gravity"].menu
    row.aboutToShow.emit()
    yield "menu-parameter", row
    more = window.code.bar.findChild(QToolButton, "more")
    assert more is not None
    yield "menu-code-more", more.menu()
    value = patch.add("value.lfo", position=(0.0, 200.0))
    canvas.connecting.drop(PortRef(value.id, "value"), DropTarget(node="forces"), None, QPointF(), QPoint(400, 300))
    for menu in canvas.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly):
        yield "menu-drop", menu
    window.session.undo()


def _context_menus(window: MainWindow) -> Shown:
    canvas, patch = window.canvas, window.session.patch
    assert patch is not None
    frame = add_frame(patch, Rect(0, 0, 200, 100), "")
    for kind, items in CONTEXT_MENUS.items():
        canvas.select(["forces"] if kind == "node" else [])
        canvas.scene.frames.select([frame] if kind == "frame" else [])
        if kind == "connection":
            canvas.scene.select_connection(next(iter(patch.connections)))
        window.actions_by_id.look()
        menu = QMenu(window)
        window.actions_by_id._add(menu, items)
        yield f"context-{kind}", menu
    window.session.undo()


def dialogs(window: MainWindow) -> Shown:
    """Yield every dialog; modal ones are saved instead of waiting for an answer."""
    patch = window.session.patch
    assert patch is not None
    frame = add_frame(patch, Rect(0, 0, 200, 100), "")
    lines = ["Forces: gravity 9.8 -> 4", "Render Points: new"]
    text = "particles.loom was changed by another program."
    changed = [FileChange("wind.py", "changed", "a = 1\nb = 2\n", "a = 1\nb = 3\n")]
    blocks = ["wind.py", "rain.py"]
    order = Order(PortRef("render", "image"), "Render Points · image", Tone(), Path("/home/ada"))
    made: dict[str, Callable[[], object]] = {
        "shortcuts": partial(ShortcutDialog, window.keys, window),
        "frame": partial(window.canvas.organise.edit_frame, frame),
        "check-values": partial(SentinelForm, patch, PortRef("forces", "out"), window),
        "about": partial(show_about, window, "host, a CPU"),
        "unsaved": partial(questions.ask_about_changes, window, "particles"),
        "overwrite": partial(questions.ask_to_overwrite, window, text, lines),
        "recover": partial(questions.ask_to_recover, window, "particles.loom", lines),
        "trust": partial(questions.ask_to_trust, window, Path("/home/ada/work/blocks"), blocks),
        "error": partial(questions.show_error, window, "wind.loom can't be opened", "It must be JSON, got XML"),
        "changes": partial(questions.show_changes, window, changed),
        "replace": partial(questions._ask_to_replace, window, Path("/home/ada/wind.loom")),
        "new-block": partial(NewCodeDialog, window, "New block", ["One buffer", "Two"], _named),
        "name": window.save_layout,
        "guide": window.show_guide,
        "pin": partial(PinForm, patch, [PortRef("forces", "out")], window),
        "record": partial(RecordForm, order, 2, _ignore, window),
    }
    for name, show in made.items():
        with modal() as caught:
            shown = show()
        opened = (
            [shown]
            if isinstance(shown, QWidget)
            else caught or list(filter(QWidget.isVisible, window.findChildren(QDialog)))
        )
        for dialog in opened:
            yield f"dialog-{name}", dialog
            dialog.close()
    patch.set_sentinel(PortRef("forces", "out"), nan=True)
    yield "dialog-change-check", SentinelForm(patch, PortRef("forces", "out"), window)
    window.session.undo()
    window.session.undo()


def _ignore(order: Order) -> None:
    """Record nothing."""


def _named(text: str) -> str:
    return f"{text.lower().replace(' ', '_')}.py"


@contextmanager
def modal() -> Iterator[list[QDialog]]:
    """Collect modal dialogs instead of waiting for an answer."""
    caught: list[QDialog] = []

    def keep(box: QDialog) -> int:
        caught.append(box)
        return 0

    before = QMessageBox.exec, QDialog.exec
    QMessageBox.exec = QDialog.exec = keep  # type: ignore[method-assign]

    try:
        yield caught
    finally:
        QMessageBox.exec, QDialog.exec = before  # type: ignore[method-assign]
