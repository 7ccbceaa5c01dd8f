"""Diagnostics in the log: each when it comes up and when it is gone, and not while only its numbers change."""

import logging
import re
from collections.abc import Sequence

from engine.diagnostics import Diagnostic

_log = logging.getLogger(__name__)
_NUMBERS = re.compile(r"[0-9][0-9.,]*")


def log_diagnostic(diagnostic: Diagnostic) -> None:
    """Log something that went wrong; what a block only waits for is no more than a detail."""
    level = logging.DEBUG if diagnostic.is_incomplete else getattr(logging, diagnostic.severity.name)
    _log.log(level, "%s", str(diagnostic).partition(": ")[2])


def log_changes(before: Sequence[Diagnostic], now: Sequence[Diagnostic]) -> None:
    """Log the diagnostics that have come up and those that are gone."""
    known, present = ({_told(item): item for item in items} for items in (before, now))
    for told, item in present.items():
        if told not in known:
            log_diagnostic(item)
    for told, item in known.items():
        if told not in present:
            _log.debug("no longer: %s", item)


def _told(diagnostic: Diagnostic) -> tuple[object, ...]:
    return diagnostic.severity, diagnostic.node, diagnostic.port, _NUMBERS.sub("", diagnostic.message)
