"""Faults of the editor itself: an unhandled exception is logged and doesn't end the program."""

import logging
import sys
from collections.abc import Callable
from types import TracebackType

from warploom.engine.diagnostics import WarploomError

_log = logging.getLogger(__name__)


def install_fault_handler(show: Callable[[str], None], details: Callable[[], str]) -> Callable[[], None]:
    """Show every unhandled exception, such as one in a slot, and log its traceback.

    `details` returns the place of the traceback. Return a function that removes the handler.
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
    """Return the line for the person: an error's own text, or the fault and the place of its details."""
    if isinstance(problem, WarploomError):
        return str(problem)
    return f"Unexpected {type(problem).__name__}: {problem}. Your patch is intact; details are in {details}"
