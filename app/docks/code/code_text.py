"""`CodeText`: the field in which code is typed, with line numbers, and mistakes under their lines."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtWidgets import QFrame, QPlainTextDocumentLayout, QPlainTextEdit, QTextEdit, QWidget

from warploom.app.docks.code.completion import Completion
from warploom.app.theme import colours
from warploom.app.theme.fonts import SMALL, code_font, widget_font
from warploom.app.view_models.code.checks import Mistake
from warploom.app.view_models.code.names import Names
from warploom.app.widgets.highlighter import Highlighter
from warploom.engine.diagnostics import Severity

_INDENT = 4
_MARK = 14  # pixels of the margin for the mark of a mistake
_OPENING = ("{", "(", "[", ":")
_CONTROL = Qt.KeyboardModifier.ControlModifier


class CodeDocument(QTextDocument):
    """A text of one language, with room under the lines that have mistakes."""

    def __init__(self, text: str, language: str) -> None:
        super().__init__()
        #: The mistakes by the number of their block, from 0.
        self.mistakes: dict[int, list[Mistake]] = {}
        self.setDefaultFont(code_font())
        self._layout = _Layout(self)
        self.setDocumentLayout(self._layout)
        self.setPlainText(text)
        self.setModified(False)
        self.language = language
        self.highlighter = Highlighter(self, language)

    def show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """Replace the mistakes under the lines."""
        found: dict[int, list[Mistake]] = {}
        for mistake in mistakes:
            found.setdefault(min(max(1, mistake.line), self.blockCount()) - 1, []).append(mistake)
        if found != self.mistakes:
            self.mistakes = found
            self._layout.requestUpdate()
            self._layout.documentSizeChanged.emit(self._layout.documentSize())

    def room_below(self, block: QTextBlock) -> float:
        """Return the height of the mistakes under a line."""
        return len(self.mistakes.get(block.blockNumber(), ())) * mistake_height()


class _Layout(QPlainTextDocumentLayout):
    def __init__(self, document: CodeDocument) -> None:
        super().__init__(document)
        self._owner = document

    def blockBoundingRect(self, block: QTextBlock) -> QRectF:
        place = super().blockBoundingRect(block)
        if self._owner.mistakes and block.isValid():
            place.setHeight(place.height() + self._owner.room_below(block))
        return place


def mistake_height() -> float:
    """Return the height of a mistake's line."""
    return QFontMetricsF(widget_font(SMALL)).height() + 2


class CodeText(QPlainTextEdit):
    """A field for code.

    Control and S, or Control and Enter, ask to save it. Once it is saved, Control and S saves the patch.
    """

    #: The person wants to save, to search, or to search and replace.
    save_asked = Signal()
    find_asked = Signal(bool)
    #: The field lost the keyboard.
    left = Signal()
    #: The cursor moved to this line, from 1.
    line_changed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(code_font())
        self.setAccessibleName("Code")
        self._margin = _Margin(self)
        self._found: list[QTextEdit.ExtraSelection] = []
        #: Returns the names that may complete the word at a place of the text.
        self.names: Callable[[str, int], Names] = lambda _, place: Names(place, ())
        #: Returns whether there is nothing to save.
        self.is_saved: Callable[[], bool] = lambda: False
        self.completion = Completion(self)
        self.completion.chosen.connect(self._complete)
        self.updateRequest.connect(lambda *_: self._margin.update())
        self.blockCountChanged.connect(self._fit)
        self.cursorPositionChanged.connect(self._on_cursor)
        self._shown = CodeDocument("", "")
        self.show_document(self._shown)

    def show_document(self, document: CodeDocument) -> None:
        """Show another text, which keeps its own undo history."""
        self.completion.hide()
        self._shown = document
        self.setDocument(document)
        self.setFont(code_font())
        self._found = []
        self._fit()
        self._mark()

    @property
    def language(self) -> str:
        """The language of the text."""
        return self._shown.language

    def show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """Show mistakes under their lines instead of the present ones."""
        self._shown.show_mistakes(mistakes)
        self._mark()
        self.viewport().update()
        self._margin.update()

    def mistakes(self) -> list[Mistake]:
        """Return the mistakes that are shown."""
        return [mistake for _, found in sorted(self._shown.mistakes.items()) for mistake in found]

    def show_found(self, places: Sequence[tuple[int, int]]) -> None:
        """Highlight what a search found."""
        colour = QColor(colours.mix(colours.current().canvas, colours.current().accent, 0.35))
        self._found = [_selection(self._cursor(*place), colour) for place in places]
        self._mark()

    def select(self, start: int, end: int) -> None:
        """Select a part of the text, and bring it into view."""
        self.setTextCursor(self._cursor(start, end))
        self.ensureCursorVisible()

    def go_to_line(self, line: int) -> None:
        """Put the cursor at the first word of a line, counted from 1, in the middle of the view."""
        block = self.document().findBlockByNumber(min(max(1, line), self.blockCount()) - 1)
        place = block.position() + len(block.text()) - len(block.text().lstrip())
        self.setTextCursor(self._cursor(place, place))
        self.centerCursor()

    def next_mistake(self) -> None:
        """Go to the next mistake after the cursor, or to the first one."""
        here = self.textCursor().blockNumber()
        numbers = sorted(self._shown.mistakes)
        following = [number for number in numbers if number > here] or numbers
        if following:
            self.go_to_line(following[0] + 1)

    def _cursor(self, start: int, end: int) -> QTextCursor:
        cursor, last = QTextCursor(self.document()), self.document().characterCount() - 1
        cursor.setPosition(min(start, last))
        cursor.setPosition(min(end, last), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    # Keys

    def event(self, event: QEvent) -> bool:
        """Take the keys that mean something here, before the window's commands."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and self._action(event):
            event.accept()
            return True
        return super().event(event)

    def _action(self, event: QKeyEvent) -> Callable[[], object] | None:
        """Return what a key does here, if anything else than in every text."""
        key, modifiers = event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        is_control = modifiers == _CONTROL
        if event.matches(QKeySequence.StandardKey.Find):
            return lambda: self.find_asked.emit(False)
        if key in (Qt.Key.Key_S, Qt.Key.Key_Return, Qt.Key.Key_Enter) and is_control:
            return None if key == Qt.Key.Key_S and self.is_saved() else self.save_asked.emit
        if key == Qt.Key.Key_H and is_control:
            return lambda: self.find_asked.emit(True)
        if key == Qt.Key.Key_F8 and not modifiers:
            return self.next_mistake
        if key == Qt.Key.Key_Home and modifiers in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
            return lambda: self._go_home(selects=bool(modifiers))
        if self.isReadOnly():
            return None
        if key == Qt.Key.Key_Space and is_control:
            return lambda: self._offer(asked=True)
        if key == Qt.Key.Key_Tab and not modifiers:
            return lambda: self._indent(1)
        if key == Qt.Key.Key_Backtab:
            return lambda: self._indent(-1)
        return None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Type, with indentation and offers of names."""
        if self.completion.takes(event):
            return
        action = self._action(event)
        if action is not None:
            action()
            event.accept()
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not self.isReadOnly():
            self._new_line()
            return
        super().keyPressEvent(event)
        if self.isReadOnly():
            return
        typed = event.text()
        if typed == "}" and self.language == "cuda":
            self._unindent_closing()
        if typed and (typed.isalnum() or typed in "_."):
            self._offer(asked=False)
        elif self.completion.is_open:
            self._offer(asked=False) if event.key() == Qt.Key.Key_Backspace else self.completion.hide()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Close the list of names, and report that the field has lost the keyboard."""
        super().focusOutEvent(event)
        self.completion.hide()
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.left.emit()

    def _new_line(self) -> None:
        """Begin a line with the indentation of this one, deeper after an opening bracket."""
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        depth = len(before) - len(before.lstrip(" "))
        depth += _INDENT * (before.rstrip().endswith(_OPENING) and self.language in ("cuda", "python"))
        cursor.insertText("\n" + " " * depth)
        self.setTextCursor(cursor)
        self.ensureCursorVisible()

    def _unindent_closing(self) -> None:
        cursor = self.textCursor()
        line = cursor.block().text()
        if line.strip() == "}" and line.startswith(" " * _INDENT):
            self._at(cursor.block(), remove=_INDENT)

    def _go_home(self, *, selects: bool) -> None:
        """Move the cursor to the first letter of its line; from there, to the beginning of the line."""
        cursor = self.textCursor()
        block = cursor.block()
        first = len(block.text()) - len(block.text().lstrip())
        column = 0 if cursor.positionInBlock() == first else first
        mode = QTextCursor.MoveMode.KeepAnchor if selects else QTextCursor.MoveMode.MoveAnchor
        cursor.setPosition(block.position() + column, mode)
        self.setTextCursor(cursor)

    def _indent(self, direction: int) -> None:
        """Indent the selected lines, or insert spaces up to the next stop; -1 takes an indentation away."""
        cursor = self.textCursor()
        if direction > 0 and not cursor.hasSelection():
            cursor.insertText(" " * (_INDENT - cursor.positionInBlock() % _INDENT))
            return
        first = self.document().findBlock(cursor.selectionStart()).blockNumber()
        end = max(cursor.selectionStart(), cursor.selectionEnd() - cursor.hasSelection())
        last = self.document().findBlock(end).blockNumber()
        cursor.beginEditBlock()
        for number in range(first, last + 1):
            block = self.document().findBlockByNumber(number)
            spaces = len(block.text()) - len(block.text().lstrip(" "))
            if direction > 0 and block.text():
                self._at(block, insert=" " * _INDENT)
            elif direction < 0 and spaces:
                self._at(block, remove=min(_INDENT, spaces))
        cursor.endEditBlock()

    @staticmethod
    def _at(block: QTextBlock, *, insert: str = "", remove: int = 0) -> None:
        """Change the beginning of a line."""
        cursor = QTextCursor(block)
        cursor.movePosition(QTextCursor.MoveOperation.Right, QTextCursor.MoveMode.KeepAnchor, remove)
        cursor.insertText(insert)

    def _offer(self, *, asked: bool) -> None:
        """Offer the names that may complete the word at the cursor."""
        text = self.toPlainText()
        place = len(text) - len(self._after())
        found = self.names(text, place)
        is_long = place - found.start >= 2 or (place == found.start and text[place - 1 : place] == ".")
        if found.names and (asked or is_long or self.completion.is_open):
            self.completion.offer(found, self.cursorRect(), self._margin.width())
        else:
            self.completion.hide()

    def _after(self) -> str:
        """Return the text after the cursor."""
        cursor = self.textCursor()
        cursor.setPosition(cursor.position())
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        return cursor.selectedText()

    def _complete(self, start: int, name: str) -> None:
        cursor = self.textCursor()
        cursor.setPosition(units(self.toPlainText(), start), QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(name)
        self.setTextCursor(cursor)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the text, and the mistakes under their lines."""
        super().paintEvent(event)
        if not self._shown.mistakes:
            return
        theme, painter = colours.current(), QPainter(self.viewport())
        painter.setFont(widget_font(SMALL))
        metrics, height = QFontMetricsF(painter.font()), mistake_height()
        width = self.viewport().width()
        for block, place in self._visible():
            mistakes = self._shown.mistakes.get(block.blockNumber(), ())
            text = block.text()
            left = place.left() + 4 + self.fontMetrics().horizontalAdvance(text[: len(text) - len(text.lstrip())])
            for number, mistake in enumerate(mistakes):
                colour = theme.error if mistake.severity is Severity.ERROR else theme.warning
                row = QRectF(0, place.bottom() - height * (len(mistakes) - number), width, height)
                painter.fillRect(row, QColor(colours.mix(theme.canvas, colour, 0.14)))
                painter.setPen(QColor(colour))
                room = QRectF(max(left, 4.0), row.top(), max(80.0, width - left - 8), height)
                shown = metrics.elidedText(mistake.text, Qt.TextElideMode.ElideRight, room.width())
                painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()

    def _visible(self) -> list[tuple[QTextBlock, QRectF]]:
        found, block = [], self.firstVisibleBlock()
        while block.isValid():
            place = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if place.top() > self.viewport().height():
                break
            found.append((block, place))
            block = block.next()
        return found

    def paint_margin(self, painter: QPainter, area: QRect) -> None:
        """Paint the number of each line, and a mark beside a line with mistakes."""
        theme = colours.current()
        painter.fillRect(area, QColor(theme.canvas))
        painter.setFont(code_font())
        here = self.textCursor().blockNumber()
        height = self.fontMetrics().height()
        for block, place in self._visible():
            number = block.blockNumber()
            painter.setPen(QColor(theme.text if number == here else theme.text_faint))
            room = QRectF(0, place.top(), area.width() - 8, height)
            painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(number + 1))
            mistakes = self._shown.mistakes.get(number, ())
            if mistakes:
                is_error = any(mistake.severity is Severity.ERROR for mistake in mistakes)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(theme.error if is_error else theme.warning))
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.drawEllipse(QRectF(5, place.top() + height / 2 - 3, 6, 6))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the margin as high as the view."""
        super().resizeEvent(event)
        inside = self.contentsRect()
        self._margin.setGeometry(QRect(inside.left(), inside.top(), self._margin.sizeHint().width(), inside.height()))

    def changeEvent(self, event: QEvent) -> None:
        """Follow another theme's colours, and a font of another size."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_shown"):
            self._fit()
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_shown"):
            self._shown.highlighter.rehighlight()
            self._mark()

    def _fit(self) -> None:
        """Fit the margin and the tab stops to the text and its font."""
        self.setTabStopDistance(_INDENT * self.fontMetrics().horizontalAdvance(" "))
        width = self._margin.sizeHint().width()
        self.setViewportMargins(width, 0, 0, 0)
        inside = self.contentsRect()
        self._margin.setGeometry(QRect(inside.left(), inside.top(), width, inside.height()))

    def _on_cursor(self) -> None:
        self._margin.update()
        self._mark()
        self.line_changed.emit(self.textCursor().blockNumber() + 1)

    def _mark(self) -> None:
        """Highlight the cursor's line, underline mistakes, and mark what a search found."""
        theme = colours.current()
        line = _selection(self.textCursor(), QColor(colours.mix(theme.canvas, theme.text, 0.05)))
        line.cursor.clearSelection()
        line.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
        marks = [line]
        for number, mistakes in self._shown.mistakes.items():
            block = self.document().findBlockByNumber(number)
            text = block.text()
            start = block.position() + len(text) - len(text.lstrip())
            mark = QTextEdit.ExtraSelection()
            mark.cursor = self._cursor(start, block.position() + len(text.rstrip()))
            is_error = any(mistake.severity is Severity.ERROR for mistake in mistakes)
            mark.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            mark.format.setUnderlineColor(QColor(theme.error if is_error else theme.warning))
            marks.append(mark)
        self.setExtraSelections([*marks, *self._found])


def text_of(document: QTextDocument) -> str:
    """Return the text of a document as it was typed; `toPlainText` would turn protected spaces into plain ones."""
    return document.toRawText().replace("\N{PARAGRAPH SEPARATOR}", "\n")


def units(text: str, place: int) -> int:
    """Return a place of a text as Qt counts it, in which some characters count twice."""
    return place if text.isascii() else len(text[:place].encode("utf-16-le", "surrogatepass")) // 2


def _selection(cursor: QTextCursor, colour: QColor) -> QTextEdit.ExtraSelection:
    mark = QTextEdit.ExtraSelection()
    mark.cursor = QTextCursor(cursor)
    mark.format.setBackground(colour)
    return mark


class _Margin(QWidget):
    """The strip left of the code."""

    def __init__(self, text: CodeText) -> None:
        super().__init__(text)
        self._text = text

    def sizeHint(self) -> QSize:
        """Return the width of the largest number."""
        digits = max(3, len(str(self._text.blockCount())))
        return QSize(_MARK + 8 + digits * self._text.fontMetrics().horizontalAdvance("0"), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the numbers."""
        painter = QPainter(self)
        self._text.paint_margin(painter, self.rect())
        painter.end()
