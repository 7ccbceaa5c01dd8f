"""`LogFile`: a log on disk of limited size, which several processes may write at the same time."""

import fcntl
import logging
import os
from pathlib import Path

#: The size at which a new file is started; the log keeps one older file, so it takes at most twice as much.
SIZE_LIMIT = 1_000_000
NAME = "warploom.log"


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

    def __init__(self, folder: Path, level: int = logging.INFO, size_limit: int = SIZE_LIMIT) -> None:
        super().__init__(level)
        self.setFormatter(RecordFormatter())
        self.path = folder / NAME
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
        except Exception:  # noqa: BLE001 - whoever logs must not fail by it
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
        try:
            try:
                size = self.path.stat().st_size
            except FileNotFoundError:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                size = 0
            if size > self._size_limit:
                self._begin_another()
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, text.encode(errors="backslashreplace"))
            finally:
                os.close(file)
        except OSError as problem:
            self.problem = f"{self.path.parent} can't be written: {problem.strerror}"

    def _begin_another(self) -> None:
        with self.path.with_suffix(".lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return  # another process is renaming it
            if self.path.stat().st_size > self._size_limit:  # otherwise another process has renamed it
                self.path.replace(self.path.with_suffix(".1.log"))
