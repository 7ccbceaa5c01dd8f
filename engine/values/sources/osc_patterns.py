"""Address patterns of OSC 1.0: one message for several addresses."""

from collections.abc import Callable, Iterable
from functools import lru_cache

#: The characters that make an address a pattern.
PATTERN = frozenset("*?[]{}")
#: A longer pattern matches nothing.
_LONGEST = 200
#: Takes an address and the places in it that the pattern has come to, and returns those after one more of its parts.
_Step = Callable[[str, set[int]], set[int]]


def is_pattern(address: str) -> bool:
    """Return whether an address may stand for several ones."""
    return not PATTERN.isdisjoint(address)


def matching(pattern: str, addresses: Iterable[str]) -> list[str]:
    """Return the addresses that a pattern matches; none for one that is not valid.

    `?` is any character, `*` any number of them, `[a-f]` one of these, `[!a-f]` any other, and `{fader,knob}` one of
    these words. None of them matches a slash.
    """
    steps = _steps(pattern)
    return [address for address in addresses if _matches(steps, address)] if steps is not None else []


def _matches(steps: Iterable[_Step], address: str) -> bool:
    # Not by a regular expression, which an evil pattern could keep busy for ever.
    places = {0}
    for step in steps:
        places = step(address, places)
        if not places:
            return False
    return len(address) in places


@lru_cache(maxsize=256)
def _steps(pattern: str) -> tuple[_Step, ...] | None:
    if len(pattern) > _LONGEST:
        return None
    steps, at = list[_Step](), 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            steps.append(_any_number)
        elif char == "?":
            steps.append(_one_of(frozenset(), is_other=True))
        elif char in "[{":
            end = pattern.find("]" if char == "[" else "}", at)
            if end < 0:
                return None
            inside, at = pattern[at + 1 : end], end
            steps.append(_class_of(inside) if char == "[" else _words(tuple(inside.split(","))))
        elif char in "]}":
            return None
        else:
            steps.append(_words((char,)))
        at += 1
    return tuple(steps)


def _any_number(address: str, places: set[int]) -> set[int]:
    found = set[int]()
    for place in sorted(places):
        if place not in found:
            end = address.find("/", place)
            found.update(range(place, (end if end >= 0 else len(address)) + 1))
    return found


def _class_of(inside: str) -> _Step:
    is_other = inside.startswith("!")
    inside, chars, at = inside[is_other:], set[str](), 0
    while at < len(inside):
        if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            chars.update(map(chr, range(ord(inside[at]), ord(inside[at + 2]) + 1)))
            at += 3
        else:
            chars.add(inside[at])
            at += 1
    return _one_of(frozenset(chars), is_other=is_other)


def _one_of(chars: frozenset[str], *, is_other: bool) -> _Step:
    def step(address: str, places: set[int]) -> set[int]:
        inside = (place for place in places if place < len(address) and address[place] != "/")
        return {place + 1 for place in inside if (address[place] in chars) is not is_other}

    return step


def _words(words: tuple[str, ...]) -> _Step:
    def step(address: str, places: set[int]) -> set[int]:
        return {place + len(word) for place in places for word in words if address.startswith(word, place)}

    return step
