"""A layout that puts widgets beside each other, and the rest below where the width ends."""

from collections.abc import Iterator

from PySide6.QtCore import QMargins, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowRow(QLayout):
    """Rows of widgets in their order. One that is added with `grows` takes the width that is left in its row."""

    def __init__(self, parent: QWidget | None = None, *, margins: QMargins, spacing: int = 4) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self._growing: set[QWidget] = set()
        self.setContentsMargins(margins)
        self.setSpacing(spacing)
        if parent is not None:
            parent.setLayout(self)

    def add(self, widget: QWidget, *, grows: bool = False) -> None:
        """Add a widget at the end."""
        if grows:
            self._growing.add(widget)
        self.addWidget(widget)

    # Qt

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        margins = self.contentsMargins()
        rows = list(self._rows(width - margins.left() - margins.right()))
        heights = sum(max(size.height() for _, size in row) for row in rows) + self.spacing() * max(len(rows) - 1, 0)
        return heights + margins.top() + margins.bottom()

    def sizeHint(self) -> QSize:
        """Return the size of one row."""
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        width = sum(size.width() for size in sizes) + self.spacing() * max(len(sizes) - 1, 0)
        return QSize(width, max((size.height() for size in sizes), default=0)).grownBy(self.contentsMargins())

    def minimumSize(self) -> QSize:
        """Return the size of the largest widget."""
        sizes = [item.minimumSize() for item in self._items if not item.isEmpty()]
        width, height = (max(side, default=0) for side in ([s.width() for s in sizes], [s.height() for s in sizes]))
        return QSize(width, height).grownBy(self.contentsMargins())

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        inner = rect.marginsRemoved(self.contentsMargins())
        y = inner.top()
        for row in self._rows(inner.width()):
            height = max(size.height() for _, size in row)
            free = inner.width() - sum(size.width() for _, size in row) - self.spacing() * (len(row) - 1)
            growing = sum(item.widget() in self._growing for item, _ in row)
            x = inner.left()
            for item, size in row:
                width = size.width() + (free // growing if item.widget() in self._growing else 0)
                item.setGeometry(QRect(x, y + (height - size.height()) // 2, width, size.height()))
                x += width + self.spacing()
            y += height + self.spacing()

    def _rows(self, width: int) -> Iterator[list[tuple[QLayoutItem, QSize]]]:
        """Yield the rows of shown items, with the sizes that they get before any grows."""
        row: list[tuple[QLayoutItem, QSize]] = []
        used = 0
        for item in self._items:
            if item.isEmpty():
                continue
            least, grows = item.minimumSize(), item.widget() in self._growing
            size = (least if grows else item.sizeHint()).expandedTo(least).boundedTo(item.maximumSize())
            size.setWidth(min(size.width(), max(width, 0)))
            if row and used + self.spacing() + size.width() > width:
                yield row
                row, used = [], 0
            used += size.width() + (self.spacing() if row else 0)
            row.append((item, size))
        if row:
            yield row
