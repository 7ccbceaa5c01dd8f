"""The generated code of an op graph in readable form: its lines, with the op of each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.ops import OpKernel

#: Lines that only debuggers need: debug information in LLVM IR, and its directives and labels in PTX.
_IS_DEBUG = re.compile(r"!|\s*\.(loc|file)\s|\$L__(tmp|func)\w*:$")
_DEBUG_MARK = re.compile(r"\s*,?\s*!dbg !\d+")


@dataclass(frozen=True)
class Listing:
    """Lines of code with the id of each line's op; "" for lines that serve the whole kernel."""

    lines: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()

    def lines_of(self, ops: set[str]) -> list[int]:
        """Return the numbers, from 0, of the lines that belong to any of these ops."""
        return [number for number, op in enumerate(self.ops) if op in ops]


def llvm_listing(kernel: OpKernel) -> Listing:
    """Return a kernel's LLVM IR."""
    return _listing(kernel.llvm_ir, kernel.llvm_lines())


def ptx_listing(kernel: OpKernel) -> Listing:
    """Return a kernel's PTX."""
    return _listing(kernel.ptx, kernel.ptx_lines())


def sass_listing(kernel: OpKernel, sass: str) -> Listing:
    """Return a kernel's SASS, from `graph_sass`."""
    return _listing(sass, kernel.lines_of(sass))


def _listing(text: str, ops: Mapping[int, str]) -> Listing:
    """Return a text without debug information; `ops` are by line from 1."""
    lines: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        shown = _DEBUG_MARK.sub("", line.expandtabs(8))
        shown = shown.replace(" " * 8, " " * 4, 1) if line.startswith("\t") else shown
        if not _IS_DEBUG.match(line) and (shown.strip() or (lines and lines[-1][0])):
            lines.append((shown.rstrip(), ops.get(number, "")))
    while lines and not lines[-1][0]:
        lines.pop()
    return Listing(tuple(line for line, _ in lines), tuple(op for _, op in lines))
