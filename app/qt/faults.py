"""Faults of the editor itself: an unhandled exception becomes a line in the log, not the end of the program."""

import logging
import sys
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from platformdirs import user_state_path

from engine.diagnostics import WarploomError

_logger = logging.getLogger("warploom.faults")
_FILE = "errors.log"


def install_fault_handler(show: Callable[[str], None], folder: Path) -> Callable[[], None]:
    """Show every unhandled exception, and write its details to a file in `folder`.

    Returns a function that removes the handler.
    """
    file = _open_log(folder)
    previous = sys.excepthook

    def handle(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, Exception):
            previous(kind, problem, trace)
            return
        if not isinstance(problem, WarploomError):
            _logger.error("unexpected error", exc_info=(kind, problem, trace))
        show(fault_text(problem, file.baseFilename))

    def remove() -> None:
        sys.excepthook = previous
        _close_log(file)

    sys.excepthook = handle
    return remove


def record_fault(problem: BaseException) -> str:
    """Write an unexpected exception's details to a file in the person's state; return the line that a person reads."""
    folder = user_state_path("warploom")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).touch()
    except OSError as reason:
        return fault_text(problem, f"no file, since {folder} can't be written: {reason.strerror}")
    file = _open_log(folder)
    try:
        _logger.error("unexpected error", exc_info=problem)
    finally:
        _close_log(file)
    return fault_text(problem, file.baseFilename)


def _open_log(folder: Path) -> RotatingFileHandler:
    folder.mkdir(parents=True, exist_ok=True)
    file = RotatingFileHandler(folder / _FILE, maxBytes=1_000_000, backupCount=1, encoding="utf-8", delay=True)
    file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    _logger.addHandler(file)
    _logger.propagate = False
    return file


def _close_log(file: RotatingFileHandler) -> None:
    _logger.removeHandler(file)
    file.close()


def fault_text(problem: BaseException, details: str) -> str:
    """Return the line that a person reads: an error's own text, or what happened and where the details are."""
    if isinstance(problem, WarploomError):
        return str(problem)
    return f"Unexpected {type(problem).__name__}: {problem}. Your patch is intact; details are in {details}"
