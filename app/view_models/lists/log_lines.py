"""The lines of the log: records, with repeated ones counted."""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass

from warploom.engine.logs import Logged

#: The levels to choose from; each includes those above it.
LEVELS = {
    logging.ERROR: "Errors",
    logging.WARNING: "Warnings",
    logging.INFO: "Info",
    logging.DEBUG: "Everything",
}


@dataclass(frozen=True)
class Line:
    """A record, and how many times it was repeated."""

    record: Logged
    count: int = 1

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """The time of day, the level, the last two names of the logging module, and the message in one line."""
        record = self.record
        where = ".".join(record.logger.split(".")[-2:])
        return clock(record.time_s), level_name(record.level), where, self.headline

    @property
    def headline(self) -> str:
        """The record's first line, with the exception it is about."""
        text = self.record.text.partition("\n")[0]
        if self.record.trace:
            text += f": {self.record.trace.rstrip().rpartition(chr(10))[2]}"
        return f"{text} (×{self.count})" if self.count > 1 else text

    @property
    def details(self) -> str:
        """All details, with the text first."""
        record = self.record
        where = f"{level_name(record.level)} at {clock(record.time_s)} from {record.logger}"
        runs = f"In the thread {record.thread} of process {record.process}"
        return "\n".join(filter(None, (record.text, where, runs, record.trace.rstrip())))

    def fits(self, level: int, text: str) -> bool:
        """True for a line of this level or above that contains a text in lower case."""
        return self.record.level >= level and text in self.details.casefold()

    @property
    def copied(self) -> str:
        """The text that is copied: the line with the traceback below it."""
        record = self.record
        line = f"{clock(record.time_s)} {level_name(record.level).upper():8} {record.logger}: {record.text}"
        times = f" (×{self.count})" if self.count > 1 else ""
        return "\n".join(filter(None, (line + times, record.trace.rstrip())))


def merge(last: Line | None, records: Iterable[Logged]) -> list[Line]:
    """Return the lines of records, after the last line if there is one; repeated records are counted."""
    made = [last] if last is not None else []
    for record in records:
        if made and _said(made[-1].record) == _said(record):
            made[-1] = Line(made[-1].record, made[-1].count + 1)
        else:
            made.append(Line(record))
    return made


def dropped(count: int) -> Logged:
    """Return the record that stands for records that were lost because they were not taken in time."""
    text = f"{count:,} older records are not listed; the log file has those of level Info and above"
    return Logged(time.time(), logging.WARNING, __name__, text)


def clock(time_s: float) -> str:
    """Return the time of day, to a millisecond."""
    return f"{time.strftime('%H:%M:%S', time.localtime(time_s))}.{int(1000 * (time_s % 1)):03d}"


def level_name(level: int) -> str:
    """Return a level's name, such as "Warning"."""
    return logging.getLevelName(level).capitalize()


def _said(record: Logged) -> tuple[object, ...]:
    return record.level, record.logger, record.text, record.trace
