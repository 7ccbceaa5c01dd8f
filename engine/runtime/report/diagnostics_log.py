"""Diagnostics in the log: each when it appears and when it is gone, and not while only its numbers change."""

import logging
import time
from collections import deque
from collections.abc import Sequence

from warploom.engine.diagnostics import Diagnostic
from warploom.engine.protocol.flight_record import RecordedDiagnostics
from warploom.engine.runtime.report.sightings import Identity, identity

_log = logging.getLogger(__name__)
#: Shortest time between logs of a diagnostic that comes and goes; in between it is logged as a detail.
AGAIN_S = 10.0
_CHANGES = 200


def log_diagnostic(diagnostic: Diagnostic, *, is_news: bool = True) -> None:
    """Log a problem; a known problem, or one of an incomplete block, is logged as a detail."""
    is_detail = diagnostic.is_incomplete or not is_news
    level = logging.DEBUG if is_detail else getattr(logging, diagnostic.severity.name)
    _log.log(level, "%s", str(diagnostic).partition(": ")[2])


class DiagnosticsLog:
    """Follows the diagnostics of one engine."""

    def __init__(self) -> None:
        self._told_s: dict[Identity, float] = {}
        #: Recently appeared and resolved diagnostics.
        self.changes: deque[RecordedDiagnostics] = deque(maxlen=_CHANGES)

    def follow(self, before: Sequence[Diagnostic], now: Sequence[Diagnostic]) -> None:
        """Log the diagnostics that have appeared and those that are gone."""
        known, present = ({identity(item): item for item in items} for items in (before, now))
        now_s = time.monotonic()
        self._told_s = {what: told_s for what, told_s in self._told_s.items() if now_s - told_s < AGAIN_S}
        appeared = {what: item for what, item in present.items() if what not in known}
        resolved = {what: item for what, item in known.items() if what not in present}
        for what, item in appeared.items():
            log_diagnostic(item, is_news=what not in self._told_s)
            self._told_s.setdefault(what, now_s)
        for item in resolved.values():
            _log.debug("no longer: %s", item)
        if appeared or resolved:
            changes = tuple(appeared.values()), tuple(resolved.values())
            self.changes.append(RecordedDiagnostics(time.perf_counter_ns(), *changes))

    def add_failure(self, diagnostic: Diagnostic) -> None:
        """Add the engine's failure to the changes; it was logged where it was found."""
        self.changes.append(RecordedDiagnostics(time.perf_counter_ns(), (diagnostic,), ()))
