"""One parameter in the inspector: its label with help, its editor, and a button that resets it."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from app.docks.parameter_editors import ParameterEditor
from app.theme.icons import icon
from engine.blocktypes.parameters import ParameterSpec


class ParameterRow(QWidget):
    """A parameter's editor with its reset button; `label` stands before it."""

    def __init__(self, spec: ParameterSpec, editor: ParameterEditor) -> None:
        super().__init__()
        self.editor = editor
        self.label = QLabel(spec.name.replace("_", " "))
        self.label.setToolTip(_help(spec))
        self.label.setMinimumWidth(72)
        self.label.setBuddy(editor)
        self.reset = QToolButton(autoRaise=True)
        self.reset.setObjectName("rowReset")
        self.reset.setIcon(icon("reset"))
        self.reset.setToolTip(f"Reset to {_short(spec.default)}")
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


def _help(spec: ParameterSpec) -> str:
    unit = f" {spec.unit}" if spec.unit else ""
    lines = [spec.doc]
    if spec.minimum is not None and spec.maximum is not None:
        lines.append(f"{spec.minimum:g} to {spec.maximum:g}{unit}")
    elif spec.minimum is not None:
        lines.append(f"At least {spec.minimum:g}{unit}")
    elif spec.maximum is not None:
        lines.append(f"At most {spec.maximum:g}{unit}")
    if spec.type != "array":
        lines.append(f"Default: {_short(spec.default)}{unit}")
    if spec.structural:
        lines.append("Changing it may rebuild the patch")
    return "\n".join(lines)


def _short(value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:g}"
        case str():
            return value or "none"
        case int():
            return str(value)
    return "the default"
