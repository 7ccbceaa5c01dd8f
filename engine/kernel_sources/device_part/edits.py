"""Edits of a text that keep its lines: parts replaced, and declarations taken out."""

import re
from collections.abc import Iterable

from warploom.engine.kernel_sources.device_part.tokens import closing_token
from warploom.engine.kernel_sources.device_part.units import Unit

#: The start and the end of a part of a text, and what replaces it.
Edit = tuple[int, int, str]


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with other parts in some places. An edit inside another one is left out; insertions come first."""
    made: list[str] = []
    place = 0
    for start, end, new in sorted(edits, key=lambda edit: (edit[0], edit[1] > edit[0], -edit[1])):
        if start >= place:
            made += [text[place:start], new]
            place = end
    return "".join([*made, text[place:]])


def removal(text: str, unit: Unit) -> list[Edit]:
    """Return the edits that take a declaration out; what the preprocessor reads stays.

    A member of a class keeps its declaration, so that the class stays as it is.
    """
    if unit.owner is not None and unit.body is not None:
        return [*_blanks(text, unit, unit.body), (unit.end, unit.end, ";")]
    return _blanks(text, unit, 0)


def _blanks(text: str, unit: Unit, first: int) -> list[Edit]:
    made, begun = list[Edit](), None
    for token in unit.tokens[first:]:
        if token.kind == "directive":
            if begun is not None:
                made.append((begun, token.start, blank(text[begun : token.start])))
            begun = None
        elif begun is None:
            begun = token.start
    return made if begun is None else [*made, (begun, unit.end, blank(text[begun : unit.end]))]


def blank(text: str) -> str:
    """Return a text of spaces and of the same line ends."""
    return re.sub(r"[^\n]", " ", text)


def without(unit: Unit, *words: str) -> list[Edit]:
    """Return the edits that take words, with parentheses after them, out of a function's head and parameters."""
    assert unit.list_at is not None
    end = closing_token(unit.tokens, unit.list_at)
    made = list[Edit]()
    for place, token in enumerate(unit.tokens[:end]):
        if token.text in words:
            last = token
            if unit.tokens[place + 1].text == "(" and token.text != "__global__":
                last = unit.tokens[closing_token(unit.tokens, place + 1) - 1]
            made.append((token.start, last.end, ""))
    return made
