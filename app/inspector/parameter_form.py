"""`ParameterForm`: the rows of parameters, in sections that fold and in the width of the dock."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFormLayout, QSizePolicy, QToolButton

from warploom.app.inspector.parameter_editors import NumberEditor
from warploom.app.inspector.parameter_row import LEAST_NAME, ParameterRow
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
        has_headings = bool(live and rebuilding)  # one section alone needs no name
        for title, section in (("While it runs", live), ("Changes rebuild the graph", rebuilding)):
            if has_headings:
                heading = SectionHeading(title, folded=title in folded)
                heading.folding_changed.connect(partial(self._fold, section))
                self.addRow(heading)
            for row in section:
                self.addRow(row.label, row)
                if has_headings and title in folded:
                    self.setRowVisible(row, False)

    def wrap(self, width: int, size: int) -> None:
        """Use a width, with a font of a size: a tight form has no sliders, and a narrow one has names above editors."""
        for row in self.rows:
            if isinstance(row.editor, NumberEditor) and row.editor.slider is not None:
                row.editor.slider.setHidden(width < _TIGHT * size)  # too short to be of use
        beside = [row for row in self.rows if not row.editor.spec.language]
        names = max((row.label.sizeHint().width() for row in beside), default=0)
        editors = max((row.minimumSizeHint().width() for row in beside), default=0)
        room = width - self.horizontalSpacing() - editors
        is_narrow = room < min(names, LEAST_NAME)
        for row in self.rows:
            row.label.setMaximumWidth(width if is_narrow or row not in beside else max(room, LEAST_NAME))
        policy = QFormLayout.RowWrapPolicy
        self.setRowWrapPolicy(policy.WrapAllRows if is_narrow else policy.DontWrapRows)

    def _fold(self, rows: Sequence[ParameterRow], title: str, folded: bool) -> None:
        (self._folded.add if folded else self._folded.discard)(title)
        for row in rows:
            self.setRowVisible(row, not folded)


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
