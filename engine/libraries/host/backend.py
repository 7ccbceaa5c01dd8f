"""The libraries of the host: each call is a function over numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from warploom.engine.device.host.memory import bytes_of
from warploom.engine.device.protocol import Issue, Memory, Stream
from warploom.engine.libraries.call import BoundCall, LibraryCall, LibraryError, OperandMemory, scaling_type
from warploom.engine.libraries.own import OwnCall, check_has, run_on_host
from warploom.engine.types import Array, bf16, from_bf16, to_bf16
from warploom.engine.types.layout import Layout

#: The operands of a call, by slot. bf16 comes as f32.
NamedArrays = Mapping[str, Array]
#: The numbers of a call, by name.
NamedNumbers = Mapping[str, Any]
#: Performs a call: it reads the arrays of the inputs, and fills those of the outputs.
HostFunction = Callable[[Any, NamedArrays, NamedNumbers], None]


class HostLibraries:
    """Finds the function of `engine/libraries/host` that implements each call."""

    def workspace_bytes(self, call: LibraryCall, layouts: Mapping[str, Layout]) -> int:
        """Return 0, since numpy and scipy allocate what they need. Raise LibraryError for a call without a function."""
        _function(call)
        return 0

    def bind(self, calls: Sequence[BoundCall], workspace: Memory) -> Issue:
        """Return a function that makes the calls one after another."""
        steps = [_bind(bound) for bound in calls]

        def issue(stream: Stream) -> None:
            with np.errstate(all="ignore"):  # NaN and infinity are results like others
                for step in steps:
                    step()

        return issue

    def close(self) -> None:
        """Do nothing: the host's libraries keep nothing."""


def _function(call: LibraryCall) -> HostFunction:
    if isinstance(call, OwnCall):
        check_has(call, "host", "the host", "a GPU")
        return run_on_host
    try:
        functions: Mapping[type[LibraryCall], HostFunction] = import_module(f"{__package__}.{call.library}").FUNCTIONS
    except ImportError as problem:
        remedy = f"install {problem.name}" if problem.name else "install scipy"
        raise LibraryError(f"{call.label} must have a library to run on the host, got {problem}", remedy) from None
    return functions[type(call)]


def _bind(bound: BoundCall) -> Callable[[], None]:
    """Return a function for one call: arrays are used in place, and bf16 is converted on the way."""
    function, call = _function(bound.call), bound.call
    arrays = {slot: _array(operand) for slot, operand in bound.operands.items()}
    brains = [slot for slot, operand in bound.operands.items() if operand.layout.dtype == bf16]
    read = {n: v if isinstance(v, (int, float)) else _number(v, bound) for n, v in bound.numbers.items()}
    written = {*call.outputs}

    def run() -> None:
        numbers = {name: value if isinstance(value, (int, float)) else value[()] for name, value in read.items()}
        if not brains:
            function(call, arrays, numbers)
            return
        given = {**arrays, **{slot: from_bf16(arrays[slot]) for slot in brains}}
        function(call, given, numbers)
        for slot in written.intersection(brains):
            arrays[slot][...] = to_bf16(given[slot])

    return run


def _array(operand: OperandMemory) -> np.ndarray[Any, Any]:
    """Return the elements of an operand as an array over its memory; vectors have one more axis."""
    layout, dtype = operand.layout, operand.layout.dtype
    data = bytes_of(operand.memory, layout.span_bytes, "operand of a library call")
    strides = tuple(stride * dtype.size_bytes for stride in layout.element_strides)
    base = dtype.numpy.base
    shape, inner = dtype.numpy.shape, dtype.numpy.base.itemsize
    return np.ndarray((*layout.shape, *shape), base, data, strides=(*strides, *(inner,) * len(shape)))


def _number(memory: Memory, bound: BoundCall) -> np.ndarray[Any, Any]:
    """Return a number of a call as an array over its memory."""
    dtype = scaling_type(bound.operands[bound.call.scaled].layout.dtype).numpy
    return bytes_of(memory, dtype.itemsize, "number of a library call").view(dtype).reshape(())
