"""Kernels of CUDA C++ that first wait until the kernels before them are complete."""

import re
from collections.abc import Iterator

from warploom.engine.ptx.text import code_of

#: The first statement of a kernel that waits for the kernels before it.
WAIT = ' asm volatile("griddepcontrol.wait;" ::: "memory");'
_OLDEST = 90
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\.|[^\\\n])*", re.MULTILINE | re.DOTALL)
_KERNEL = re.compile(r"\b__global__\b")


def waiting_cuda(text: str, architecture: str) -> str | None:
    """Return CUDA C++ whose kernels first wait until earlier launches are complete.

    Lines keep their numbers. Return None when the architecture ("sm_90") has no such wait, or no kernel is found. A
    kernel from a macro or from another file is not found.
    """
    found = re.match(r"sm_(\d+)", architecture)
    if found is None or int(found[1]) < _OLDEST:
        return None
    places = list(_bodies(_DIRECTIVE.sub(lambda line: re.sub(r"[^\n]", " ", line[0]), code_of(text))))
    for place in reversed(places):
        text = text[:place] + WAIT + text[place:]
    return text if places else None


def _bodies(code: str) -> Iterator[int]:
    """Yield the start of each kernel's body: after the first brace outside parentheses."""
    place = 0
    for head in _KERNEL.finditer(code):
        if head.start() < place:
            continue
        depth = 0
        for place in range(head.end(), len(code)):
            character = code[place]
            depth += (character == "(") - (character == ")")
            if not depth and character in "{;":  # a semicolon ends a declaration
                if character == "{":
                    yield place + 1
                break
