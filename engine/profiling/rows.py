"""A profile as a hierarchy: composites and regions hold blocks, and blocks hold their kernels, fills and copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from warploom.engine.profiling.profile import Profile, SpanProfile, work_share


class RowKind(StrEnum):
    """The kind of a row."""

    COMPOSITE = "composite"
    REGION = "region"
    BLOCK = "block"
    OPERATION = "operation"  # a kernel, fill or copy; or a region's own work in each turn
    GRAPH = "graph"  # the graph's own work


class ProfileRow(msgspec.Struct, frozen=True):
    """A row of the hierarchy, in which frames of the same graph and level don't differ.

    `key` belongs to this row only. `node` is the id of the block, region or composite, with those of the composites
    around it, "" for the graph's own; `name` is an operation's, else "". Rows in another branch than a region's first
    have its name as `branch`, such as "else". `parent` is the number of the row around this one, -1 at the top, and
    `depth` is the number of rows around it. The times of `spans`, indices into the profile's, add up to those of the
    row.
    """

    key: str
    kind: RowKind
    node: str
    name: str
    branch: str
    parent: int
    depth: int
    spans: tuple[int, ...]


class RowTimes(msgspec.Struct, frozen=True):
    """The times of a row, in nanoseconds, with the meaning that they have in `SpanProfile`.

    `turns` are those of the span that has most. `p99_ns` is that of the sum, where a row has several spans. `share` is
    that of the mean in the work of the same frames, see `work_share`.
    """

    first_ns: int
    last_ns: int
    busy_ns: int
    turns: int
    mean_ns: int
    p99_ns: int
    share: float | None


@dataclass
class _Draft:
    """A row while the spans are gathered; `inside` are the rows below it, by key."""

    key: str
    kind: RowKind
    node: str
    name: str = ""
    branch: str = ""
    spans: list[int] = field(default_factory=list)
    inside: dict[str, _Draft] = field(default_factory=dict)

    def counted(self) -> Iterator[int]:
        """Return the spans whose times add up to the row's; a region's own span includes all spans inside it."""
        yield from self.spans
        if self.kind is RowKind.COMPOSITE:
            for each in self.inside.values():
                yield from each.counted()


def rows(spans: Sequence[SpanProfile]) -> tuple[ProfileRow, ...]:
    """Return the hierarchy of a profile's spans: each row after the one around it, in the order of the graph."""
    regions = {span.node for span in spans if span.is_region}
    homes = _homes(spans)
    top, known = _Draft("", RowKind.GRAPH, ""), dict[str, _Draft]()

    def draft(node: str, region: str = "", branch: str = "") -> _Draft:
        """Return the row of a node, below its region or its composite, whichever is the inner one.

        The region counts for composites, which have no spans.
        """
        region, branch = homes.get(node, (region, branch))
        found = known.get(node)
        if found is None:
            kind = RowKind.REGION if node in regions else RowKind.BLOCK if node else RowKind.GRAPH
            composite, around = node.rpartition("/")[0], top
            if region and (not composite or region.startswith(f"{composite}/")):
                around = draft(region)
            elif composite:
                around = draft(composite, region, branch)
                around.kind = RowKind.COMPOSITE
            found = known[node] = around.inside[node] = _Draft(node, kind, node, branch=branch)
        return found

    for number, span in enumerate(spans):
        is_within = bool(span.node) and span.node == span.region
        found = draft(span.node)
        if not is_within:
            found.spans.append(number)
        if is_within or (span.operation >= 0 and not span.is_region):
            key, branch = f"{span.node}#{number}", span.branch if is_within else ""
            name = span.name or "each turn"
            found.inside[key] = _Draft(key, RowKind.OPERATION, span.node, name, branch, [number])
    return tuple(_listed(top))


def _homes(spans: Sequence[SpanProfile]) -> dict[str, tuple[str, str]]:
    """Return for each node the region that it is inside of, and the branch.

    Some of a node's work may be done before the region around it begins, such as clearing a buffer: the innermost
    region counts.
    """
    around = {span.node: span.region for span in spans if span.is_region and span.node != span.region}

    def depth(region: str) -> int:
        return 1 + depth(around.get(region, "")) if region else 0

    homes: dict[str, tuple[str, str]] = {}
    for span in spans:
        if span.node != span.region or not span.node:
            known = homes.get(span.node)
            if known is None or depth(span.region) > depth(known[0]):
                homes[span.node] = span.region, span.branch
    return homes


def _listed(top: _Draft) -> list[ProfileRow]:
    found: list[ProfileRow] = []

    def add(draft: _Draft, parent: int, depth: int) -> None:
        number = len(found)
        spans = tuple(draft.counted())
        found.append(ProfileRow(draft.key, draft.kind, draft.node, draft.name, draft.branch, parent, depth, spans))
        for inner in draft.inside.values():
            add(inner, number, depth + 1)

    for each in top.inside.values():
        add(each, -1, 0)
    return found


def row_times(found: Sequence[ProfileRow], profile: Profile) -> list[RowTimes]:
    """Return the times of each row of `rows`, from a profile of the same graph and level."""
    spans, sums, work_ns = profile.spans, profile.sums_p99_ns, profile.work_ns
    times = []
    for row in found:
        own = [spans[number] for number in row.spans]
        ran = [span for span in own if span.turns]
        mean_ns = sum(span.mean_ns for span in own)
        times.append(
            RowTimes(
                first_ns=min((span.first_ns for span in ran), default=0),
                last_ns=max((span.last_ns for span in ran), default=0),
                busy_ns=sum(span.busy_ns for span in ran),
                turns=max((span.turns for span in ran), default=0),
                mean_ns=mean_ns,
                p99_ns=own[0].p99_ns if len(own) == 1 else sums.get(row.key, 0),
                share=work_share(mean_ns, work_ns),
            )
        )
    return times
