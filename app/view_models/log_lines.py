"""The lines of the log: records, with repeated ones counted, and the lines that pass a filter."""

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass

from engine.logs import Logged

#: The most lines, which is more than arrive at once, and the number of old lines dropped at once, since the view is
#: laid out again each time.
LIMIT, DROPPED_AT_ONCE = 5000, 500
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
        told = self.record
        where = ".".join(told.logger.split(".")[-2:])
        return clock(told.time_s), level_name(told.level), where, self.headline

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
        told = self.record
        where = f"{level_name(told.level)} at {clock(told.time_s)} from {told.logger}"
        runs = f"In the thread {told.thread} of process {told.process}"
        return "\n".join(filter(None, (told.text, where, runs, told.trace.rstrip())))

    @property
    def copied(self) -> str:
        """The text that is copied: the line with the traceback below it."""
        told = self.record
        said = f"{clock(told.time_s)} {level_name(told.level).upper():8} {told.logger}: {told.text}"
        times = f" (×{self.count})" if self.count > 1 else ""
        return "\n".join(filter(None, (said + times, told.trace.rstrip())))


class LogLines:
    """The newest lines, oldest first, and the `shown` ones among them: those of a level that contain a text.

    A view adds lines in three steps: `excess` returns how many of the first shown lines will be dropped, `made` returns
    the new lines, and `fitting` those to add.
    """

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.shown: list[Line] = []
        self.level = logging.INFO
        self.text = ""

    def fits(self, line: Line) -> bool:
        """True when a line passes the filter."""
        return line.record.level >= self.level and self.text in line.details.casefold()

    def choose(self, level: int, text: str) -> None:
        """Show the lines of this level and above that contain a text, ignoring case."""
        self.level, self.text = level, text.casefold()
        self.shown = [line for line in self.lines if self.fits(line)]

    def merge(self, records: Iterable[Logged]) -> tuple[Line | None, list[Line]]:
        """Return the last line with a new count, if records repeat it, and the new lines; nothing is added yet."""
        last = self.lines[-1] if self.lines else None
        made = [last] if last is not None else []
        for record in records:
            if made and _said(made[-1].record) == _said(record):
                made[-1] = Line(made[-1].record, made[-1].count + 1)
            else:
                made.append(Line(record))
        if last is None:
            return None, made
        return (made[0] if made[0] is not last else None), made[1:]

    def replace_last(self, line: Line) -> None:
        """Replace the last line by a line with a new count."""
        if self.shown and self.shown[-1] is self.lines[-1]:
            self.shown[-1] = line
        self.lines[-1] = line

    def excess(self, new: int) -> tuple[int, int]:
        """Return how many lines must be dropped before `new` ones are added, and how many of these are shown."""
        over = len(self.lines) + new - LIMIT
        gone = min(len(self.lines), max(over, DROPPED_AT_ONCE)) if over > 0 else 0
        return gone, sum(map(self.fits, self.lines[:gone]))

    def drop(self, gone: int, shown: int) -> None:
        """Drop the oldest lines."""
        del self.lines[:gone]
        del self.shown[:shown]

    def clear(self) -> None:
        """Forget all lines."""
        self.lines, self.shown = [], []


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
