"""Times of a frame with parallel work: its wall time, the sum of all work, and the longest chain."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from warploom.engine.profiling.profile import SpanProfile


class CriticalPath(msgspec.Struct, frozen=True):
    """The use of a frame's time. All times are nanoseconds.

    `wall_ns` passes from the first begin to the last end. `busy_ns` is the sum of all spans outside of regions; where
    some ran side by side it is more. `length_ns` is the sum along the critical path, the longest chain of spans that
    wait for each other: no device can do the frame in less while each span takes its time.

    `spans` are those on the path, as indices into the profile's, in the order in which they run. A region is followed
    by the critical spans in its bodies. `slack_ns` has for each span of the profile how much longer it may take until
    the path becomes longer; 0 on the path.
    """

    wall_ns: int
    busy_ns: int
    length_ns: int
    spans: tuple[int, ...]
    slack_ns: tuple[int, ...]


class Chains(NamedTuple):
    """The longest chains of a graph: through each of its members, and of the whole, whose members are `longest`."""

    through: list[int]
    length: int
    longest: list[int]


def longest_chains(times: Sequence[int], after: Sequence[Sequence[int]]) -> Chains:
    """Return the longest chains of members with these `times`, which wait for earlier members in `after`."""
    head, tail = list(times), list(times)  # the longest chains that end and begin with each member
    for number, earlier in enumerate(after):
        head[number] += max((head[other] for other in earlier), default=0)
    for number in range(len(times) - 1, -1, -1):
        for other in after[number]:
            tail[other] = max(tail[other], times[other] + tail[number])
    length = max(head, default=0)
    longest: list[int] = []
    if length > 0:
        at: int | None = head.index(length)
        while at is not None:
            longest.append(at)
            at = max(after[at], key=head.__getitem__, default=None)
    through = [begun + ended - own for begun, ended, own in zip(head, tail, times, strict=True)]
    return Chains(through, length, longest[::-1])


def critical_path(spans: Sequence[SpanProfile], *, lately: bool = False) -> CriticalPath:
    """Return the critical path of a profile's spans, from their times in the last measured frame, or from mean times.

    In a loop the sums of all turns are compared. Spans that did not run are on no path.
    """
    times = [span.mean_ns if lately else span.busy_ns for span in spans]
    bodies = _Bodies(spans, times)
    top = [spans[number] for number in bodies.members.get(_TOP, ())]
    ran = [span for span in top if span.turns]
    return CriticalPath(
        wall_ns=max((span.last_ns for span in ran), default=0) - min((span.first_ns for span in ran), default=0),
        busy_ns=sum(times[number] for number in bodies.members.get(_TOP, ())),
        length_ns=bodies.chains[_TOP].length if top else 0,
        spans=tuple(bodies.along(_TOP)),
        slack_ns=tuple(bodies.slack()),
    )


#: A body: the region that it belongs to, and its branch of the region.
_Body = tuple[str, str]
_TOP: _Body = ("", "")


class _Bodies:
    """The spans of each body, and the longest chains among them."""

    def __init__(self, spans: Sequence[SpanProfile], times: Sequence[int]) -> None:
        self._spans, self._times = spans, times
        self.members: dict[_Body, list[int]] = {}
        #: The bodies of each region that have spans.
        self._inside: dict[str, list[_Body]] = {}
        #: The span that is all of a region, by the region's node.
        self._whole: dict[str, int] = {}
        for number, span in enumerate(spans):
            self.members.setdefault((span.region, span.branch), []).append(number)
            if span.is_region and span.node != span.region:
                self._whole[span.node] = number
        for body in sorted(self.members):
            self._inside.setdefault(body[0], []).append(body)
        self.chains = {body: self._chains(members) for body, members in self.members.items()}

    def along(self, body: _Body) -> list[int]:
        """Return the critical spans of a body in order, and behind each region those of its bodies."""
        found: list[int] = []
        for at in self.chains[body].longest if body in self.chains else ():
            number = self.members[body][at]
            node = self._spans[number].node
            if self._times[number]:
                found.append(number)
            if self._whole.get(node) == number:
                found += [inner for inside in self._inside.get(node, ()) for inner in self.along(inside)]
        return found

    def slack(self) -> list[int]:
        """Return the slack of each span: its region's, plus the difference of its chain from the body's longest."""
        slack = [0] * len(self._spans)
        pending, waiting = [_TOP], dict.fromkeys(self.members)
        while pending or waiting:
            body = pending.pop() if pending else next(iter(waiting))  # a region without a span
            if body not in waiting:
                continue
            del waiting[body]
            around = self._whole.get(body[0])
            outer, chains = 0 if around is None else slack[around], self.chains[body]
            for number, through in zip(self.members[body], chains.through, strict=True):
                slack[number] = outer + chains.length - through
                node = self._spans[number].node
                if self._whole.get(node) == number:
                    pending += self._inside.get(node, ())
        return slack

    def _chains(self, members: Sequence[int]) -> Chains:
        place = {number: at for at, number in enumerate(members)}
        after = [[place[other] for other in self._spans[number].after if other in place] for number in members]
        return longest_chains([self._times[number] for number in members], after)
