from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, f32, param, port

_PART = """\
width = from_high - from_low
part = (x - from_low) / width if width != 0 else 0 * x
{part}
to_low * (1 - share) + to_high * share"""


@cache
def mapped(is_clamped: bool) -> OpGraphSource:
    """Return a kernel that maps one range to another."""
    return OpGraphSource.of_expression(
        _PART.format(part="share = clamp(part, 0, 1)" if is_clamped else "share = part"), x=f32
    )


class MapRange(Block, id="math.map_range", tags=("remap", "scale", "linear", "fit", "normalize", "rescale")):
    """Maps every element from one range to another.

    An element at `from_low` becomes `to_low`, one at `from_high` becomes `to_high`, and others keep their place between
    them. Either range can run downwards. If the first range is empty, all numbers become `to_low`. Use it to bring a
    signal to the range of a colour or a parameter; for a single number, use Map.
    """

    x: In[f32] = port(doc="Elements in the first range, of any shape.")
    out: Out[f32] = port(shape="same(x)", doc="Elements in the second range.")
    from_low: float = param(0.0, min=-1e9, max=1e9, doc="Start of the first range, which becomes to_low.")
    from_high: float = param(1.0, min=-1e9, max=1e9, doc="End of the first range, which becomes to_high.")
    to_low: float = param(0.0, min=-1e9, max=1e9, doc="Start of the second range.")
    to_high: float = param(1.0, min=-1e9, max=1e9, doc="End of the second range.")
    clamp: bool = param(True, structural=True, doc="Keep the elements within the second range.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.compute(mapped(self.clamp), over=self.out)
