"""A port as text: one large number, or the elements of a small buffer."""

import math
from itertools import islice

import numpy as np
from PySide6.QtCore import QMargins, QMimeData, Qt
from PySide6.QtWidgets import QLabel, QScrollArea, QVBoxLayout, QWidget

from warploom.app.theme.fonts import FAR, code_font
from warploom.app.view_models.looking.numbers import element_text
from warploom.app.viewers.ports.port_view import MAIN, RATE, PortView
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.sampling import Sample, Sampling

#: The most rows, and the most elements of each.
_MOST, _MOST_COLUMNS = 256, 8


class TextView(PortView):
    """Shows elements with their indices, those along the last of several axes in a line."""

    def __init__(self) -> None:
        super().__init__()
        self.label = QLabel(wordWrap=True, alignment=Qt.AlignmentFlag.AlignCenter)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setMargin(12)
        area = QScrollArea(widgetResizable=True, frameShape=QScrollArea.Shape.NoFrame)
        area.setWidget(self.label)
        QVBoxLayout(self, contentsMargins=QMargins()).addWidget(area)

    @property
    def body(self) -> QWidget:
        """What shows the contents."""
        return self.label

    def copied(self) -> QMimeData:
        """Return the selected text, or else all that is shown."""
        data = QMimeData()
        data.setText(self.label.selectedText() or self.label.text())
        return data

    def samplings(self, port: PortRef, dtype: str, shape: tuple[int, ...]) -> dict[str, Sampling]:
        """Return the first elements along each axis."""
        part = tuple((0, min(extent, _MOST if axis == 0 else _MOST_COLUMNS)) for axis, extent in enumerate(shape))
        return {MAIN: Sampling(port, part, rate=RATE)}

    def show_sample(self, name: str, sample: Sample) -> None:
        """Show the elements."""
        assert sample.data is not None
        data, axes = sample.data, len(sample.shape)
        count = 1
        for extent in data.shape[:axes]:
            count *= extent
        if count == 1:
            self._use_font(f"font-size: {FAR}px")
            self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            text = element_text(data.reshape(-1)[0] if data.ndim == axes else data.reshape(-1))
            if data.dtype.names:
                element = data.reshape(-1)[0]
                text = "\n".join(f"{field}  {element_text(element[field])}" for field in data.dtype.names)
        else:
            self._use_font(f"font-family: '{code_font().family()}'")
            self.label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            rows = data if axes > 1 else data[:, None]
            leading = rows.shape[: max(axes - 1, 1)]
            more = "  …" if axes > 1 and sample.shape[-1] > _MOST_COLUMNS else ""
            lines = []
            if axes == 2 and self.columns:
                heads = (name if len(name) <= 9 else f"{name[:8]}…" for name in self.columns[:_MOST_COLUMNS])
                lines.append(f"{'':>5}  {'  '.join(f'{head:>9}' for head in heads)}")
            for place in islice(np.ndindex(leading), _MOST):
                numbers = "  ".join(f"{element_text(each):>9}" for each in rows[place])
                lines.append(f"{', '.join(map(str, place)):>5}  {numbers}{more}")
            is_cut = sample.shape[: len(leading)] != leading or math.prod(leading) > _MOST
            text = "\n".join([*lines, *(["…"] if is_cut else [])])
        if text != self.label.text():
            self.label.setText(text)

    def _use_font(self, style: str) -> None:
        if style != self.label.styleSheet():  # the application's style sheet wins over `setFont`
            self.label.setStyleSheet(style)
