"""Kernels that apply one function to arrays."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Module
from warploom.engine.ops.functions import FUNCTIONS
from warploom.engine.ops.lowering.ptx import TRIPLE, check_calls, data_layout, functions_ptx, to_ptx
from warploom.engine.types import Array

DTYPES: dict[str, type[np.floating[Any]]] = {"f32": np.float32, "f64": np.float64}
_KINDS = {"f32": ir.FloatType(), "f64": ir.DoubleType()}
_INDEX = ir.IntType(32)


def _kernel(module: ir.Module, name: str, dtype: str, *, fast: bool) -> None:
    """Add a kernel that applies a function to arrays; the last array gets the results, and an argument has the size."""
    function, kind, pointer = FUNCTIONS[name], _KINDS[dtype], ir.PointerType(addrspace=1)
    arguments = [*[pointer] * (function.arity + 1), _INDEX]
    kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), f"{name}_{dtype}")
    kernel.calling_convention = "ptx_kernel"
    builder = ir.IRBuilder(kernel.append_basic_block())

    def register(item: str) -> ir.Value:
        read = module.declare_intrinsic(f"llvm.nvvm.read.ptx.sreg.{item}", (), ir.FunctionType(_INDEX, []))
        return builder.call(read, [])

    index = builder.add(builder.mul(register("ctaid.x"), register("ntid.x")), register("tid.x"))
    with builder.if_then(builder.icmp_signed("<", index, kernel.args[-1])):
        places = [builder.gep(array, [index], source_etype=kind) for array in kernel.args[:-1]]
        values = [builder.load(place, typ=kind) for place in places[:-1]]
        emit = function.emit_fast if fast else function.emit
        builder.store(emit(builder, *values), places[-1])
    builder.ret_void()


@cache
def compiled(names: tuple[str, ...], dtype: str, *, fast: bool = False) -> tuple[str, str]:
    """Return the PTX of kernels for these functions, and the LLVM IR from which it was made."""
    module = ir.Module()
    module.triple, module.data_layout = TRIPLE, data_layout()
    for name in names:
        _kernel(module, name, dtype, fast=fast)
    text = str(module)
    check_calls(module)
    return to_ptx(text) + functions_ptx(text), text


def apply(device: Device, module: Module, name: str, arrays: Sequence[Array]) -> Array:
    """Return the results of a function for arrays of one size."""
    size = arrays[0].size
    buffers = [device.upload(array) for array in (*arrays, np.zeros_like(arrays[0]))]
    kernel = module.kernel(f"{name}_{'f32' if arrays[0].dtype == np.float32 else 'f64'}")
    device.launch(kernel, grid=(-(-size // 256),), thread_block=(256,), args=[*buffers, np.int32(size)])
    device.synchronize()
    result = np.array(buffers[-1].download())
    for buffer in buffers:
        buffer.free()
    return result
