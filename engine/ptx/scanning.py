"""Signatures alone, without the tree: most instructions are passed over, which takes a quarter of the time."""

from __future__ import annotations

import re

from engine.ptx.parser import parse
from engine.ptx.signature import KernelSignature

#: A line that is one whole instruction on registers and numbers, or a place in the source. Instructions that name
#: something stay: it may be shared memory, or a function that uses some.
_PASSED_OVER = re.compile(
    r"^[ \t]*(?:(?:@!?%[\w$]+[ \t]+)?[a-z][\w.:]*[ \t]+(?:%[\w$.]+|\d\w*|[ \t,\[\]+\-|!{}()])+;"
    r"|\.loc[ \t][^\n]*)[ \t]*$",
    re.MULTILINE,
)


def read_signatures(text: str) -> dict[str, KernelSignature]:
    """Return what `parse(text).signatures` holds for PTX that a compiler wrote; PtxSyntaxError as with `parse`.

    Mistakes in instructions may go unnoticed: whoever loads the text finds them.
    """
    return parse(_PASSED_OVER.sub("", text)).signatures
