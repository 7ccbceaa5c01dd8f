"""Finds the op of each line of LLVM IR and PTX.

Each instruction has debug information whose line is the number of its op. LLVM turns it into `.loc` directives, which
a device reports when a kernel fails. The metadata is written as text, since llvmlite's metadata objects would take
longer than the rest of a small kernel.
"""

from __future__ import annotations

import re

import msgspec

#: The metadata numbers of the kernel, of code without an op, and of the first op.
PROGRAM, NOWHERE, FIRST = 5, 6, 7
_HEADER = """
!llvm.dbg.cu = !{{!1}}
!llvm.module.flags = !{{!4}}
!0 = !DIFile(filename: "ops", directory: "")
!1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !0, isOptimized: true, emissionKind: DebugDirectivesOnly)
!2 = !{{null}}
!3 = !DISubroutineType(types: !2)
!4 = !{{i32 2, !"Debug Info Version", i32 3}}
!5 = distinct !DISubprogram(name: "{entry}", file: !0, line: 0, type: !3, unit: !1)
!6 = !DILocation(line: 0, scope: !5)
"""
_LOC = re.compile(r"\s*\.loc\s+1 (\d+) ")
_LOC_LINE = re.compile(r"^\s*\.(?:loc|file)\s.*\n", re.MULTILINE)
_DEBUG = re.compile(r"^  .*!dbg !(\d+)")


class MetadataRef(msgspec.Struct, frozen=True):
    """A piece of metadata, as llvmlite prints it behind an instruction."""

    number: int

    def get_reference(self) -> str:
        """Return the metadata's name in LLVM IR."""
        return f"!{self.number}"


def places_text(entry: str, count: int) -> str:
    """Return the metadata of a kernel with `count` ops, to append to its module's text."""
    lines = (f"!{FIRST + n} = !DILocation(line: {n + 1}, column: 1, scope: !{PROGRAM})\n" for n in range(count))
    return _HEADER.format(entry=entry) + "".join(lines)


def ptx_lines(ptx: str, ops: tuple[str, ...]) -> dict[int, str]:
    """Return the op of each line of PTX, by line from 1. Lines that serve the whole kernel are missing.

    SASS with such `.loc` lines works too.
    """
    lines: dict[int, str] = {}
    at = 0
    for number, line in enumerate(ptx.splitlines(), 1):
        found = _LOC.match(line)
        if found:
            at = int(found[1])
        elif line.startswith("}"):
            at = 0
        elif at and line.startswith("\t"):
            lines[number] = ops[at - 1]
    return lines


def without_lines(ptx: str) -> str:
    """Return PTX without its `.loc` lines."""
    return _LOC_LINE.sub("", ptx)


def llvm_lines(text: str, ops: tuple[str, ...]) -> dict[int, str]:
    """Return the op of each line of LLVM IR, by line from 1."""
    lines: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = _DEBUG.match(line)
        if found and int(found[1]) >= FIRST:
            lines[number] = ops[int(found[1]) - FIRST]
    return lines
