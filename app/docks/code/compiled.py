"""`Compiled`: the PTX, LLVM IR and SASS of a kernel, with the op or the source line of each line."""

from collections.abc import Callable, Collection
from textwrap import wrap

from PySide6.QtCore import QEvent, QMargins, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QTextCursor,
    QTextFormat,
)
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QTabWidget, QTextEdit, QVBoxLayout, QWidget

from warploom.app.qt.beside import Run, at_once
from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, code_font, widget_font
from warploom.app.view_models.ops.kernel_code import Listing, cuda_listing, llvm_listing, ptx_listing, sass_listing
from warploom.app.widgets.empty_state import EmptyState
from warploom.engine.device.device import HOST_ARCHITECTURE
from warploom.engine.diagnostics import KernelError
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sass import disassemble, graph_sass
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.processes.pool import run

_MARGIN_WIDTH = 136
#: The width of a message in place of code, in characters.
_COLUMNS = 48


class Compiled(EmptyState):
    """Tabs of code. Lines of the selected ops or source lines are highlighted; a click on a line chooses its own.

    SASS is generated when its tab is open, for each kernel that is shown.
    """

    #: A line of this op, or of this line of the source, was clicked.
    origin_chosen = Signal(str)

    def __init__(self) -> None:
        page = QWidget()
        super().__init__(page, "Select a block with a kernel to see what it compiles to")
        self.note = QLabel(objectName="faint", textFormat=Qt.TextFormat.PlainText)
        self.note.setContentsMargins(12, 4, 12, 4)
        self.note.hide()
        self.tabs = QTabWidget(documentMode=True)
        self.llvm, self.ptx, self.sass = CodeView(), CodeView(), CodeView()
        for view, title in ((self.ptx, "PTX"), (self.llvm, "LLVM IR"), (self.sass, "SASS")):
            view.op_clicked.connect(self.origin_chosen)
            self.tabs.addTab(view, title)
        self.tabs.currentChanged.connect(self._ask_for_sass)
        column = QVBoxLayout(page, contentsMargins=QMargins(), spacing=0)
        column.addWidget(self.note)
        column.addWidget(self.tabs)
        #: Runs slow work; below, the architecture of the code.
        self.beside: Run = at_once
        self.architecture: Callable[[], str] = lambda: HOST_ARCHITECTURE
        self._source: OpGraphSource | None = None
        #: The PTX that is shown instead, if it is that of a file or a text, and its name in the PTX.
        self._ptx: tuple[str, str] | None = None
        #: The kernel whose code is shown, or is being generated.
        self._compiled: OpGraphSource | None = None
        self._is_compiling = False
        #: The key of the SASS that is shown or being generated.
        self._asked: tuple[OpGraphSource | tuple[str, str], str] | None = None
        self._is_busy = False

    def show_kernel(self, source: OpGraphSource | None, title: Callable[[str], str], note: str = "") -> None:
        """Show the code of a kernel, or none; `title` returns an op's title on the canvas, and `note` is shown above.

        The code is generated on another thread, for the newest kernel.
        """
        self.note.setText(note)
        self.note.setVisible(bool(note))
        for view in (self.llvm, self.ptx, self.sass):
            view.title = title
        self._source, self._ptx = source, None
        self.tabs.setTabVisible(1, True)
        self.set_filled(source is not None)
        if source is None:
            self._show_listings((Listing(), Listing()))
            self._compiled = None
        self._compile()
        self._ask_for_sass()

    @property
    def shows_graph(self) -> bool:
        """True while the code of an op graph is shown."""
        return self._source is not None

    def show_ptx(self, ptx: str, name: str) -> None:
        """Show the PTX of CUDA C++ that has this name in it; each line belongs to a line of the source."""
        if (ptx, name) == self._ptx:
            return
        self._source, self._compiled, self._ptx = None, None, (ptx, name)
        self.note.hide()
        self.tabs.setTabVisible(1, False)
        for view in (self.ptx, self.sass):
            view.title = "line {}".format
        self.set_filled(bool(ptx))
        self._show_listings((Listing(), cuda_listing(ptx, name)))
        self._ask_for_sass()

    def show_selection(self, ops: Collection[str]) -> None:
        """Highlight the lines of these ops."""
        for view in (self.llvm, self.ptx, self.sass):
            view.show_selection(set(ops))

    def _compile(self) -> None:
        """Have the code of the shown kernel generated, one kernel at a time."""
        source = self._source
        if self._is_compiling or source is None or source == self._compiled:
            return
        self._compiled, self._is_compiling = source, True

        def work() -> tuple[Listing, Listing]:
            kernel = op_graphs.kernel(source)
            return llvm_listing(kernel), ptx_listing(kernel)

        self.beside("Compiling …", work, self._show_code, lambda: self._show_code(None))

    def _show_code(self, listings: tuple[Listing, Listing] | None) -> None:
        self._is_compiling = False
        if listings is not None and self._source is not None:
            self._show_listings(listings)
        self._compile()

    def _show_listings(self, listings: tuple[Listing, Listing]) -> None:
        for view, listing in zip((self.llvm, self.ptx), listings, strict=True):
            view.show_listing(listing)

    def _ask_for_sass(self) -> None:
        """Have the SASS of the shown kernel generated if it is visible, one kernel at a time."""
        architecture = self.architecture()
        source = self._source if self._ptx is None else self._ptx
        if self._is_busy or source is None or self.tabs.currentWidget() is not self.sass:
            return
        if self._asked == (source, architecture):
            return
        self._asked, self._is_busy = (source, architecture), True
        cancelled = "// Disassembling was cancelled"
        work, give_up = (lambda: _sass(source, architecture)), (lambda: self._show_sass(cancelled))
        self.beside("Disassembling …", work, self._show_sass, give_up)

    def _show_sass(self, sass: str | None) -> None:
        self._is_busy = False
        assert self._asked is not None
        text = sass if sass is not None else "// SASS could not be generated; the log has the reason"
        source = self._asked[0]
        if isinstance(source, tuple):
            self.sass.show_listing(cuda_listing(text, source[1], ptx=source[0]))
        else:
            self.sass.show_listing(sass_listing(op_graphs.kernel(source), text))
        self._ask_for_sass()


def _sass(source: OpGraphSource | tuple[str, str], architecture: str) -> str:
    """Return the SASS of a kernel, or the reason why there is none."""
    try:
        if isinstance(source, tuple):
            return run(disassemble, source[0], architecture.replace("compute_", "sm_"))
        return run(graph_sass, source, architecture)
    except KernelError as problem:
        lines = (wrap(line, _COLUMNS, break_on_hyphens=False) for line in str(problem).splitlines())
        return "\n".join(f"// {part}" for parts in lines for part in parts)


class CodeView(QPlainTextEdit):
    """Code that can be read, searched and copied, with ops in a margin."""

    #: A line of this op was clicked.
    op_clicked = Signal(str)

    def __init__(self) -> None:
        super().__init__(readOnly=True, lineWrapMode=QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(code_font())
        self.listing = Listing()
        self.title: Callable[[str], str] = str
        self._selected: set[str] = set()
        self._margin = _Margin(self)
        self.setViewportMargins(_MARGIN_WIDTH, 0, 0, 0)
        self.updateRequest.connect(lambda *_: self._margin.update())

    def show_listing(self, listing: Listing) -> None:
        """Show other code, and keep the scroll position if its lines are the same."""
        place = self.verticalScrollBar().value()
        self.listing = listing
        self.setPlainText("\n".join(listing.lines))
        self.verticalScrollBar().setValue(place)
        self._mark()

    def show_selection(self, ops: set[str]) -> None:
        """Highlight the lines of these ops, and bring them into view."""
        if ops == self._selected:
            return
        self._selected = ops
        self._mark()
        self._reveal()

    def _reveal(self) -> None:
        lines = self.listing.lines_of(self._selected)
        first = self.firstVisibleBlock().blockNumber()
        shown = max(1, self.viewport().height() // max(1, self.fontMetrics().height()) - 1)
        if lines and not any(first <= line < first + shown for line in lines):
            self.verticalScrollBar().setValue(max(0, lines[0] - 1))

    def marked(self) -> list[int]:
        """Return the numbers of the highlighted lines, from 0."""
        return [selection.cursor.blockNumber() for selection in self.extraSelections()]

    def paint_margin(self, painter: QPainter, area: QRect) -> None:
        """Paint the title of each op beside the first of its lines."""
        theme = colours.current()
        painter.fillRect(area, QColor(theme.dock))
        painter.setFont(widget_font(SMALL))
        metrics = QFontMetricsF(painter.font())
        block = self.firstVisibleBlock()
        first = block.blockNumber()
        while block.isValid():
            place = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if place.top() > area.bottom():
                break
            number = block.blockNumber()
            op = self.listing.ops[number] if number < len(self.listing.ops) else ""
            if op and (number == first or self.listing.ops[number - 1] != op):
                painter.setPen(QColor(theme.text if op in self._selected else theme.text_dim))
                room = QRectF(12, place.top(), _MARGIN_WIDTH - 20, place.height())
                title = metrics.elidedText(self.title(op), Qt.TextElideMode.ElideRight, room.width())
                painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, title)
            block = block.next()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Select the op of the line, unless text was selected."""
        super().mouseReleaseEvent(event)
        number = self.cursorForPosition(event.position().toPoint()).blockNumber()
        op = self.listing.ops[number] if number < len(self.listing.ops) else ""
        if op and not self.textCursor().hasSelection() and event.button() == Qt.MouseButton.LeftButton:
            self.op_clicked.emit(op)

    def showEvent(self, event: QShowEvent) -> None:
        """Bring the highlighted lines into view, since the view has its height only now."""
        super().showEvent(event)
        self._reveal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the margin as high as the view."""
        super().resizeEvent(event)
        inside = self.contentsRect()
        self._margin.setGeometry(inside.left(), inside.top(), _MARGIN_WIDTH, inside.height())

    def changeEvent(self, event: QEvent) -> None:
        """Update the highlights to another theme's colours."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._mark()

    def _mark(self) -> None:
        theme = colours.current()
        marks = []
        for number in self.listing.lines_of(self._selected):
            mark = QTextEdit.ExtraSelection()
            mark.cursor = QTextCursor(self.document().findBlockByNumber(number))
            mark.format.setBackground(QColor(colours.mix(theme.dock, theme.accent, 0.22)))
            mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            marks.append(mark)
        self.setExtraSelections(marks)


class _Margin(QWidget):
    """The strip left of the code."""

    def __init__(self, view: CodeView) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self) -> QSize:
        """Return the margin's width."""
        return QSize(_MARGIN_WIDTH, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the titles of the ops."""
        painter = QPainter(self)
        self._view.paint_margin(painter, self.rect())
        painter.end()
