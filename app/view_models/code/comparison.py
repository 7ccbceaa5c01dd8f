"""Two texts side by side: rows of equal, changed, added and removed lines."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

#: Above this many different lines, the lines between are shown as replaced, since comparing takes quadratic time.
_MOST_COMPARED = 2000


@dataclass(frozen=True)
class Row:
    """A line of each text; None where a text has no line here. Equal lines are not changed."""

    left: str | None
    right: str | None
    is_changed: bool = False


def side_by_side(left: str, right: str) -> list[Row]:
    """Return the rows of two texts."""
    a, b = left.splitlines(), right.splitlines()
    is_long = len(a) + len(b) > 2 * _MOST_COMPARED
    codes = _by_ends(a, b) if is_long else difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    rows: list[Row] = []
    for kind, a_start, a_end, b_start, b_end in codes:
        for number in range(max(a_end - a_start, b_end - b_start)):
            before = a[a_start + number] if a_start + number < a_end else None
            after = b[b_start + number] if b_start + number < b_end else None
            rows.append(Row(before, after, kind != "equal"))
    return rows


def _by_ends(a: list[str], b: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """Return the opcodes of texts that are compared only from their beginnings and their ends."""
    most = min(len(a), len(b))
    start = next((n for n in range(most) if a[n] != b[n]), most)
    same = next((n for n in range(most - start) if a[-1 - n] != b[-1 - n]), most - start)
    return [
        ("equal", 0, start, 0, start),
        ("replace", start, len(a) - same, start, len(b) - same),
        ("equal", len(a) - same, len(a), len(b) - same, len(b)),
    ]
