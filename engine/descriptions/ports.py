"""`PortSpec`: the declaration of a buffer port, for descriptions and the compiler."""

from collections.abc import Callable

from warploom.engine.types import DType, f32, float2, float3, float4, half4, u8, uchar4
from warploom.engine.types.bits import ByBits

#: The pixels of pictures. Blocks compute with linear RGBA in f32, whatever the pixels are; `engine.ops.pixels` says how
#: numbers become pixels.
PIXELS: tuple[DType, ...] = (float4, half4, uchar4)
#: The kinds below that pictures belong to.
PICTURES = ("picture", "pixel", "image")
#: The kinds of elements that inputs of any type may require: a test of an element type, and the name in messages.
KINDS: dict[str, tuple[Callable[[DType], bool], str]] = {
    "number": (lambda dtype: dtype.kind in ("float", "integer", "boolean"), "single real numbers or booleans"),
    "complex": (lambda dtype: dtype.kind == "complex", "complex numbers"),
    "vector": (lambda dtype: dtype in (float2, float3, float4), "float2, float3 or float4"),
    "picture": (lambda dtype: dtype in PIXELS, "float4, half4 or uchar4"),
    "pixel": (lambda dtype: dtype in (f32, *PIXELS), "f32, float4, half4 or uchar4"),
    "image": (lambda dtype: dtype in (f32, u8, *PIXELS), "f32, u8, float4, half4 or uchar4"),
}


class PortSpec(ByBits, frozen=True, eq=False):
    """The declaration of a port by its block type.

    `dtype` may be `any_type`, or float4 for a picture with any of `PIXELS`. Then `dtype_rule` is the rule for an output
    ("same(x)", "data", "view", or "given" by the block), or for an input ("same(x)", or a key of `KINDS`). `inplace`
    names the input whose memory an output reuses. A `state` output keeps its contents from frame to frame.

    A `strided` input takes layouts that are not contiguous. A `delayed` input is read in the next frame, so its writer
    may run later in this frame. When an output's region is skipped, the output holds `default`; with None, it must not
    leave its region. The count of an `append` output is another port. If an optional input has `advised` and is
    unconnected, a check of the patch mentions it. `replaces` are former names.
    """

    name: str
    direction: str  # "in" or "out"
    dtype: DType
    doc: str
    shape: str
    rank: int | None = None
    optional: bool = False
    inplace: str | None = None
    state: bool = False
    dtype_rule: str | None = None
    strided: bool = False
    delayed: bool = False
    default: float | None = 0.0
    append: bool = False
    advised: bool = True
    replaces: tuple[str, ...] = ()

    @property
    def is_input(self) -> bool:
        """True for an input port."""
        return self.direction == "in"


def is_picture(spec: PortSpec | None) -> bool:
    """True for an input of a picture with any of `PIXELS`."""
    return spec is not None and spec.is_input and spec.dtype_rule in PICTURES


def count_name(append: str) -> str:
    """Return the name of the output port with an append buffer's number of elements."""
    return f"{append}_count"


def counter_name(append: str) -> str:
    """Return the name of an append buffer's counter of reservations, which may exceed the capacity."""
    return f"{append}_counter"
