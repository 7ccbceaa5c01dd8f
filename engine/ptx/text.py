"""PTX and CUDA C++ as text: finds code, closing brackets, and the kernels of PTX."""

import re
from collections.abc import Iterator
from functools import lru_cache

from warploom.engine.diagnostics import KernelError

#: The most characters of a kernel's PTX.
MOST_PTX = 8 << 20
# A text may come from anywhere, so no search below takes longer than in proportion to its length: none begins again
# inside what another one went through.
#: Text that is not code: comments, characters and strings. A comment without an end goes on to that of the text, and
#: a string to that of the line.
_NO_CODE = re.compile(r"""//[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^'\\\n]|\\.)'|"(?:[^"\\\n]|\\.)*+"?""", re.DOTALL)
#: What may be the beginning of a kernel in CUDA C++: up to the end of its parameters, unless these have braces.
_GLOBAL = re.compile(r"\b__global__\b(?:(?!\b__global__\b)[^;{}])*")
_CALLED = re.compile(r"\b(\w+)\s*\(")
_MARKS = re.compile(r"[(<\[{)>\]},]")
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)(?:(?!\.entry\b)[^{;]|\.pragma\s*;)*\{")


def check_size(ptx: str, name: str) -> None:
    """Raise KernelError if PTX is so large that reading it would take more than seconds."""
    if len(ptx) > MOST_PTX:
        raise KernelError(f"PTX of {name} must have at most {MOST_PTX >> 20} MB, got {len(ptx) / (1 << 20):.1f} MB")


@lru_cache(8)  # the kernels of a text are looked for one after the other
def code_of(text: str) -> str:
    """Return a text with spaces in place of its comments and strings."""
    return _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def closing(code: str, place: int, opening: str, closer: str) -> int:
    """Return the place after the bracket that closes the one opened before `place`; the end if it is never closed."""
    depth = 1
    for bracket in re.compile(f"[{re.escape(opening + closer)}]").finditer(code, place):
        depth += 1 if bracket[0] == opening else -1
        if not depth:
            return bracket.end()
    return len(code)


def entry_bodies(code: str) -> Iterator[tuple[str, int]]:
    """Yield each entry point of PTX, which `code_of` has returned, with the place after its opening brace."""
    for found in _ENTRY.finditer(code):
        yield found[1], found.end()


def cuda_parameters(code: str, entry: str) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Yield each declaration of a kernel in CUDA C++, which `code_of` has returned.

    Each is given as the place after the parameter list, and the start and end of each parameter. This searches and
    doesn't parse, so a caller must check the count.
    """
    end = 0
    for head in _GLOBAL.finditer(code):
        names = _CALLED.finditer(code, head.start(), head.end())
        name = next((found for found in names if found[1] == entry), None)
        if name is None or head.start() < end:
            continue
        start, end = name.end(), closing(code, name.end(), "(", ")")
        spans, depth = list[tuple[int, int]](), 0
        for mark in _MARKS.finditer(code, start, end - 1):
            depth += (mark[0] in "(<[{") - (mark[0] in ")>]}")
            if mark[0] == "," and not depth:
                spans.append((start, mark.start()))
                start = mark.end()
        yield end, [*spans, (start, end - 1)]
