"""CUDA C++ as tokens with their places; comments are left out, and a preprocessor's line is one token."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import msgspec

Kind = Literal["word", "number", "text", "mark", "directive"]
_TOKEN = re.compile(
    r"""(?P<directive>^[ \t]*\#(?:/\*.*?\*/|//[^\n]*|\\\n|[^\n])*)
    |(?P<space>\n|[^\S\n]+|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<text>(?:u8|[uUL])?R"(?P<mark_of_raw>[^()\\\s]{0,16})\(.*?\)(?P=mark_of_raw)"
        |(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)+')
    |(?P<word>[A-Za-z_$]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
    |(?P<mark><<<|::|->|.)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


class Token(msgspec.Struct, frozen=True):
    """A token and its place in the text."""

    kind: Kind
    text: str
    start: int
    end: int


@lru_cache(64)
def tokens_of(text: str) -> Sequence[Token]:
    """Return the tokens of a text. What `#if 0` leaves out has none, since it may be any text."""
    found: list[Token] = []
    off = 0  # the depth of conditionals inside an `#if 0`
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "space" or kind is None:
            continue
        if kind == "directive":
            word = directive(match[0])
            if off:
                off += (word in _OPENING) - (word == "endif")
                if off > 1 or (off == 1 and word not in ("else", "elif")):
                    continue
                off = 0
            elif re.match(r"\s*#\s*if\s+0\s*(?://.*|/\*.*)?$", match[0]):
                off = 1
        elif off:
            continue
        found.append(Token(kind, match[0], match.start(), match.end()))  # type: ignore[arg-type]  # a Kind
    return found


_OPENING = ("if", "ifdef", "ifndef")


def directive(text: str) -> str:
    """Return the word of a preprocessor's line, such as "ifdef"."""
    found = re.match(r"\s*#\s*(\w*)", text)
    return found[1] if found else ""


def nesting(word: str) -> int:
    """Return 1 for a directive that opens a conditional, -1 for its end, and 0 for others."""
    return (word in _OPENING) - (word == "endif")


def closing_token(tokens: Sequence[Token], place: int) -> int:
    """Return the index after the bracket that closes the one at `place`; the count of tokens if it is never closed."""
    opening = tokens[place].text
    closer = {"(": ")", "[": "]", "{": "}", "<": ">"}[opening]
    depth = 0
    while place < len(tokens):
        text = tokens[place].text
        if opening == "<" and text in "({[":
            place = closing_token(tokens, place)
            continue
        depth += (text == opening) - (text == closer)
        place += 1
        if not depth:
            break
    return place


def parts(tokens: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at the commas outside brackets, with `<` as a bracket; directives are left out."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind == "directive":
            continue
        depth += (token.text in ("(", "[", "{", "<")) - (token.text in (")", "]", "}", ">"))
        if token.text == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return [each for each in found if each]


def joined(tokens: Sequence[Token]) -> str:
    """Return tokens as a line of text."""
    line = " ".join(token.text for token in tokens)
    return re.sub(r" ?(::|<) ?", r"\1", line).replace(" >", ">").replace(" ,", ",")


class Lines:
    """The lines of a text, from 1, by place."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def line(self, place: int) -> int:
        """Return the line of a place."""
        return bisect_right(self._starts, place)

    def span(self, line: int) -> tuple[int, int]:
        """Return the places where a line and the next one begin."""
        line = min(max(line, 1), len(self._starts))
        end = self._starts[line] if line < len(self._starts) else 1 << 62
        return self._starts[line - 1], end
