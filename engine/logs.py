"""Where log records go, and records as plain data that a pipe can carry.

Every module logs by Python's `logging` under its own name. Importing the engine configures nothing. A program attaches
its outputs here, and records are made from the lowest level that one of them wants: a record that no one reads costs a
check of the level.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable

import msgspec

#: The logger above all others of Warploom.
ROOT = "warploom"
#: How many records are kept for a reader who is late.
LIMIT = 2000
#: How many characters of a record's text, or of its traceback, are kept: a reader is shown them at once.
MOST_CHARACTERS = 20_000
_FORMATTER = logging.Formatter()


class Logged(msgspec.Struct, frozen=True):
    """One log record: when (seconds since 1970), how severe (a level of `logging`), from where, and its text.

    `trace` is the traceback of the exception that the record is about, if any.
    """

    time_s: float
    level: int
    logger: str
    text: str
    trace: str = ""
    thread: str = ""
    process: int = 0


class LogBuffer(logging.Handler):
    """Keeps the newest records until a reader takes them, and counts those that it had to drop.

    Any thread may log, and any thread may take.
    """

    def __init__(self, level: int = logging.INFO, limit: int = LIMIT) -> None:
        super().__init__(level)
        self._records: deque[Logged] = deque(maxlen=limit)
        self._dropped = 0

    @property
    def waiting(self) -> int:
        """How many records no one has taken yet."""
        return len(self._records)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record; `logging` calls this, holding the handler's lock."""
        self._dropped += len(self._records) == self._records.maxlen
        self._records.append(logged(record))

    def take(self) -> tuple[tuple[Logged, ...], int]:
        """Return the records since the last call, oldest first, and how many older ones were dropped before them."""
        if not self._records:  # the usual case for a reader
            return (), 0
        self.acquire()
        try:
            taken, dropped = tuple(self._records), self._dropped
            self._records.clear()
            self._dropped = 0
        finally:
            self.release()
        return taken, dropped


def logged(record: logging.LogRecord) -> Logged:
    """Return a record as plain data, with long texts cut."""
    trace = record.exc_text or ""
    if record.exc_info and not trace:
        trace = _FORMATTER.formatException(record.exc_info)
    try:
        text = record.getMessage()
    except (TypeError, ValueError) as problem:  # the text doesn't fit its arguments
        text = f"{record.msg} ({problem})"
    thread, process = record.threadName or "", record.process or 0
    text, trace = text[:MOST_CHARACTERS], trace[-MOST_CHARACTERS:]  # a traceback ends with the error
    return Logged(record.created, record.levelno, record.name, text, trace, thread, process)


def log_again(record: Logged) -> None:
    """Log a record of another process here, with its own time, thread and process."""
    logger = logging.getLogger(record.logger)
    if logger.isEnabledFor(record.level):
        fields = {
            "name": record.logger,
            "levelno": record.level,
            "levelname": logging.getLevelName(record.level),
            "msg": "%s",
            "args": (record.text,),
            "created": record.time_s,
            "msecs": 1000 * (record.time_s % 1),
            "exc_text": record.trace or None,
            "threadName": record.thread,
            "process": record.process,
        }
        logger.handle(logging.makeLogRecord(fields))


# Outputs, and the level from which records are made.

_lock = threading.Lock()
_outputs: list[logging.Handler] = []
_followers: list[Callable[[int], None]] = []


def attach(output: logging.Handler) -> None:
    """Send all records of Warploom to an output, from the output's level on; safe to call again."""
    with _lock:
        if output not in _outputs:
            _outputs.append(output)
    logging.getLogger(ROOT).addHandler(output)
    _set_levels()


def detach(output: logging.Handler) -> None:
    """Send no more records to an output; safe to call again."""
    with _lock:
        if output in _outputs:
            _outputs.remove(output)
    logging.getLogger(ROOT).removeHandler(output)
    _set_levels()


def set_level(output: logging.Handler, level: int) -> None:
    """Send an output the records from another level on."""
    output.setLevel(level)
    _set_levels()


def wanted_level() -> int:
    """Return the level from which records of the engine are made."""
    return logging.getLogger(ROOT).getEffectiveLevel()


def follow_level(follower: Callable[[int], None]) -> Callable[[], None]:
    """Call a function with the wanted level now and whenever it changes; return a function that ends the calls."""
    with _lock:
        _followers.append(follower)
    follower(wanted_level())

    def end() -> None:
        with _lock:
            if follower in _followers:
                _followers.remove(follower)

    return end


def _set_levels() -> None:
    before = wanted_level()
    with _lock:
        # Without an output the program that has imported Warploom decides, by its root logger.
        level = min((output.level for output in _outputs), default=logging.NOTSET)
        logging.getLogger(ROOT).setLevel(level)
        followers = tuple(_followers)
    if (after := wanted_level()) != before:
        for follower in followers:
            follower(after)
