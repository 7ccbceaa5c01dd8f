"""LLVM IR to PTX, by LLVM's NVPTX backend."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from warploom.engine.ops.functions.table import called, definition

TRIPLE = "nvptx64-nvidia-cuda"
#: The prefix of the labels of loops that ops emit.
LOOP = "for.header"
_CALL_NUMBER = re.compile(r" // callseq \d+(?:, \d+)?")


def _safe() -> frozenset[str]:
    floats = ["fma", "sqrt", "floor", "ceil", "trunc", "roundeven", "fabs", "minnum", "maxnum", "copysign"]
    integers = ["ctpop", "bitreverse", "ctlz", "cttz", "smin", "smax", "umin", "umax", "fshl", "fshr"]
    names = [f"{name}.{kind}" for name in floats for kind in ("f32", "f64")]
    names += [f"{name}.{kind}" for name in integers for kind in ("i32", "i64")]
    names += [f"fpto{sign}i.sat.{to}.{kind}" for sign in "su" for to in ("i32", "i64") for kind in ("f32", "f64")]
    names += [f"nvvm.read.ptx.sreg.{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    names += [f"nvvm.shfl.sync.{mode}.i32" for mode in ("idx", "up", "down", "bfly")]
    names += [f"nvvm.vote.{kind}.sync" for kind in ("any", "all", "ballot")]
    names += ["nvvm.read.ptx.sreg.laneid", "nvvm.barrier.cta.sync.aligned.all"]
    return frozenset(f"llvm.{name}" for name in names)


#: The intrinsics that ops may call. LLVM ends the process if its backend can't select one; tests try each of them.
SAFE = _safe()


@cache
def _machine() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    # tanh.approx came with PTX 7.0. Optimisation level 0 takes half as long as level 1; drivers optimise PTX anyway.
    return target.create_target_machine(cpu="sm_75", features="+ptx70", opt=0)


@cache
def data_layout() -> str:
    """Return LLVM's memory layout for GPUs."""
    return str(_machine().target_data)


def check_calls(module: ir.Module) -> None:
    """Check that a module calls only intrinsics in SAFE. Another intrinsic is a bug of an op."""
    _check_safe(function.name for function in module.functions)


def to_ptx(text: str) -> str:
    """Return a module's PTX without that of the functions of `engine.ops.functions` that it calls."""
    return compiled(text).replace("\n.extern .func", "\n.func")


def functions_ptx(text: str) -> str:
    """Return the PTX of the functions that a module calls, to append to the module's PTX.

    Each function is compiled once.
    """
    return "".join(map(_function, called(text)))


def inlined(text: str) -> str:
    """Return PTX without calls for a module with this text. It takes longer to compile, and runs faster.

    Both versions compute the same bits. Loops of ops are unrolled, completely if the number of turns is a constant.
    """
    intrinsics: dict[str, str] = {}
    unrolls = LOOP in text
    for name in called(text):
        found = definition(name)
        intrinsics |= found.intrinsics
        text = re.sub(rf'^declare .*@"{name}".*', _within(found.text), text, count=1, flags=re.MULTILINE)
    missing = (line for name, line in intrinsics.items() if f'declare {line.split()[1]} @"{name}"' not in text)
    return compiled("\n".join((text, *missing)), inlines=True, unrolls=unrolls)


def _within(text: str) -> str:
    """Return a definition marked to be inlined."""
    return text.replace("define ", "define internal ", 1).replace("\n{", " alwaysinline\n{", 1)


@cache
def _function(name: str) -> str:
    """Return the PTX of a function that kernels call."""
    found = definition(name)
    _check_safe(found.intrinsics)
    head = (f'target triple = "{TRIPLE}"', f'target datalayout = "{data_layout()}"')
    ptx = compiled("\n".join((*head, *found.intrinsics.values(), found.text)))
    text = ptx[ptx.index(".visible .func") :].removeprefix(".visible ")
    return text.replace("$L__BB0_", f"$L__{name}_").strip() + "\n\n"


def _check_safe(names: Iterable[str]) -> None:
    for name in names:
        if name.startswith("llvm.") and name not in SAFE:
            raise AssertionError(f"ops must call intrinsics that are known to be safe, got {name}")


def compiled(text: str, *, inlines: bool = False, unrolls: bool = False) -> str:
    """Return the PTX of LLVM IR that was checked for unsafe intrinsics; the passes run here add none."""
    parsed = llvm.parse_assembly(text, llvm.create_context())
    parsed.verify()
    if inlines:
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        if unrolls:
            passes.add_loop_rotate_pass()
            passes.add_loop_unroll_pass()
            passes.add_simplify_cfg_pass()
        options = llvm.create_pipeline_tuning_options(speed_level=2 if unrolls else 0)
        passes.run(parsed, llvm.create_pass_builder(_machine(), options))
    ptx: str = _machine().emit_assembly(parsed)
    # LLVM numbers calls throughout the process. The numbers are removed, so that a module always gives the same PTX.
    return _CALL_NUMBER.sub("", ptx.replace("\t.section\t.debug_macinfo\t{\t}\n", ""))
