"""The Python console: the open patch and its engine, as objects to call."""

import importlib.util
import os
import re
import sys
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QMargins, QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.theme import colours
from warploom.app.theme.fonts import code_font
from warploom.app.widgets.empty_state import EmptyState
from warploom.engine.diagnostics import cut
from warploom.engine.patch.document import Patch

#: The packages of the extra `console`.
PACKAGES = ("qtconsole", "ipykernel")
_MISSING = (
    "The Python console needs two more packages:\n\n"
    f"{sys.executable} -m pip install 'qtconsole>=5.7' 'ipykernel>=7'\n\nThen start the editor again"
)
_HINT = "Open a patch to call it from Python"
_BANNER = """patch: the open patch · block, blocks: the selected blocks · client: its engine · np: numpy
For example: patch.set(block, gain=2.0) · client.read(block["out"]) · patch.add("math.saxpy")
What a line or cell edits is one undo step.
"""
#: A cell with one of these words has no undo step around it, since it uses the history itself.
_HISTORY = re.compile(r"\b(?:undo|redo|history|shelve|edit)\b")
_LONGEST_NAME = 60
_SEEN_MS = 200  # milliseconds in view before it is made


class Console(EmptyState, Dock):
    """An IPython console in this program; it is made when it is first seen, since its packages load for a second."""

    name, title = "console", "Python"

    def __init__(self) -> None:
        self._page = QWidget()
        self._column = QVBoxLayout(self._page, contentsMargins=QMargins(), spacing=0)
        is_installed = all(importlib.util.find_spec(name) is not None for name in PACKAGES)
        super().__init__(self._page, _HINT if is_installed else _MISSING)
        self._is_installed = is_installed
        self._names: dict[str, Any] = {"np": np, "patch": None, "client": None, "block": None, "blocks": []}
        self._edit: AbstractContextManager[None] | None = None
        self._seen = False
        self._soon = QTimer(self, singleShot=True, interval=_SEEN_MS)
        self._soon.timeout.connect(self._show)
        #: The console of qtconsole, once it was made; below, its kernel.
        self.widget: Any = None
        self.kernel: Any = None

    def follow(self, editor: Editor) -> None:
        """Keep the names of the patch, its engine and the selected blocks up to date."""
        session, canvas = editor.session, editor.canvas

        def show_selection(selected: object = None) -> None:
            patch = session.patch
            found = [] if patch is None else [patch[node] for node in canvas.selected() if node in patch.nodes]
            self.push(block=found[0] if found else None, blocks=found)

        def show_patch(patch: Patch | None) -> None:
            self.push(patch=patch)
            show_selection()
            self.set_filled(self.widget is not None and patch is not None)
            if self._seen:
                self._soon.start()

        session.replaced.connect(show_patch)
        session.engine_changed.connect(lambda client: self.push(client=client))
        canvas.selection_changed.connect(show_selection)

    def set_seen(self, seen: bool) -> None:
        """Make the console when it is first seen, and not when it only opens together with the other lists."""
        self._seen = seen
        if seen:
            self._soon.start()
        else:
            self._soon.stop()

    def begin(self) -> None:
        """Make the console if there is none yet, and give it the keyboard."""
        self._show()
        self.setFocus()

    def _show(self) -> None:
        if self._is_installed and self._names["patch"] is not None:
            if self.widget is None:
                self._make()
            self.set_filled(True)

    def push(self, **names: Any) -> None:
        """Give names in the console other values."""
        self._names.update(names)
        if self.kernel is not None:
            self.kernel.shell.push(names)

    def run(self, code: str) -> None:
        """Run code as if it had been typed."""
        self.widget.execute(code)

    def text(self) -> str:
        """Return what the console shows."""
        return str(self.widget._control.toPlainText())  # qtconsole has no public way

    def end(self) -> None:
        """End the kernel and its thread."""
        if self.kernel is not None:
            self.kernel.iopub_thread.stop()
            self.widget.kernel_client.stop_channels()
            self.kernel = None

    def changeEvent(self, event: QEvent) -> None:
        """Update the colours to another theme's."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and getattr(self, "widget", None) is not None:
            self._paint()

    def _make(self) -> None:
        os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # a warning about debuggers
        from qtconsole.inprocess import QtInProcessKernelManager
        from qtconsole.rich_jupyter_widget import RichJupyterWidget
        from traitlets.config import Config

        # A history on disk would have a thread of its own; the arrows bring back what was typed here.
        config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"enable_tip": False}})
        manager = QtInProcessKernelManager(config=config)
        manager.start_kernel(show_banner=False)
        self.kernel = manager.kernel
        client = manager.client()
        client.start_channels()
        points = round(code_font().pixelSize() * 72 / self.logicalDpiY())
        self.widget = RichJupyterWidget(banner=_BANNER, font_family=code_font().family(), font_size=points)
        self.widget.kernel_manager, self.widget.kernel_client = manager, client
        self.widget.exit_requested.connect(lambda _: None)  # `exit` must not end the editor
        events = self.kernel.shell.events
        events.register("pre_run_cell", self._begin)
        events.register("post_run_cell", self._finish)
        self.kernel.shell.push(self._names)
        self._column.addWidget(self.widget)
        self.setFocusProxy(self.widget._control)
        self._paint()

    def _begin(self, info: Any) -> None:
        """Begin the undo step of a cell."""
        self._finish(None)
        patch, code = self._names["patch"], str(info.raw_cell or "")
        if patch is not None and not _HISTORY.search(code):
            self._edit = patch.edit(f"Console: {cut(' '.join(code.split()), _LONGEST_NAME)}")
            self._edit.__enter__()

    def _finish(self, result: object) -> None:
        """End the undo step; what a cell edited before it failed stays, and undo takes it back."""
        edit, self._edit = self._edit, None
        if edit is not None:
            edit.__exit__(None, None, None)

    def _paint(self) -> None:
        theme = colours.current()
        if self.kernel is not None:
            self.kernel.shell.colors = "linux" if theme.is_dark else "lightbg"  # of tracebacks
        self.widget.syntax_style = "monokai" if theme.is_dark else "default"
        self.widget.style_sheet = f"""
            QPlainTextEdit, QTextEdit {{ background-color: {theme.canvas}; color: {theme.text}; border: none; }}
            .in-prompt, .out-prompt {{ color: {theme.accent}; }}
            .in-prompt-number, .out-prompt-number {{ font-weight: bold; }}
            .error {{ color: {theme.error}; }}
        """
        self.widget._highlighter.rehighlight()
