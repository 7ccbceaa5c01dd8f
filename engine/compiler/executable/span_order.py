"""Which spans of an instrumented graph wait for which others."""

from collections.abc import Iterable, Sequence

from warploom.engine.compiler.executable.clocks import Span
from warploom.engine.compiler.plan import Plan


def spans_before(plan: Plan, spans: Sequence[Span]) -> list[tuple[int, ...]]:
    """Return for each span those that end before it begins, in every launch and in every turn of a loop.

    They are positions in `spans`, and only direct predecessors are included. If two blocks alternate, neither of them
    comes before the other: each span includes time of the other one.
    """
    number_of = {index: number for number, span in enumerate(spans) for index in span.operations}
    ends = [max(span.operations) for span in spans]
    before: dict[int, set[int]] = {}  # by span
    known: dict[int, set[int]] = {}  # by operation: one without a span, or one that ends before its span

    def ended(earlier: Iterable[int], begin: int) -> set[int]:
        """Return the spans that end before the span that waits for `earlier` and begins with operation `begin`."""
        found = set()
        for index in earlier:
            number = number_of.get(index, -1)
            if number >= 0 and ends[number] < begin:
                found.add(number)
            else:
                found |= {other for other in known.get(index, ()) if ends[other] < begin}
        return found

    for index, operation in enumerate(plan.operations):
        number = number_of.get(index, -1)
        if number >= 0 and number not in before:  # the span's first operation
            members = spans[number].operations
            waits = {at for member in members for at in plan.operations[member].after if at < index}
            before[number] = ended(waits, index)
        if number < 0 or index < ends[number]:
            known[index] = ended(operation.after, index) | before.get(number, set())
    return [tuple(sorted(before[number])) for number in range(len(spans))]
