"""CUDA C++ whose kernels begin with a wait, for programmatic edges between them."""

import re
from collections.abc import Iterator

from engine.ptx.text import code_of

#: What kernels begin with.
WAIT = ' asm volatile("griddepcontrol.wait;" ::: "memory");'
_OLDEST = 90
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\.|[^\\\n])*", re.MULTILINE | re.DOTALL)
_KERNEL = re.compile(r"\b__global__\b")


def waiting_cuda(text: str, architecture: str) -> str | None:
    """Return CUDA C++ whose kernels first wait until earlier launches are complete.

    Lines keep their numbers. None when the architecture ("sm_90") has no such wait, or no kernel is found: one that
    a macro makes, or another file has, is not.
    """
    found = re.match(r"sm_(\d+)", architecture)
    if found is None or int(found[1]) < _OLDEST:
        return None
    places = list(_bodies(_DIRECTIVE.sub(lambda line: re.sub(r"[^\n]", " ", line[0]), code_of(text))))
    for place in reversed(places):
        text = text[:place] + WAIT + text[place:]
    return text if places else None


def _bodies(code: str) -> Iterator[int]:
    """Give where the bodies of kernels begin: after the first brace that is in no parentheses."""
    for head in _KERNEL.finditer(code):
        depth = 0
        for place in range(head.end(), len(code)):
            character = code[place]
            depth += (character == "(") - (character == ")")
            if not depth and character in "{;":  # a semicolon ends a declaration
                if character == "{":
                    yield place + 1
                break
