"""The generated code of an op graph in readable form: its lines, with the op of each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from warploom.engine.ops import OpKernel

#: Lines that only debuggers need: debug information in LLVM IR, and its directives and labels in PTX.
_IS_DEBUG = re.compile(r"!|\s*\.(loc|file)\s|\$L__(tmp|func)\w*:$")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_PLACE = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s")
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


def cuda_listing(text: str, name: str, ptx: str = "") -> Listing:
    """Return PTX, or the SASS made from `ptx`, with the line of the source `name` in place of an op."""
    files = dict(_FILE.findall(ptx or text))
    own = next((number for number, path in files.items() if path == name), "")
    if ptx and len(files) != 1:
        own = ""  # SASS does not say which file a line belongs to
    lines, here = dict[int, str](), ""
    for number, line in enumerate(text.splitlines(), 1):
        if (place := _PLACE.match(line)) is not None:
            here = place[2] if place[1] == own and place[2] != "0" else ""
        elif line.startswith("}") or ".entry" in line:
            here = ""
        elif line.strip() and line.startswith(("\t", " ")):
            lines[number] = here
    return _listing(text, lines)


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
