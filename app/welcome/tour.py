"""`Tour`: the first three minutes, step by step, in a banner; each step waits until the person has done it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, QTimer

from warploom.app.docks.dock import Editor
from warploom.app.widgets.banner import NO_NOTICE, Banner, Notice
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import EXAMPLES_FOLDER, SUFFIX

_LOOK_MS = 200
_EXAMPLE = EXAMPLES_FOLDER / f"particles{SUFFIX}"
_FORCES, _GRAVITY, _BLUR, _VIEWER = "forces", "gravity", "image.gaussian_blur", PortRef("viewer", "image")


@dataclass(frozen=True)
class Step:
    """What to do. `is_done` makes, when the step begins, the question whether it is done; None waits for a click."""

    text: str
    is_done: Callable[[Editor, Patch], Callable[[], bool]] | None = None


def _selected(editor: Editor, patch: Patch) -> Callable[[], bool]:
    return lambda: _FORCES in editor.canvas.selected()


def _changed(editor: Editor, patch: Patch) -> Callable[[], bool]:
    before = patch.value(_FORCES, _GRAVITY)
    return lambda: bool(patch.value(_FORCES, _GRAVITY) != before)


def _undone(editor: Editor, patch: Patch) -> Callable[[], bool]:
    return lambda: patch.history.redo_name is not None


def _added(editor: Editor, patch: Patch) -> Callable[[], bool]:
    return lambda: any(node.type == _BLUR for node in patch.nodes.values())


def _inserted(editor: Editor, patch: Patch) -> Callable[[], bool]:
    def ask() -> bool:
        source = patch.source_of(_VIEWER)
        return source is not None and source.node in patch.nodes and patch.nodes[source.node].type == _BLUR

    return ask


def _paused(editor: Editor, patch: Patch) -> Callable[[], bool]:
    return lambda: not editor.session.running


def _played(editor: Editor, patch: Patch) -> Callable[[], bool]:
    return lambda: editor.session.running


STEPS = (
    Step("Click the block Forces on the canvas. The inspector at the right shows its parameters.", _selected),
    Step("Drag the slider of gravity in the inspector. The fountain follows without a rebuild.", _changed),
    Step("Take that back with Ctrl+Z: every edit can be undone.", _undone),
    Step("With the pointer over empty canvas, press Tab, type “gaussian” and press Enter: a new block.", _added),
    Step(
        "Drag from the image of Render Points onto the new block, and from its output onto Viewer. While you drag, the "
        "canvas says what the connection costs.",
        _inserted,
    ),
    Step("Press Space to pause the patch.", _paused),
    Step("Press Space again to play.", _played),
    Step("Hold the pointer over a block or a connection: times, sizes and values of the running patch."),
    Step("Ctrl+Shift+P finds every command by its name, and F1 explains the selected block. That is all. Enjoy!"),
)


class Tour(QObject):
    """Opens an example and leads through `STEPS`. It ends when another patch is opened."""

    def __init__(self, editor: Editor, banner: Banner, parent: QObject) -> None:
        super().__init__(parent)
        self._editor, self._banner = editor, banner
        self._patch: Patch | None = None
        self.at = -1
        self._is_done: Callable[[], bool] | None = None
        self._look = QTimer(self, interval=_LOOK_MS)
        self._look.timeout.connect(self.look)
        editor.session.replaced.connect(self._on_replaced)

    def begin(self) -> None:
        """Open the example, and show the first step."""
        self.end()
        if self._editor.files.open_example(_EXAMPLE):
            self._patch = self._editor.session.patch
            self._show(0)

    def end(self) -> None:
        """End the tour."""
        self._look.stop()
        self._patch, self.at = None, -1
        self._banner.show_notice(NO_NOTICE)

    def look(self) -> None:
        """Go to the next step if this one is done."""
        if self._is_done is not None and self._is_done():
            self._show(self.at + 1)

    def _show(self, at: int) -> None:
        if at >= len(STEPS) or self._patch is None:
            self.end()
            return
        step, self.at = STEPS[at], at
        self._is_done = step.is_done(self._editor, self._patch) if step.is_done is not None else None
        is_last = at == len(STEPS) - 1
        answers: list[tuple[str, Callable[[], object]]] = [] if is_last else [("End the tour", self.end)]
        next_text = "Done" if is_last else "Skip" if step.is_done is not None else "Next"
        answers.append((next_text, partial(self._show, at + 1)))
        self._banner.show_notice(Notice(step.text, (f"Step {at + 1} of {len(STEPS)}",), tuple(answers), "tour"))
        self._look.start()

    def _on_replaced(self, patch: Patch | None) -> None:
        if self._patch is not None and patch is not self._patch:
            self.end()
