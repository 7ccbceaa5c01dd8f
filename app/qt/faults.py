"""Faults of the editor itself: an unhandled exception becomes a line in the log, not the end of the program."""

import logging
import sys
from collections.abc import Callable
from types import TracebackType

from engine.diagnostics import WarploomError

_log = logging.getLogger(__name__)


def install_fault_handler(show: Callable[[str], None], details: Callable[[], str]) -> Callable[[], None]:
    """Show every unhandled exception, such as one in a slot, and log its traceback.

    `details` is the place of the traceback. Returns a function that removes the handler.
    """
    previous = sys.excepthook

    def handle(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, Exception):
            previous(kind, problem, trace)
            return
        text = fault_text(problem, details())
        _log.error("%s", text, exc_info=None if isinstance(problem, WarploomError) else (kind, problem, trace))
        show(text)

    def remove() -> None:
        sys.excepthook = previous

    sys.excepthook = handle
    return remove


def fault_text(problem: BaseException, details: str) -> str:
    """Return the line that a person reads: an error's own text, or what happened and where the details are."""
    if isinstance(problem, WarploomError):
        return str(problem)
    return f"Unexpected {type(problem).__name__}: {problem}. Your patch is intact; details are in {details}"
