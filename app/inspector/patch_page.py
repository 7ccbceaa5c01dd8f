"""`PatchPage`: facts of the whole patch, while no block is selected."""

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import QMargins, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QProgressBar, QPushButton, QScrollArea, QVBoxLayout, QWidget

from warploom.app.docks.elided_label import ElidedLabel
from warploom.app.inspector.node_info import text_label
from warploom.app.view_models.profile.texts import percent, time_share
from warploom.engine.figures import format_bytes, format_time, plural
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import FrameReport

#: The most blocks that are listed, those with the longest times.
_LISTED = 6


class PatchPage(QScrollArea):
    """The patch's file, size and cost, and the blocks that take the most time."""

    #: The person wants to go to a node.
    node_followed = Signal(str)

    def __init__(self, hint: str) -> None:
        super().__init__(widgetResizable=True, frameShape=QScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._listed: list[str] = []
        self.title = QLabel(objectName="patchTitle", textFormat=Qt.TextFormat.PlainText)
        self.place = ElidedLabel("summary")
        self.figures = text_label("figuresOfPatch")
        self.section = QLabel("Longest times", objectName="sectionTitle")
        self._rows = [self._make_row(number) for number in range(_LISTED)]
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(0)
        grid.setColumnStretch(1, 1)
        for number, parts in enumerate(self._rows):
            for place, part in enumerate(parts):
                grid.addWidget(part, number, place)
        page = QWidget()
        column = QVBoxLayout(page, contentsMargins=QMargins(12, 12, 12, 12), spacing=8)
        for part in (self.title, self.place, self.figures, self.section):
            column.addWidget(part)
        column.addLayout(grid)
        column.addStretch(1)
        column.addWidget(text_label("hint", hint))
        self.setWidget(page)

    @property
    def listed(self) -> list[str]:
        """The ids of the listed nodes, those with the longest times first."""
        return list(self._listed)

    def follow(self, number: int) -> None:
        """Go to a listed node."""
        if number < len(self._listed):
            self.node_followed.emit(self._listed[number])

    def show_patch(self, patch: Patch, report: FrameReport | None) -> None:
        """Show a patch and its last report, if there is one."""
        self.title.setText(patch.path.stem if patch.path is not None else "Untitled")
        self.place.setText(str(patch.path.parent) if patch.path is not None else "Not saved yet")
        self.place.setToolTip(str(patch.path or ""))
        self.figures.setText("\n".join(_figures(patch, report)))
        timed = sorted(_shares(patch, report), reverse=True)[:_LISTED] if report is not None else []
        self._listed = [node for _, _, node in timed]
        self.section.setVisible(bool(timed))
        for number, (link, bar, time, share_label) in enumerate(self._rows):
            is_shown = number < len(timed)
            for part in (link, bar, time, share_label):
                part.setVisible(is_shown)
            if is_shown:
                share, time_ns, node = timed[number]
                title = patch.title(node)
                shown = link.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, self.width() // 3)
                link.setText(shown.replace("&", "&&"))
                link.setToolTip(f"Go to {title}")
                bar.setValue(round(1000 * share))
                time.setText(format_time(time_ns))
                share_label.setText(percent(share))

    def _make_row(self, number: int) -> tuple[QPushButton, QProgressBar, QLabel, QLabel]:
        link = QPushButton(objectName="link")
        link.clicked.connect(partial(self.follow, number))
        bar = QProgressBar(objectName="share", maximum=1000, textVisible=False)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return link, bar, QLabel(alignment=right), QLabel(alignment=right, objectName="faint")


def _figures(patch: Patch, report: FrameReport | None) -> list[str]:
    """Return the size of the patch, and what a frame costs."""
    blocks = sum(not patch.is_end(node) for node in patch.nodes)
    lines = [f"{plural(blocks, 'block')}, {plural(len(patch.connections), 'connection')}"]
    if report is not None and report.launches:
        figures = report.statistics
        lines.append(f"{format_time(report.frame_time_ns)} a frame in {plural(figures.kernels, 'kernel')}")
        lines.append(f"{format_bytes(figures.pool_allocated_bytes)} of memory on {figures.device}")
    return lines


def _shares(patch: Patch, report: FrameReport) -> Iterator[tuple[float, int, str]]:
    """Yield share, time in nanoseconds and id of each measured node that holds no others."""
    for node, found in report.nodes.items():
        share = time_share(found, report.statistics)
        if node in patch.nodes and share is not None and found.time_ns is not None and not patch.members(node):
            yield share, found.time_ns, node
