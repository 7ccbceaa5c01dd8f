"""LLVM IR to PTX, by LLVM's NVPTX backend, and which op each line of either comes from."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

TRIPLE = "nvptx64-nvidia-cuda"
# LLVM ends the process at an intrinsic that its backend can't select. These it can; `tests/ops/test_ptx.py` tries each.
_NUMBERS = r"\.(i32|i64|f32|f64)"
_SAFE = re.compile(
    r"""llvm\.(
    (fma|sqrt|floor|ceil|trunc|roundeven|rint|round|fabs|minnum|maxnum|copysign)\.(f32|f64)
    |(ctpop|bitreverse|bswap|ctlz|cttz|abs|smin|smax|umin|umax|fshl|fshr)\.(i32|i64)
    |fpto[su]i\.sat\.(i32|i64)\.(f32|f64)
    |nvvm\.read\.ptx\.sreg\.((n?tid|n?ctaid)\.[xyz]|laneid)
    |nvvm\.(mulhi\.ui|mulhi\.ull|barrier\.cta\.sync\.aligned\.all|vote\.(all|any)\.sync|vote\.ballot\.sync)
    |nvvm\.shfl\.sync\.(idx|up|down|bfly)\.i32
    |nvvm\.(ex2|lg2|sin|cos|rsqrt|sqrt)\.approx\.f
    )""",
    re.VERBOSE,
)
_LOC = re.compile(r"\s*\.loc\s+1 (\d+) ")
_DEBUG = re.compile(r"!dbg !(\d+)")
_PLACE = re.compile(r"^!(\d+) = !DILocation\(.*line: (\d+)", re.MULTILINE)


@cache
def _machine() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    # At level 1 the backend drops what nothing needs; higher levels take twice as long, and drivers optimise anyway.
    return target.create_target_machine(cpu="sm_75", features="+ptx64", opt=1)


def to_ptx(module: ir.Module, text: str) -> str:
    """Return the PTX of a module, whose text is `text`; a kernel that is none of LLVM's is a bug of an op."""
    for function in module.functions:
        if function.is_declaration and not _SAFE.fullmatch(function.name):
            raise AssertionError(f"ops must call intrinsics that are known to be safe, got {function.name}")
    parsed = llvm.parse_assembly(text, llvm.create_context())
    parsed.verify()
    ptx: str = _machine().emit_assembly(parsed)
    return ptx.replace("\t.section\t.debug_macinfo\t{\t}\n", "")


def ptx_lines(ptx: str, ops: tuple[str, ...]) -> dict[int, str]:
    """Return the op that each line of PTX comes from, by line from 1; lines that serve the whole kernel are missing."""
    lines: dict[int, str] = {}
    op = ""
    for number, line in enumerate(ptx.splitlines(), 1):
        found = _LOC.match(line)
        if found:
            at = int(found[1])
            op = ops[at - 1] if 0 < at <= len(ops) else ""
        elif line.startswith("}"):
            op = ""
        elif op and line.startswith("\t"):
            lines[number] = op
    return lines


def llvm_lines(text: str, ops: tuple[str, ...]) -> dict[int, str]:
    """Return the op that each line of LLVM IR comes from, by line from 1."""
    places = {number: int(line) for number, line in _PLACE.findall(text)}
    lines: dict[int, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = _DEBUG.search(line)
        at = places.get(found[1], 0) if found else 0
        if 0 < at <= len(ops):
            lines[number] = ops[at - 1]
    return lines
