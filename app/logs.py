"""Where a program of Warploom sends its log records: standard error, by `--verbose`, and the log file."""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from platformdirs import user_state_path

from warploom.engine.diagnostics import printable
from warploom.engine.logs import attach, detach, set_level

_log = logging.getLogger(__name__)
#: Loggers whose messages commands print themselves, as diagnostics.
_PRINTED = ("warploom.app.cli.outcome", "warploom.engine.runtime.report")

#: The size at which a new log file is started; one older file is kept, so the log takes at most twice as much.
_SIZE_LIMIT = 1_000_000
LOG_NAME = "warploom.log"


class _StandardError(logging.Handler):
    """Prints warnings and errors in one line each; with a verbose level, also the time, logger and traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.is_verbose = False
        self._formatter = RecordFormatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        try:
            if record.name.startswith(_PRINTED) and not (self.is_verbose and record.exc_info):
                return
            if self.is_verbose:
                click.echo(printable(self._formatter.format(record)), err=True)
            else:
                click.echo(printable(f"{record.levelname.lower()}: {record.getMessage()}"), err=True)
        except Exception:  # noqa: BLE001 - a failing log must not fail its caller
            self.handleError(record)


#: Standard error and the log file, while `log_outputs` is entered.
_outputs: tuple[_StandardError, LogFile] | None = None


@contextmanager
def log_outputs() -> Iterator[None]:
    """Print warnings and errors, and write the log file. Errors that end a thread or a finaliser are logged too.

    If native code crashes, the stacks of all threads are printed.
    """
    global _outputs  # a program has one standard error and one log file
    if sys.__stderr__ is not None and not faulthandler.is_enabled():
        faulthandler.enable(sys.__stderr__)
    outputs = _outputs = _StandardError(), LogFile(user_state_path("warploom"))
    hooks = threading.excepthook, sys.unraisablehook
    threading.excepthook, sys.unraisablehook = _on_thread, _on_unraisable
    for output in outputs:
        attach(output)
    try:
        yield
    finally:
        threading.excepthook, sys.unraisablehook = hooks
        for output in outputs:
            detach(output)
            output.close()
        _outputs = None


def choose_levels(verbosity: int, *, prints: bool = True, writes: bool = True) -> None:
    """Log from INFO on for a `verbosity` of 1, and everything from 2 on.

    Without `prints`, standard error gets nothing unless `verbosity` is set. Without `writes`, the file gets only the
    error that ends the program.
    """
    if _outputs is not None:
        screen, file = _outputs
        asked = logging.DEBUG if verbosity > 1 else logging.INFO
        screen.is_verbose = verbosity > 0
        usual = logging.WARNING if prints else logging.CRITICAL
        set_level(screen, asked if verbosity else usual)
        set_level(file, asked if writes else logging.CRITICAL)


def details_place() -> str:
    """Return the place of an error's details, once it is logged."""
    if _outputs is None:
        return "the log"
    _, file = _outputs
    return f"no file, since {file.problem}" if file.problem else str(file.path)


def _on_thread(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_type is not SystemExit and ended.exc_value is not None:
        name = ended.thread.name if ended.thread is not None else "unknown"
        _log.error("thread %s was ended by an unexpected error", name, exc_info=ended.exc_value)


def _on_unraisable(ended: sys.UnraisableHookArgs) -> None:
    _log.error("%s: %r", ended.err_msg or "error that nothing can handle, in", ended.object, exc_info=ended.exc_value)


class RecordFormatter(logging.Formatter):
    """Formats a record as one line, with further lines indented, so that only records start at the margin."""

    def __init__(self) -> None:
        super().__init__(
            "%(asctime)s.%(msecs)03d %(levelname)-8s %(process)d %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S"
        )

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        return super().format(record).replace("\n", "\n    ")


class LogFile(logging.Handler):
    """Appends records to `warploom.log` in a folder; a full one becomes `warploom.1.log`.

    Processes don't wait for each other. Each record is appended by a single write to the file that has the name at that
    moment. Only one process at a time renames the file, and the others continue to write. The folder is created with
    the first record. When the file can't be written, `problem` has the reason, and records are lost.
    """

    def __init__(self, folder: Path, size_limit: int = _SIZE_LIMIT) -> None:
        super().__init__(logging.INFO)
        self.setFormatter(RecordFormatter())
        self.path = folder / LOG_NAME
        self.problem = ""
        self._size_limit = size_limit
        self._last, self._repeats = "", 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record.

        If it repeats the last one, only count it; the count is written before the next different record.
        """
        try:
            said = f"{record.name} {record.levelno} {record.getMessage()}"
            if said == self._last:
                self._repeats += 1
            else:
                self._write_repeats()
                self._last = said
                self._write(f"{self.format(record)}\n")
        except Exception:  # noqa: BLE001 - a failing log must not fail its caller
            self.handleError(record)

    def close(self) -> None:
        """Write the pending records."""
        self._write_repeats()
        super().close()

    def _write_repeats(self) -> None:
        if self._repeats:
            self._write(f"    the same {self._repeats} times more\n")
            self._repeats = 0

    def _write(self, text: str) -> None:
        from warploom.engine.platforms.files import appending_flags  # a program without records needs none

        try:
            try:
                size = self.path.stat().st_size
            except FileNotFoundError:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                size = 0
            if size > self._size_limit:
                self._begin_another()
            file = os.open(self.path, appending_flags(), 0o600)
            try:
                os.write(file, text.encode(errors="backslashreplace"))
            finally:
                os.close(file)
        except OSError as problem:
            self.problem = f"{self.path.parent} can't be written: {problem.strerror}"

    def _begin_another(self) -> None:
        from warploom.engine.platforms.file_locks import try_lock

        with self.path.with_suffix(".lock").open("ab") as lock:
            if not try_lock(lock.fileno()):
                return  # another process is renaming the file
            if self.path.stat().st_size > self._size_limit:  # otherwise another process has renamed it
                self.path.replace(self.path.with_suffix(".1.log"))
