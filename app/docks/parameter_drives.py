"""The inspector's rows and what drives their parameters: shown, followed, and edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.canvas import driving
from app.canvas.live_values import LiveValue
from app.canvas.offers import source_title
from app.docks.drive_menu import fill_drive_menu
from app.docks.parameter_row import ParameterRow
from app.paced import Paced
from app.parameter_text import value_text
from engine.diagnostics import PatchError
from engine.patch.changes import PortRef
from engine.patch.document import Patch
from engine.protocol.messages import FrameReport

_INTERVAL_MS = 100


class ParameterDrives(QObject):
    """Follows the rows of the nodes that the inspector shows at a time."""

    refused = Signal(str)  # why a parameter is not driven
    followed = Signal(str)  # the person wants to see this node, which drives a parameter

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._patch: Patch | None = None
        self._nodes: Sequence[str] = ()
        self._rows: Mapping[str, ParameterRow] = {}
        self._values: Mapping[str, float] = {}
        self._pace = Paced(self._show_values, _INTERVAL_MS, self)

    def show_rows(self, patch: Patch | None, nodes: Sequence[str], rows: Mapping[str, ParameterRow]) -> None:
        """Follow these rows, for parameters of these nodes."""
        self._patch, self._nodes, self._rows = patch, nodes, rows
        for name, row in rows.items():
            row.menu.aboutToShow.connect(partial(self._fill, row, name))
            row.driven.followed.connect(partial(self._follow, name))
            self.refresh(name)

    def show_report(self, report: FrameReport) -> None:
        """Show the values of a report, a few times a second."""
        self._values = report.values
        self._pace.ask()

    def refresh(self, name: str) -> None:
        """Show what drives a parameter."""
        assert self._patch is not None
        patch, row = self._patch, self._rows[name]
        sources = [patch.source_of(target) for target in self._targets(name)]
        known = {source for source in sources if source is not None}
        if not known:
            row.show_free()
            return
        source = next(iter(known))
        if len(known) > 1 or None in sources:
            row.show_driven("various", "The selected blocks are driven by different values", None)
            return
        stored = value_text(patch.value(self._nodes[0], name))
        tooltip = f"Driven by {source}: click to go there.\nDisconnected, it is {stored} again."
        live = LiveValue(f"{self._nodes[0]}.{name}", row.editor.spec.type)
        row.show_driven(source_title(patch, source), tooltip, live)
        row.driven.show_values(self._values)

    def refresh_all(self) -> None:
        """Show anew what drives all parameters."""
        for name, row in self._rows.items():
            if row.is_driven:
                self.refresh(name)

    def _show_values(self) -> None:
        for row in self._rows.values():
            if row.is_driven:
                row.driven.show_values(self._values)

    def _targets(self, name: str) -> list[PortRef]:
        return [PortRef(node, name) for node in self._nodes]

    def _fill(self, row: ParameterRow, name: str) -> None:
        assert self._patch is not None
        patch, targets = self._patch, self._targets(name)
        fill_drive_menu(
            row.menu,
            patch,
            targets,
            with_new=lambda block_type: self._do(lambda: driving.drive_with_new(patch, targets, block_type)),
            with_source=lambda source: self._do(lambda: driving.drive(patch, targets, source)),
            release=lambda: self._do(lambda: driving.release(patch, targets)),
            follow=lambda: self._follow(name),
        )

    def _follow(self, name: str) -> None:
        assert self._patch is not None
        source = next(filter(None, map(self._patch.source_of, self._targets(name))), None)
        if source is not None:
            self.followed.emit(source.node)

    def _do(self, edit: Callable[[], object]) -> None:
        try:
            edit()
        except PatchError as problem:
            self.refused.emit(str(problem))
