"""Finds block types by typed text: parts of words, initials, words of other tools, and words with a typo."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain

from warploom.engine.blocktypes.block import Block

#: Words that other tools and languages use for blocks here, with our words.
SYNONYMS = {
    "abs": "expression",
    "accumulate": "sum",
    "average": "sum",
    "bandpass": "sound filter",
    "bezier": "curves",
    "blend": "mix",
    "cast": "convert",
    "composite": "mix",
    "crossfade": "mix",
    "curve": "ramp",
    "custom": "cuda",
    "display": "viewer",
    "distortion": "displace",
    "dodge": "mix",
    "drag": "forces",
    "feedback": "delay",
    "gravity": "forces",
    "invert": "invert",
    "lag": "smooth",
    "lerp": "mix",
    "lookup": "ramp",
    "logic": "expression",
    "lut": "ramp",
    "material": "render mesh",
    "monitor": "viewer",
    "oscillator": "lfo",
    "over": "mix",
    "perlin": "noise",
    "phong": "render mesh",
    "print": "viewer",
    "reroute": "copy",
    "saturate": "tone",
    "sine": "lfo",
    "slideshow": "load images",
    "simplex": "noise",
    "spawn": "emitter",
    "sprite": "render",
    "texture": "image",
    "threshold": "compare",
    "ticker": "counter",
    "tonemap": "tone",
    "tracking": "optical flow",
    "trigger": "every",
    "vibrance": "tone",
    "view": "viewer",
    "volume": "scale offset",
    "wave": "lfo",
}


def search(
    blocks: Iterable[type[Block]], text: str, uses: Callable[[type[Block]], int] = lambda _: 0
) -> list[type[Block]]:
    """Return the block types that match every word of `text`, best first; only if none does, those that nearly do.

    Of those that match equally well, one with just this title comes first, then those with most `uses`, then those
    that can be set up without Python, then sources, then those whose title begins with the text.
    """
    words, known = text.lower().split(), list(blocks)
    if not words:
        return known

    def usual(block: type[Block]) -> tuple[bool | int, ...]:
        title = block.title.lower()
        needs_python = any(spec.type in ("array", "external") for spec in block.parameters.values())
        is_source = bool(block.outputs()) and all(port.optional for port in block.inputs())
        return title.split() != words, -uses(block), needs_python, not is_source, not title.startswith(words[0])

    for rank_of in (_rank, _near_rank):
        ranks = [(block, [rank_of(block, word) for word in words]) for block in known]
        order = usual if rank_of is _rank else lambda _: ()
        found = [(sum(filter(None, rank)), order(block), block) for block, rank in ranks if None not in rank]
        if found:
            return [block for *_, block in sorted(found, key=lambda item: item[:2])]
    return []


def _rank(block: type[Block], word: str) -> int | None:
    """Return how well a word matches: 0 best, None not at all."""
    title = block.title.lower()
    if any(part.startswith(word) for part in title.split()) or (len(word) > 1 and word == _initials(title)):
        return 0
    if word in title:
        return 1
    names = " ".join((block.id, *block.tags, block.category)).lower()
    meant = SYNONYMS.get(word)
    if meant is not None and meant in title:
        return 1
    if word in names or (meant is not None and meant in names):
        return 2
    return 4 if word in (block.__doc__ or "").lower() else None


def _near_rank(block: type[Block], word: str) -> int | None:
    """Return how near a word is to one of the block's names, allowing for left-out letters and for typos."""
    exact = _rank(block, word)
    if exact is not None:
        return exact
    title = block.title.lower()
    names = [*title.split(), *" ".join((*block.tags, block.category)).lower().split()]
    allowed = 0 if len(word) < 4 else 1 if len(word) < 7 else 2
    targets = chain(names, (other for other, meant in SYNONYMS.items() if meant in title))
    # A word may also be typed only in part.
    nearest = min((min(typos(word, name), typos(word, name[: len(word)])) for name in targets), default=len(word))
    if nearest <= allowed:
        return 4 + nearest
    return 8 if len(word) > 2 and any(_skips(word, name) for name in (title, *title.split())) else None


def _initials(title: str) -> str:
    return "".join(part[0] for part in title.split())


def _skips(word: str, name: str) -> bool:
    """Return whether a word's letters occur in a name in the same order, with the first letter at the name's start."""
    rest = iter(name)
    return name[:1] == word[0] and all(letter in rest for letter in word)


@lru_cache(maxsize=65536)
def typos(one: str, other: str) -> int:
    """Return how many letters must be inserted, left out, replaced or swapped with the next to turn one into the other.

    This is the optimal string alignment distance (Boytsov, "Indexing methods for approximate dictionary searching").
    """
    above: list[int] = []
    before = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, wanted in enumerate(other, 1):
            cost = min(row[j - 1] + 1, before[j] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        above, before = before, row
    return before[-1]
