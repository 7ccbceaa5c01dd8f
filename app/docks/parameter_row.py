"""One parameter in the inspector: its label with help, its editor, and a button that resets it."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from app.docks.parameter_editors import ParameterEditor
from app.parameter_text import parameter_facts, value_text
from app.theme.icons import icon
from engine.blocktypes.parameters import ParameterSpec


class ParameterRow(QWidget):
    """A parameter's editor with its reset button; `label` stands before it."""

    def __init__(self, spec: ParameterSpec, editor: ParameterEditor) -> None:
        super().__init__()
        self.editor = editor
        self.label = QLabel(spec.name.replace("_", " "))
        self.label.setToolTip("\n".join([spec.doc, *parameter_facts(spec)]))
        self.label.setMinimumWidth(72)
        self.label.setBuddy(editor)
        self.reset = QToolButton(autoRaise=True)
        self.reset.setObjectName("rowReset")
        self.reset.setIcon(icon("reset"))
        self.reset.setToolTip(f"Reset to {value_text(spec.default)}")
        self.reset.setAccessibleName(f"Reset {spec.name}")
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(editor, 1)
        layout.addWidget(self.reset)

    def show_is_set(self, is_set: bool) -> None:
        """Offer to reset a value that was set."""
        self.reset.setVisible(is_set)
