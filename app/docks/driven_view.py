"""A driven parameter in the inspector: what drives it, and its value in the running engine."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from app.canvas.live_values import LiveValue


class DrivenView(QWidget):
    """Stands in the place of the editor as long as a value drives the parameter."""

    #: The person wants to see what drives the parameter.
    followed = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self._live: LiveValue | None = None
        self._unit = ""
        self.source = QToolButton(autoRaise=True)
        self.source.setObjectName("drivenBy")
        self.source.setCursor(Qt.CursorShape.PointingHandCursor)
        self.source.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.source.setAccessibleName(f"What drives {name}")
        self.source.clicked.connect(self.followed)
        self.value = QLabel()
        self.value.setObjectName("drivenValue")
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.value.setToolTip("The value at present; disconnect to set it by hand")
        self.value.setMinimumWidth(76)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.source, 1)
        row.addWidget(self.value)

    def show_source(self, text: str, tooltip: str, live: LiveValue | None, unit: str) -> None:
        """Show what drives the parameter; `live` is None when several nodes are driven by different values."""
        self.source.setText(f"← {text}")
        self.source.setToolTip(tooltip)
        self._live, self._unit = live, unit
        self.show_values({})

    def show_values(self, values: Mapping[str, float]) -> None:
        """Show the value of a report."""
        text = f"{self._live.text(values)} {self._unit}".rstrip() if self._live is not None else ""
        if text != self.value.text():
            self.value.setText(text)
