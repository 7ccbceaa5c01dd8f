"""LLVM's NVPTX backend compiles every intrinsic that ops may call; others are refused before they reach it."""

import subprocess
import sys

import numpy as np
import pytest
from llvmlite import ir

from warploom.engine.device.device import Device
from warploom.engine.diagnostics import KernelFault, Severity
from warploom.engine.ops import OPS, OpGraph, OpGraphBuilder, check_op_graph, compile_graph
from warploom.engine.ops.analysis import analyse
from warploom.engine.ops.graph import OpPort
from warploom.engine.ops.lowering.places import without_lines
from warploom.engine.ops.lowering.ptx import SAFE, check_calls, data_layout
from warploom.engine.ops.table import CATEGORIES, OpType
from warploom.engine.ops.types import ValueType

_FLOAT, _WORD, _BIT = "float", "i32", "i1"
#: Result and operands of intrinsics whose names don't contain them.
_SIGNATURES = {
    "nvvm.read": (_WORD, []),
    "nvvm.mulhi.ui": (_WORD, [_WORD] * 2),
    "nvvm.mulhi.ull": ("i64", ["i64"] * 2),
    "nvvm.barrier": ("void", [_WORD]),
    "nvvm.vote.ballot": (_WORD, [_WORD, _BIT]),
    "nvvm.vote": (_BIT, [_WORD, _BIT]),
    "nvvm.shfl": (_WORD, [_WORD] * 4),
    "ctlz": ("", ["", _BIT]),
    "cttz": ("", ["", _BIT]),
    "fma": ("", [""] * 3),
    "fshl": ("", [""] * 3),
    "fshr": ("", [""] * 3),
    **{name: ("", [""] * 2) for name in ("minnum", "maxnum", "copysign", "smin", "smax", "umin", "umax")},
}
_LLVM = {"f32": "float", "f64": "double", "i32": "i32", "i64": "i64"}


def _call(name: str, number: int) -> tuple[str, str]:
    """Return the declaration of an intrinsic, and a call of it with constants that depend on a thread's number."""
    short = name.removeprefix("llvm.")
    last = short.rpartition(".")[2]
    own = _LLVM.get(last, "i32")
    key = next((key for key in _SIGNATURES if short.startswith(key)), "")
    result, operands = _SIGNATURES.get(key, ("", [""]))
    if ".sat." in short:
        result, operands = short.split(".")[2], [own]
    result, operands = result or own, [operand or own for operand in operands]
    given = {"i1": "false", "i32": "%word", "i64": "%long", "float": "%single", "double": "%double"}
    values = ["true" if short.startswith("nvvm.vote") and kind == _BIT else given[kind] for kind in operands]
    if short.startswith("nvvm.barrier"):
        values = ["0"]
    text = ", ".join(f"{kind} {value}" for kind, value in zip(operands, values, strict=True))
    declared = f"declare {result} @{name}({', '.join(operands)})"
    if result == "void":
        return declared, f"  call void @{name}({text})\n"
    kept = f"  %r{number} = call {result} @{name}({text})\n"
    place = f"  %p{number} = getelementptr i64, ptr addrspace(1) %out, i64 {number}\n"
    return declared, f"{kept}{place}  store {result} %r{number}, ptr addrspace(1) %p{number}\n"


def test_every_intrinsic_that_ops_may_call_is_compiled() -> None:
    """LLVM compiles every intrinsic that ops may call; the test is a separate process, since a wrong one ends it."""
    calls = [_call(name, at) for at, name in enumerate(sorted(SAFE))]
    text = (
        'target triple = "nvptx64-nvidia-cuda"\n'
        + "\n".join(declared for declared, _ in calls)
        + "\ndefine ptx_kernel void @k(ptr addrspace(1) %out, i32 %word, i64 %long, float %single, double %double) {\n"
        + "".join(call for _, call in calls)
        + "  ret void\n}\n"
    )
    program = "import sys; from warploom.engine.ops.lowering.ptx import to_ptx; print(to_ptx(sys.stdin.read()))"
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("st.global") >= len(calls) - 1


def test_any_other_intrinsic_is_refused_before_it_gets_to_llvm() -> None:
    """An intrinsic that the backend can't select is refused, since it would end the process."""
    module = ir.Module("bad")
    module.data_layout = data_layout()
    ir.Function(module, ir.FunctionType(ir.FloatType(), [ir.FloatType()]), "llvm.exp10.f32")
    with pytest.raises(AssertionError, match=r"got llvm\.exp10\.f32"):
        check_calls(module)


_KINDS = ("f32", "s32", "boolean", "float2", "float3")


def _alone(op: OpType, kind: str) -> OpGraph:
    """Return a graph of one op, which is fed by inputs of a type and whose outputs are all stored."""
    g = OpGraphBuilder()
    value = g.add("op.input", "in", type=kind)["value"]
    memory = g.add("op.output", "memory", type="s32", shape="[4]")["buffer"]
    settings: dict[str, OpPort | str] = {"pattern": "x"} if op.id == "op.swizzle" else {}
    for port in op.inputs:
        if not port.delayed and port.default is None and not port.optional:
            settings[port.name] = memory if port.takes_buffer else value
    if op.id == "op.output":
        settings["value"] = value
    node = g.add(op.id, "op", **settings)
    if op.id == "op.if":
        node.connect("then_a", value)
    for name, out in analyse(g.graph()).outputs("op").items():
        if isinstance(out, ValueType):
            g.add("op.output", f"out_{name}", value=node[name])
    return g.graph()


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.id)
def test_every_op_has_help_and_is_compiled(op: OpType) -> None:
    """Each op has a sentence of help, and is compiled alone with a type that it takes."""
    assert op.category in CATEGORIES
    assert op.title
    assert op.doc.endswith(".")
    for item in (*op.inputs, *op.outputs, *op.settings):
        assert item.doc.endswith("."), item
    compiled = 0
    for kind in _KINDS:
        graph = _alone(op, kind)
        if not any(problem.severity is Severity.ERROR for problem in check_op_graph(graph)):
            assert ".entry kernel" in compile_graph(graph).ptx
            compiled += 1
    assert compiled


def test_a_fault_names_the_op(host_device: Device) -> None:
    """A fault's line in the PTX leads to the op that caused it."""
    g = OpGraphBuilder()
    far = g.add("op.load", "far", buffer=g.add("op.input", "x")["buffer"], index=g.add("op.index", "index")["index"])
    g.add("op.output", "out", value=far["out"])
    kernel = compile_graph(g.graph())
    module = host_device.load_module(kernel.ptx)
    buffers = [host_device.upload(np.zeros(size, np.float32)) for size in (8, 32)]
    arguments = [*buffers, np.int32(32), np.int32(1 << 20)]  # the passed size of x is larger than the buffer
    with pytest.raises(KernelFault) as fault:
        host_device.launch(module.kernel("kernel"), grid=(1,), thread_block=(32,), args=arguments)
        host_device.synchronize()
    line = fault.value.source_line
    assert line is not None
    assert kernel.ops[line - 1] == "far"


def test_code_without_lines_is_the_same_code(host_device: Device) -> None:
    """Code without line numbers differs only in its `.loc` and `.file` directives."""
    g = OpGraphBuilder()
    twice = g.add("op.multiply", a=g.add("op.input", "x")["value"], b=2.0)
    g.add("op.output", "out", value=g.add("op.sin", x=twice["out"])["out"])
    kernel = compile_graph(g.graph())
    bare = without_lines(kernel.ptx)
    gone = [line.strip() for line in kernel.ptx.splitlines() if line not in bare.splitlines()]
    assert gone and all(line.startswith((".loc", ".file")) for line in gone)
    assert ".loc" not in bare
    assert host_device.load_module(bare).kernel("kernel").parameters
