"""LLVM IR to PTX, by LLVM's NVPTX backend."""

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


@cache
def _machine() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    # tanh.approx came with PTX 7.0. Level 0 takes half as long as the next; who loads PTX optimises it anyway.
    return target.create_target_machine(cpu="sm_75", features="+ptx70", opt=0)


@cache
def data_layout() -> str:
    """Return how LLVM lays out memory for GPUs."""
    return str(_machine().target_data)


def to_ptx(module: ir.Module, text: str) -> str:
    """Return the PTX of a module, whose text is `text`; a kernel that is none of LLVM's is a bug of an op."""
    for function in module.functions:
        if function.name.startswith("llvm.") and not _SAFE.fullmatch(function.name):
            raise AssertionError(f"ops must call intrinsics that are known to be safe, got {function.name}")
    parsed = llvm.parse_assembly(text, llvm.create_context())
    parsed.verify()
    if "alwaysinline" in text:
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(parsed, llvm.create_pass_builder(_machine(), llvm.create_pipeline_tuning_options(speed_level=0)))
    ptx: str = _machine().emit_assembly(parsed)
    return ptx.replace("\t.section\t.debug_macinfo\t{\t}\n", "")
