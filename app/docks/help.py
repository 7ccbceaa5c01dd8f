"""The help dock: the purpose, ports and parameters of the selected block."""

from PySide6.QtCore import QEvent, QMargins, Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QTextBrowser, QVBoxLayout, QWidget

from warploom.app.docks.dock import Dock, Editor
from warploom.app.documents.gallery import example_with
from warploom.app.edits.example_patch import example_patch
from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL
from warploom.app.view_models.block_help import help_html
from warploom.app.widgets.empty_state import EmptyState
from warploom.engine.blocktypes.block import Block
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.runtime.check.check_patch import check_patch


class Help(EmptyState, Dock):
    """Shows the help of the type of the first selected block."""

    name, title, area = "help", "Help", Qt.DockWidgetArea.LeftDockWidgetArea

    def __init__(self) -> None:
        self.page = QTextBrowser(objectName="helpPage")
        example = QPushButton("Open an example", toolTip="Open a patch in which this block runs")
        content = QWidget()
        column = QVBoxLayout(content, contentsMargins=QMargins(), spacing=0)
        column.addWidget(self.page, 1)
        row = QHBoxLayout(contentsMargins=QMargins(12, 8, 12, 8))
        row.addWidget(example)
        row.addStretch(1)
        column.addLayout(row)
        self.example = example
        super().__init__(content, "Select a block to read its help.\nThe Help menu lists what Warploom can do")
        self.page.document().setDocumentMargin(8)  # beside the padding of 4 px
        self._block_type: type[Block] | None = None

    def follow(self, editor: Editor) -> None:
        """Follow the selection on the canvas, and a block whose ports follow from its values."""
        canvas = editor.canvas
        self.example.clicked.connect(lambda: open_example(editor, self._block_type))

        def show() -> None:
            node = next(iter(canvas.selected()), None)
            self.show_type(canvas.patch.block_type(node) if node in canvas.patch.nodes else None)

        canvas.selection_changed.connect(lambda _: show())
        editor.session.changed.connect(show)

    def show_type(self, block_type: type[Block] | None) -> None:
        """Show the help of a block type; without one, show how to get help."""
        if block_type is not self._block_type:
            before, self._block_type = self._block_type, block_type
            bar = self.page.verticalScrollBar()
            place = bar.value() if before is not None and block_type is not None and before.id == block_type.id else 0
            self._write()
            bar.setValue(place)

    def changeEvent(self, event: QEvent) -> None:
        """Update the help to another theme's colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._write()

    def _write(self) -> None:
        self.set_filled(self._block_type is not None)
        if self._block_type is not None:
            theme = colours.current()
            self.page.document().setDefaultStyleSheet(
                f".faint {{ color: {theme.text_dim}; font-size: {SMALL}px; }} h4 {{ color: {theme.text_dim}; }}"
            )
            self.page.setHtml(help_html(self._block_type))


def open_example(editor: Editor, block_type: type[Block] | None = None) -> None:
    """Open an example with a block of a type, or of the selected block's: a shipped one, or a patch made for it."""
    canvas, files = editor.canvas, editor.files
    selected = canvas.selected()
    wanted = block_type or (canvas.patch.block_type(selected[0]) if selected else None)
    if wanted is None:
        return
    shipped = example_with(wanted.id)
    if shipped is not None:
        if files.open_example(shipped[0]):
            canvas.select([shipped[1]])
    elif files.may_close():

        def make() -> tuple[Patch, str]:
            patch, node = example_patch(wanted, default_catalogue(), check_patch)
            return parse_patch(dump_patch(patch)), node  # without the steps of making it

        def show(made: tuple[Patch, str] | None) -> None:
            if made is not None:
                files.show_made(made[0])
                canvas.select([made[1]])

        editor.beside.run(f"Making an example of {wanted.title} …", make, show, lambda: None)
