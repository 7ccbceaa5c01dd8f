"""Library calls on numpy arrays: each is captured into a graph that is launched twice."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from warploom.engine.device.device import Device
from warploom.engine.libraries.backend import open_libraries
from warploom.engine.libraries.call import BoundCall, LibraryCall, OperandMemory
from warploom.engine.types import Array, DType, bf16, dtype_of, from_bf16, to_bf16
from warploom.engine.types.layout import Layout, strided_layout

#: Odd sizes: 1 has no second element, and 1023 and 1027 are close to a power of two.
SIZES = (1, 7, 1023, 1027)


def numbers(shape: tuple[int, ...], dtype: DType) -> Array:
    """Return random numbers that are the same for a shape in each run."""
    rng = np.random.default_rng(sum(shape))
    array = rng.standard_normal(shape)
    return (array + 1j * rng.standard_normal(shape) if dtype.kind == "complex" else array).astype(dtype.numpy)


def wide(array: Array) -> Array:
    """Return numbers in the oracle's precision."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def layout_of(array: Array, dtype: DType | None = None) -> Layout:
    """Return the layout of an array, which may be strided.

    With a `dtype`, uint16 means bf16, and the last axis holds the components of one element such as a float4.
    """
    dtype = dtype or dtype_of(array)
    axes = array.ndim - len(dtype.numpy.shape)
    strides = tuple(stride // dtype.size_bytes for stride in array.strides[:axes])
    return strided_layout(dtype, array.shape[:axes], strides, 256)


def span(array: Array) -> Array:
    """Return the memory of an array from its first element to its last, gaps included, as one axis."""
    layout = layout_of(array)
    return np.lib.stride_tricks.as_strided(array, (layout.span_bytes // array.itemsize,), (array.itemsize,))


class Caller:
    """Makes library calls on a device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.libraries = open_libraries(device)

    def __call__(
        self,
        call: LibraryCall,
        inputs: Mapping[str, Array],
        *,
        dtype: DType | None = None,
        numbers: Mapping[str, float] | None = None,
        on_device: bool = False,
        dtypes: Mapping[str, DType] | None = None,
    ) -> dict[str, Array]:
        """Return the outputs of a call by slot.

        With `dtype` bf16, f32 arrays are rounded to it, and outputs are returned as f32. `on_device` uploads the
        numbers. `dtypes` gives the types of slots whose arrays hold an element's components along the last axis.
        """
        given = {slot: to_bf16(array) if dtype is bf16 else array for slot, array in inputs.items()}
        known_as = {slot: bf16 if dtype is bf16 else (dtypes or {}).get(slot) for slot in given}
        layouts = {slot: layout_of(array, known_as[slot]) for slot, array in given.items()}
        made = call.results(layouts)
        memory = {slot: self.device.upload(np.ascontiguousarray(span(array))).memory for slot, array in given.items()}
        for slot, layout in made.items():
            if slot not in memory:  # filled with 0xEE: the result may not depend on old contents
                memory[slot] = self.device.allocate(max(layout.size_bytes, 1))
                self.device.fill(memory[slot], 0xEE)
        known = {name: float((numbers or {}).get(name, value)) for name, value in call.numbers.items()}
        operands = {slot: OperandMemory(memory[slot], layout) for slot, layout in {**layouts, **made}.items()}
        bound = BoundCall(call, operands, self._stored(operands, known) if on_device and known else known)
        size = self.libraries.workspace_bytes(call, bound.layouts)
        workspace = self.device.allocate(max(size, 1))
        graph = self.device.create_graph()
        graph.add_captured(self.device.capture(call.label, self.libraries.bind([bound], workspace)), [])
        executable, stream = graph.instantiate(), self.device.create_stream()
        for _ in range(1 if call.changed else 2):
            executable.launch(stream)
        stream.synchronize()
        outputs = {slot: self._read(operands[slot]) for slot in made}
        executable.destroy()
        graph.destroy()
        for held in (*memory.values(), workspace):
            held.free()
        return outputs

    def _stored(self, operands: Mapping[str, OperandMemory], known: Mapping[str, float]) -> dict[str, Any]:
        """Return a call's numbers in device memory, in the type in which the call computes."""
        kinds = [operand.layout.dtype.numpy for operand in operands.values()]
        wide = next((name for name in ("complex128", "float64", "complex64") if np.dtype(name) in kinds), "float32")
        return {name: self.device.upload(np.array([value], wide)).memory for name, value in known.items()}

    def _read(self, operand: OperandMemory) -> Array:
        layout = operand.layout
        array = np.empty(layout.shape, layout.dtype.numpy)
        self.device.read(operand.memory, array)
        return from_bf16(array) if layout.dtype is bf16 else array


#: The type of a `Caller`, which makes a library call.
Call = Callable[..., dict[str, Array]]
