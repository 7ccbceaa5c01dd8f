"""Reads the comments of a CUDA C++ file about a kernel and its parameters.

The comment of a number may begin with its range, default and unit; that of a pointer with [in], [out] or [inout], or
with `inout` or `in place` alone. These directions add what the code can't show: a kernel that draws into a picture only
writes to it::

    // Sharpen an image, and draw a frame into another.
    extern "C" __global__ void sharpen(
        const float4* image,  // what is sharpened
        float4* out,
        float4* picture,      // [inout] what the frame is drawn into
        float amount,         // [0, 4] = 1, how much
        float radius,         // [0, 32] = 2 px, how far away the blurred copy looks
        float3 tint)          // [0, 1] = (1, 0.9, 0.8), the colour of what is drawn
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

_TOKEN = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\n|[(),<>]|[^\S\n]+|[^\s(),<>/]+|/", re.DOTALL)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\[\s*({_NUMBER})?\s*,\s*({_NUMBER})?\s*\]\s*")
_DIRECTION = re.compile(r"\[\s*(in\s*,?\s*out|in place|in|out)\s*\]\s*|(inout|in place)[^\S\n]*(?:$|[,:;.]\s*)")
_SEVERAL = rf"\(\s*{_NUMBER}(?:\s*,\s*{_NUMBER})*\s*\)"
_DEFAULT = re.compile(rf"=\s*({_NUMBER}|true|false|{_SEVERAL})(?:[^\S\n]+([^\s,.:;]+))?\s*")


_DIRECTIONS: dict[str, Literal["in", "out", "inout"]] = {
    "in": "in", "out": "out", "inout": "inout", "inplace": "inout",
}  # fmt: skip


@dataclass(frozen=True)
class ParameterComment:
    """The contents of one parameter's comment; None and "" for missing parts."""

    minimum: float | None = None
    maximum: float | None = None
    default: float | tuple[float, ...] | None = None
    unit: str = ""
    doc: str = ""
    direction: Literal["in", "out", "inout"] | None = None


@dataclass(frozen=True)
class KernelComments:
    """The comment above a kernel, and those of its parameters in their order."""

    doc: str
    parameters: tuple[ParameterComment, ...]


def kernel_comments(source: str, entry: str) -> KernelComments:
    """Return the contents of the comments around the definition of `entry`; empty when it is not found."""
    name = rf"\b{re.escape(entry)}\s*\("
    found = re.search(rf"__global__(?:(?!__global__)[^;{{}}()])*?{name}", source)
    begin = source.find("__global__") if found is None else found.start()
    if found is None and begin >= 0:
        found = re.compile(name).search(source, begin)
    if found is None:
        return KernelComments("", ())
    line = source.rfind("\n", 0, begin) + 1
    return KernelComments(_doc_above(source[:line]), tuple(map(parse_comment, _texts(source, found.end()))))


def parse_comment(text: str) -> ParameterComment:
    """Return the contents of a parameter's comment."""
    text = " ".join(text.split())
    low = high = None
    default: float | tuple[float, ...] | None = None
    unit, direction = "", None
    if found := _DIRECTION.match(text):
        direction, text = _DIRECTIONS[re.sub(r"[\s,]", "", found[1] or found[2])], text[found.end() :]
    if found := _RANGE.match(text):
        low, high = (_number(bound) if bound else None for bound in found.groups())
        text = text[found.end() :]
    if found := _DEFAULT.match(text):
        default = _default(found[1])
        unit, text = found[2] or "", text[found.end() :]
    text = text.lstrip(",.:; ")
    return ParameterComment(low, high, default, unit, text[:1].upper() + text[1:], direction)


def _default(text: str) -> float | tuple[float, ...] | None:
    if text.startswith("("):
        return tuple(_number(part) for part in text.strip("() ").split(","))
    return {"true": 1.0, "false": 0.0}.get(text) if text.isalpha() else _number(text)


def _number(text: str) -> float:
    try:
        return int(text)  # exact for any number of digits
    except ValueError:
        return float(text)


def _doc_above(before: str) -> str:
    """Return the comment that ends right before a definition, as one paragraph."""
    lines = before.splitlines()
    if lines and lines[-1].rstrip().endswith("*/"):
        text = "\n".join(lines)
        inner = text[text.rfind("/*") + 2 : text.rfind("*/")]
        return " ".join(line.strip().lstrip("*").strip() for line in inner.splitlines()).strip()
    above = takewhile(lambda line: line.startswith("//"), (line.lstrip() for line in reversed(lines)))
    return " ".join(reversed([line.lstrip("/").strip() for line in above])).strip()


def _texts(source: str, start: int) -> list[str]:
    """Return the comments of each parameter in a list that begins at `start`."""
    texts = [""]
    for token in _list_tokens(source, start):
        if token == ",":
            texts.append("")
        elif token.startswith(("//", "/*")):
            texts[-1] += " " + token.strip("/*").strip()
    return texts


def _list_tokens(source: str, start: int) -> Iterator[str]:
    """Yield the tokens of a parameter list; a comment after a comma is moved before it."""
    depth, angle, comma = 0, 0, False
    for found in _TOKEN.finditer(source, start):
        token = found[0]
        if comma and not token.startswith(("//", "/*")) and (token == "\n" or not token.isspace()):
            yield ","
            comma = False
        if token == ")" and depth == 0:
            # A comment after the list, on the same line, belongs to the last parameter.
            behind = re.compile(r"[^\S\n]*\{?[^\S\n]*(//[^\n]*|/\*.*?\*/)").match(source, found.end())
            if behind is not None:
                yield behind[1]
            return
        depth += {"(": 1, ")": -1}.get(token, 0)
        angle += {"<": 1, ">": -1}.get(token, 0)
        if token == "," and depth == angle == 0:
            comma = True
        else:
            yield token
