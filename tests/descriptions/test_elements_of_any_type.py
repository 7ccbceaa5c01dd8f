"""Ports whose element type or shape the block decides, and how kernels receive both."""

import numpy as np
import pytest

from warploom.api import (
    Block,
    BlockBuilder,
    In,
    Out,
    any_type,
    bf16,
    boolean,
    c64,
    c128,
    f16,
    f32,
    f64,
    float3,
    port,
    s16,
    u8,
    u64,
    uchar4,
)
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.describing import describe
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.shapes.extents import ShapeContext
from warploom.engine.types import DType
from warploom.engine.types.element_numbers import BOOLEAN, BRAIN, FLOAT, PARTS_AT, SIGNED, element_number


class Sample(Block, id="test_elements.sample"):
    """Output elements whose type or shape `describe` decides."""

    x: In[any_type] = port(dtype="number", doc="Numbers.")
    free: Out[any_type] = port(shape="[1]", dtype="given", doc="Of any type.")
    fixed: Out[f32] = port(shape="[1]", doc="Of one type.")

    def describe(self, build: BlockBuilder) -> None:
        build.define(self.free, dtype=u8, shape="[2, 3]")
        build.define(self.fixed, shape="[x.size]")


block_types.commit({}, [Sample.id])


def test_a_block_decides_type_and_shape() -> None:
    """The decided type and shape are those of the description's ports; the class's ports stay as declared."""
    ports = {spec.name: spec for spec in describe(Sample("n")).ports}
    assert (ports["free"].dtype, ports["free"].shape) == (u8, "[2, 3]")
    assert (ports["fixed"].dtype, ports["fixed"].shape) == (f32, "[x.size]")
    assert (Sample.ports["free"].dtype, Sample.ports["free"].shape) == (any_type, "[1]")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fixed", "only an output with a rule for its type can be given one by define, got 'fixed'"),
        ("x", "port of define must be an output of this block"),
    ],
)
def test_only_an_output_of_any_type_can_be_given_one(name: str, message: str) -> None:
    """Only an output declared with any type or shape can be given one; others are refused."""
    block = Sample("n")
    with pytest.raises(ValueError, match=message):
        BlockBuilder(block.id, block.ports, (), {}, None).define(getattr(block, name), dtype=u8)


@pytest.mark.parametrize(
    ("dtype", "flags"),
    [
        (u8, 0),
        (s16, SIGNED),
        (u64, 0),
        (f16, FLOAT),
        (bf16, FLOAT | BRAIN),
        (f64, FLOAT),
        (boolean, BOOLEAN),
        (c64, 4 << PARTS_AT),
        (c128, 8 << PARTS_AT),
        (float3, 4 << PARTS_AT),
        (uchar4, 0),
    ],
)
def test_a_kernel_receives_the_size_and_kind_of_its_elements(dtype: DType, flags: int) -> None:
    """A kernel receives the element size in the low 16 bits of a number, and the kind of element above them."""
    number = element_number(dtype)
    assert (number & 0xFFFF, number & ~0xFFFF) == (dtype.size_bytes, flags)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 3, 4, 5)])
def test_axes_counted_from_the_last_one(shape: tuple[int, ...]) -> None:
    """Sizes and strides counted from the last axis equal numpy's; a missing axis has size 1 and stride 0."""
    context = ShapeContext({"x": shape}, {}, {})
    strides = [stride // 4 for stride in np.zeros(shape, np.float32).strides]
    handle = BufferHandle("x")
    for axis in range(4):
        exists = axis < len(shape)
        assert handle.last(axis).evaluate(context) == (shape[-1 - axis] if exists else 1)
        assert handle.last_stride(axis).evaluate(context) == (strides[-1 - axis] if exists else 0)
