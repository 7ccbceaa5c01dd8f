"""Problems as rows: diagnostics with the times at which they were seen, sorted and filtered."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import msgspec

from warploom.engine.diagnostics import Diagnostic, PatchError, Severity, Sighting, Source
from warploom.engine.figures import plural
from warploom.engine.patch.document import Patch
from warploom.engine.patch.inner_patch import InnerPatch, inner_kind, open_inner


class Rank(IntEnum):
    """The importance of a problem; an incomplete block matters least."""

    ERROR = 0
    WARNING = 1
    INCOMPLETE = 2


class ProblemColumn(IntEnum):
    """The columns in which a problem's texts are shown."""

    PROBLEM = 0
    BLOCK = 1
    SOURCE = 2
    FILE = 3
    REMEDY = 4
    COUNT = 5
    LAST_SEEN = 6


@dataclass(frozen=True)
class Problem:
    """A diagnostic, and when it was seen, as far as that is known."""

    diagnostic: Diagnostic
    sighting: Sighting | None = None

    @property
    def rank(self) -> Rank:
        """The importance of the problem."""
        if self.diagnostic.is_incomplete:
            return Rank.INCOMPLETE
        return Rank.ERROR if self.diagnostic.severity is Severity.ERROR else Rank.WARNING

    @property
    def is_fading(self) -> bool:
        """True when frames no longer have the problem."""
        return self.sighting is not None and self.sighting.is_fading

    @property
    def is_repeated(self) -> bool:
        """True when the problem was seen more than once."""
        return self.sighting is not None and self.sighting.count > 1

    @property
    def details(self) -> list[str]:
        """The rest of a compiler's message, without the quoted code."""
        return self._lines[1:]

    @property
    def _lines(self) -> list[str]:
        """The lines of the message, without a line that only announces others; the tooltip has that line."""
        first, *rest = [line for line in self.diagnostic.message.splitlines() if not line.startswith(" ")] or [""]
        return rest if rest and first.endswith(":") else [first, *rest]

    def texts(self, patch: Patch) -> tuple[str, ...]:
        """Return the texts of the row, by `ProblemColumn`."""
        found, seen = self.diagnostic, self.sighting
        place = place_title(patch, found.node or "")
        if found.port:
            place += f", {found.port}"
        line = f":{found.line}" if found.line else ""
        file = f"{Path(found.file).name}{line}" if found.file else ""
        count = f"{seen.count:,}" if seen is not None else ""
        last = "" if seen is None else _clock(seen.last_s) if seen.is_fading else "now"
        return self._lines[0], place, found.source.capitalize(), file, found.remedy, count, last

    @property
    def history(self) -> str:
        """When the problem was seen, as a sentence; "" if unknown."""
        seen = self.sighting
        if seen is None:
            return ""
        since = f"First seen at {_clock(seen.first_s)}"
        if seen.count > 1:
            since += f", found {seen.count:,} times, last at {_clock(seen.last_s)}"
        return f"{since}. No longer found." if seen.is_fading else f"{since}."


@dataclass(frozen=True)
class ProblemFilter:
    """A filter for problems: their ranks, and one source or any."""

    ranks: frozenset[Rank] = frozenset(Rank)
    source: Source | None = None

    def fits(self, problem: Problem) -> bool:
        """True when a problem passes the filter."""
        return problem.rank in self.ranks and self.source in (None, problem.diagnostic.source)


@dataclass(frozen=True)
class ProblemOrder:
    """The order of problems: by a column or, with None, by importance."""

    column: ProblemColumn | None = None
    descending: bool = False

    def clicked(self, column: ProblemColumn) -> "ProblemOrder":
        """Return the order after a click on a column's title: ascending, then descending, then by importance."""
        if column is not self.column:
            return ProblemOrder(column)
        return ProblemOrder() if self.descending else ProblemOrder(column, descending=True)

    def sort(self, problems: Iterable[Problem], patch: Patch) -> list[Problem]:
        """Return problems in this order; equal ones are sorted by importance."""
        ranked = sorted(problems, key=lambda problem: problem.rank)
        match self.column:
            case None:
                return ranked
            case ProblemColumn.COUNT:
                return sorted(ranked, key=_count, reverse=self.descending)
            case ProblemColumn.LAST_SEEN:
                return sorted(ranked, key=_last_seen, reverse=self.descending)
            case column:
                return sorted(ranked, key=lambda each: each.texts(patch)[column].casefold(), reverse=self.descending)


def listed(patch: Patch, diagnostics: Sequence[Diagnostic], sightings: Sequence[Sighting] = ()) -> list[Problem]:
    """Return problems for diagnostics of a patch, with `sightings` if known.

    Problems of inner patches are at their nodes.
    """
    seen: Sequence[Sighting | None] = sightings or [None] * len(diagnostics)
    return [
        Problem(item, sighting)
        for diagnostic, sighting in zip(diagnostics, seen, strict=True)
        for item in with_op_problems(patch, [diagnostic])
    ]


def rank_text(rank: Rank, count: int) -> str:
    """Return a filter button's text, such as "2 errors"."""
    return f"{count:,} incomplete" if rank is Rank.INCOMPLETE else plural(count, rank.name.lower())


def _count(problem: Problem) -> int:
    return problem.sighting.count if problem.sighting is not None else 0


def _last_seen(problem: Problem) -> tuple[bool, float]:
    """Return a sort key by which current problems come after fading ones."""
    seen = problem.sighting
    return (not seen.is_fading, seen.last_s) if seen is not None else (False, 0.0)


def _clock(time_s: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(time_s))


def with_op_problems(patch: Patch, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics of a patch with the errors of inner patches at their nodes, as "block/node"."""
    found: list[Diagnostic] = []
    for diagnostic in diagnostics:
        found += _inside(patch, diagnostic) or [diagnostic]
    return found


def _inside(patch: Patch, diagnostic: Diagnostic) -> list[Diagnostic]:
    """Return the errors in a block's inner patch that a diagnostic is about; empty if it is about something else."""
    node = diagnostic.node
    graph = _graph(patch, node) if node is not None and diagnostic.port is None else None
    errors = [item for item in graph.problems if item.severity is Severity.ERROR] if graph is not None else []
    if any(item.message not in diagnostic.message for item in errors):
        return []
    places = [f"{node}/{item.node}" if item.node else node for item in errors]
    return [msgspec.structs.replace(item, node=place) for item, place in zip(errors, places, strict=True)]


def place_title(patch: Patch, place: str) -> str:
    """Return the title in lists of a block, or of a node in its patch as "block/node".

    The titles of groups around it come first, and that of the block of an inner patch.
    """
    node, _, op = place.partition("/")
    if node not in patch.nodes:
        return place
    titles = [patch.title(around) for around in (*patch.groups_around(node), node)]
    graph = _graph(patch, node) if op else None
    if graph is not None and op in graph.nodes:
        titles.append(graph.title(op))
    return " › ".join(titles)


def _graph(patch: Patch, node: str) -> InnerPatch | None:
    if inner_kind(patch, node) is None:
        return None
    try:
        return open_inner(patch, node)
    except PatchError:
        return None
