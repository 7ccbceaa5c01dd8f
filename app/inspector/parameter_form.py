"""`ParameterForm`: the rows of parameters, in sections that fold and in the width of the dock."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFormLayout, QSizePolicy, QToolButton

from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.app.inspector.parameter_row import LEAST_NAME, ParameterRow
from warploom.app.inspector.vector_row import VectorRow
from warploom.app.theme.icons import icon

#: The width below which there are no sliders, in sizes of the font.
_TIGHT = 28


class ParameterForm(QFormLayout):
    """Code above, then live parameters, then those that rebuild the graph.

    `folded` holds the titles of folded sections. Clicks on headings change it, and all blocks share it.
    """

    def __init__(self, rows: Sequence[ParameterRow], folded: set[str]) -> None:
        super().__init__(horizontalSpacing=8, verticalSpacing=2)
        self.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self._folded = folded
        code, live, rebuilding = list[ParameterRow](), list[ParameterRow](), list[ParameterRow]()
        for row in rows:
            spec = row.editor.spec
            # Constants are listed with the live parameters, so that a parameter stays in place when it becomes one.
            (code if spec.language else live if not spec.structural or spec.is_constant else rebuilding).append(row)
        #: All rows in their order.
        self.rows = [*code, *live, *rebuilding]
        for row in code:
            self.addRow(row.label)
            self.addRow(row)
        #: The rows of vectors.
        self.vectors: list[VectorRow] = []
        self._lines: list[ParameterRow | VectorRow] = [*code]
        has_headings = bool(live and rebuilding)  # one section alone needs no name
        for title, section in (("While it runs", live), ("Changes rebuild the graph", rebuilding)):
            if has_headings:
                heading = SectionHeading(title, folded=title in folded)
                self.addRow(heading)
            lines = self._joined(section)
            if has_headings:
                heading.folding_changed.connect(partial(self._fold, lines))
            for line in lines:
                self.addRow(line.label, line)
                if has_headings and title in folded:
                    self.setRowVisible(line, False)

    def _joined(self, rows: Sequence[ParameterRow]) -> list[ParameterRow | VectorRow]:
        """Return what a section shows, line by line: the components of a vector are one."""
        lines: list[ParameterRow | VectorRow] = []
        for vector, parts in groupby(rows, lambda row: row.editor.spec.vector):
            if vector:
                self.vectors.append(VectorRow([*parts]))
                lines.append(self.vectors[-1])
            else:
                lines += parts
        self._lines += lines
        return lines

    def wrap(self, width: int, size: int) -> None:
        """Use a width, with a font of a size: a tight form has no sliders, and a narrow one has names above editors."""
        for row in self.rows:
            if isinstance(row.editor, NumberEditor) and row.editor.slider is not None:
                row.editor.slider.setHidden(width < _TIGHT * size)  # too short to be of use
        beside = [line for line in self._lines if isinstance(line, VectorRow) or not line.editor.spec.language]
        names = max((line.label.sizeHint().width() for line in beside), default=0)
        editors = max((line.minimumSizeHint().width() for line in beside), default=0)
        room = width - self.horizontalSpacing() - editors
        is_narrow = room < min(names, LEAST_NAME)
        for line in self._lines:
            line.label.setMaximumWidth(width if is_narrow or line not in beside else max(room, LEAST_NAME))
        policy = QFormLayout.RowWrapPolicy
        self.setRowWrapPolicy(policy.WrapAllRows if is_narrow else policy.DontWrapRows)

    def _fold(self, lines: Sequence[ParameterRow | VectorRow], title: str, folded: bool) -> None:
        (self._folded.add if folded else self._folded.discard)(title)
        for line in lines:
            self.setRowVisible(line, not folded)


class SectionHeading(QToolButton):
    """The heading of a section of parameters; a click folds and unfolds the section."""

    folding_changed = Signal(str, bool)  # the title, and whether the section is folded now

    def __init__(self, title: str, *, folded: bool) -> None:
        super().__init__(objectName="foldableTitle", text=title, autoRaise=True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._folded = folded
        self._show()
        self.clicked.connect(self._toggle)

    def _toggle(self) -> None:
        self._folded = not self._folded
        self._show()
        self.folding_changed.emit(self.text(), self._folded)

    def _show(self) -> None:
        self.setIcon(icon("folded" if self._folded else "unfolded", "text_dim"))
        self.setToolTip("Show these parameters" if self._folded else "Hide these parameters")
