"""Every element type has a row in the table of colours."""

import pytest

from warploom.app.theme.port_style import PortKind, kind_of_port
from warploom.engine.blocktypes.block import Block
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.types import NAMED, DType, Struct, any_type, boolean, c64, c128, f32, s32


class Sample(Struct):
    """A struct of one field."""

    value: f32


@pytest.mark.parametrize("dtype", [*NAMED.values(), Sample, any_type], ids=str)
def test_every_type_has_a_colour_in_the_editor(dtype: DType) -> None:
    """`any_type` and structs have port kinds of their own, and no other element type has these."""
    flow = kind_of_port(Block, PortSpec("x", "in", dtype, "", "same"))
    assert (flow is PortKind.ANY) == (dtype == any_type)
    assert (flow is PortKind.STRUCT) == (dtype == Sample)


def test_flags_look_like_integers_and_complex_numbers_like_pairs() -> None:
    """Flags are of the port kind INTEGER, and complex numbers of the kind VECTOR."""
    flows = [kind_of_port(Block, PortSpec("x", "in", dtype, "", "same")) for dtype in (boolean, s32, c64, c128)]
    assert flows == [PortKind.INTEGER, PortKind.INTEGER, PortKind.VECTOR, PortKind.VECTOR]
