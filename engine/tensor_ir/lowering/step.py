"""`LoweringStep`, with which an operation writes a node's computation, and CUDA C++ kernels for element types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.descriptions.entries import BufferArgument, Kernel
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.kernel_sources.sources import CudaFile, CudaOptions
from warploom.engine.tensor_ir.graph import TensorNode
from warploom.engine.tensor_ir.lowering.clusters import stored_source
from warploom.engine.tensor_ir.lowering.elements import ElementKernel
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import DType, bf16, f16, f32

#: A size of a buffer: a number, or an expression of shape rules.
SizeExpression = int | str


@dataclass(frozen=True)
class LoweringStep:
    """One node of the program that is being written.

    Buffers of batched nodes have the batch as their first axis, followed by the type's `stored_shape`. `batch` is the
    number of examples as an expression of shape rules; "1" if nothing is batched.
    """

    build: BlockBuilder
    node: TensorNode
    out: BufferHandle
    batch: str
    #: The step's number in the program, used in names.
    number: int
    #: The buffers of the nodes that are stored.
    stored: Mapping[TensorNode, BufferHandle]

    def input(self, index: int) -> BufferHandle:
        """Return the buffer that holds an input's elements; its shape may differ, but not its size."""
        return self.stored[stored_source(self.node.inputs[index])]

    def seen_as(self, handle: BufferHandle, *sizes: SizeExpression) -> BufferHandle:
        """Return a buffer in another shape, for library calls."""
        return self.build.seen_as(handle, f"[{', '.join(map(str, sizes))}]")

    def temporary(self, name: str, dtype: DType, *sizes: SizeExpression) -> BufferHandle:
        """Return a buffer that only this step uses."""
        return self.build.buffer(f"_{name}{self.number}", dtype, f"[{', '.join(map(str, sizes))}]")

    def kernel(self, type_: TensorType) -> ElementKernel:
        """Return an empty op graph over the elements of a type."""
        return ElementKernel(type_, self.stored)

    def count(self, type_: TensorType) -> str:
        """Return the number of elements of a tensor, as a shape rule's expression."""
        return f"{self.batch} * {type_.size}" if type_.batched else str(type_.size)


def read_only(handle: BufferHandle) -> BufferArgument:
    """Return a buffer as a `launch` argument that is read."""
    return BufferArgument(handle.name, reads=True, writes=False)


def write_only(handle: BufferHandle) -> BufferArgument:
    """Return a buffer as a `launch` argument that is written."""
    return BufferArgument(handle.name, reads=False, writes=True)


def shape_rule(type_: TensorType, batch: str) -> str:
    """Return a tensor's shape in memory, as a shape rule."""
    sizes: Sequence[SizeExpression] = (*([batch] if type_.batched else []), *type_.stored_shape)
    return f"[{', '.join(map(str, sizes))}]" if sizes else "scalar"


#: Names in `kernels/tensor.cuh` for element types that C++ lacks.
_NAMES: dict[DType, str] = {f16: "Half", bf16: "Brain"}


def element_kernel(file: str, entry: str, dtype: DType, **defines: str | int) -> Kernel:
    """Return a kernel of a file, with the element type as its macro ELEMENT."""
    options = CudaOptions({"ELEMENT": _NAMES.get(dtype, dtype.cuda_name), **defines})
    return Kernel(CudaFile(file, options), entry)


def number_type(dtype: DType) -> DType:
    """Return the type in which these kernels compute."""
    return f32 if dtype in (f16, bf16) else dtype


def size_argument(size: int | str) -> Extent:
    """Return a size as a kernel argument."""
    return Extent(str(size))
