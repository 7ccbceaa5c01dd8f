"""Small blocks with one purpose each, for tests of order and memory."""

import numpy as np

from warploom import Patch
from warploom.api import (
    Block,
    BlockBuilder,
    Composite,
    CompositeBuilder,
    In,
    Kernel,
    Out,
    Struct,
    any_type,
    f32,
    float4,
    param,
    port,
    u32,
)
from warploom.engine.device.external import describe_external
from warploom.engine.patch.document import NodeRef
from warploom.engine.types import Array

FILE = "small_blocks.cu"


class Bump(Block, id="test_small.bump"):
    """Add to a buffer in place."""

    x: In[f32] = port(doc="Is changed.")
    out: Out[f32] = port(inplace="x", doc="The same memory.")
    amount: float = param(1.0, doc="Is added to each element.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.launch(Kernel(FILE, "bump"), num_threads=self.x.size, args=(self.out, self.amount, self.x.size))


class Echo(Block, id="test_small.echo"):
    """Outputs the previous frame's input. It declares no state, so every edit makes it begin with zeros."""

    x: In[f32] = port(doc="Is given in the next frame.")
    out: Out[f32] = port(doc="The input of the frame before.")

    def describe(self, build: BlockBuilder) -> None:
        """Copy twice through a buffer that is read before it is written."""
        held = build.buffer("held", f32, "same(x)")
        build.copy(self.out, held)
        build.copy(held, self.x)


class Grow(Block, id="test_small.grow"):
    """Adds 1 in each frame to state that begins with a given array."""

    out: Out[f32] = port(shape="[size]", doc="The state after this frame.")
    first: float = param(0.0, structural=True, doc="What the last element is at first; the others are 0, 1 and so on.")
    size: int = param(4, min=1, structural=True, doc="How many elements there are.")
    unused: int = param(0, structural=True, doc="Changes nothing.")
    zeros: bool = param(False, structural=True, doc="Whether the state begins with nothing but zeros.")

    def describe(self, build: BlockBuilder) -> None:
        """Change internal state in place, and copy it out."""
        numbers = np.arange(self.size, dtype=np.float32)
        numbers[-1] = self.first
        kept = build.buffer("kept", f32, "[size]", state=True, initial=None if self.zeros else numbers)
        build.launch(Kernel(FILE, "bump"), num_threads=kept.size, args=(kept, 1.0, kept.size))
        build.copy(self.out, kept)


class Make(Block, id="test_small.make"):
    """Makes a buffer whose elements are 1.5 when the block does not run; `x` only orders it after another block."""

    x: In[any_type] = port(doc="Is not read.", optional=True)
    out: Out[f32] = port(shape="[count]", default=1.5, doc="All equal.")
    value: float = param(7.0, doc="Of each element.")
    count: int = param(3, min=1, structural=True, doc="How many.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.launch(Kernel(FILE, "make"), num_threads=self.out.size, args=(self.out, self.value, self.out.size))


class MakeFour(Block, id="test_small.make_four"):
    """Makes vectors whose numbers are all 1.5 when the block does not run."""

    out: Out[float4] = port(shape="[count]", default=1.5, doc="value, value + 1, value + 2, value + 3.")
    value: float = param(7.0, doc="The first number of each element.")
    count: int = param(3, min=1, structural=True, doc="How many.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.launch(Kernel(FILE, "make_four"), num_threads=self.out.size, args=(self.out, self.value, self.out.size))


class Strict(Block, id="test_small.strict"):
    """Make a buffer that must not leave its region."""

    out: Out[f32] = port(shape="[3]", default=None, doc="All 7.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.launch(Kernel(FILE, "make"), num_threads=self.out.size, args=(self.out, 7.0, self.out.size))


class Pour(Block, id="test_small.pour"):
    """Appends the elements that are large enough."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(shape="[capacity]", append=True, doc="Those of at least `least`, in any order.")
    least: float = param(0.0, doc="The smallest number that is taken.")
    capacity: int = param(5, min=1, structural=True, doc="Room.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        arguments = (self.x, self.least, self.out, self.out.counter, self.out.size, self.x.size)
        build.launch(Kernel(FILE, "pour"), num_threads=self.x.size, args=arguments)


class Pair(Struct):
    """The struct of small_blocks.cu."""

    first: f32
    second: u32


class WidePair(Struct):
    """Pair with four bytes more than in small_blocks.cu."""

    first: f32
    second: u32
    third: f32


class MakePairs(Block, id="test_small.make_pairs"):
    """Make pairs."""

    out: Out[Pair] = port(shape="[4]", doc="Half its number, and its number.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.launch(Kernel(FILE, "make_pairs"), num_threads=4, args=(self.out, 4))


class MakeWidePairs(Block, id="test_small.make_wide_pairs"):
    """Declares wider pairs as the output of the same kernel."""

    out: Out[WidePair] = port(shape="[4]", doc="What the kernel does not write.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.launch(Kernel(FILE, "make_pairs"), num_threads=4, args=(self.out, 4))


class Lend(Block, id="test_small.lend"):
    """Output an array of `LENT`."""

    out: Out[any_type] = port(shape="data", dtype="data", doc="The user's memory.")
    which: str = param("0", doc="Its number in LENT.")

    def describe(self, build: BlockBuilder) -> None:
        """Adopt the array, without a launch."""
        build.adopt(self.out, describe_external(LENT[int(self.which)]))


#: Arrays that `Lend` adopts, by number.
LENT: dict[int, Array] = {}


class Take(Block, id="test_small.take"):
    """Copy a buffer, by a copy node."""

    x: In[f32] = port(doc="Is copied.")
    out: Out[f32] = port(shape="same(x)", doc="The copy.")

    def describe(self, build: BlockBuilder) -> None:
        """Copy without a kernel."""
        build.copy(self.out, self.x)


class Sum3(Composite, id="test_small.sum3", as_child_graph=True):
    """Adds three times, as one child graph."""

    def compose(self, build: CompositeBuilder) -> None:
        """Place three blocks in a row."""
        copy = build.add_child(Take, "copy")
        blocks = [build.add_child(Bump, name) for name in ("one", "two", "three")]
        for before, after in zip((copy, *blocks), blocks, strict=False):
            build.connect_children(before["out"], after["x"])
        build.expose_input("x", copy["x"])
        build.expose_output("out", blocks[-1]["out"])
        for block, name in zip(blocks, "abc", strict=True):
            build.expose_parameter(name, block, "amount")


def array(patch: Patch, *values: float, dtype: str = "f4") -> NodeRef:
    """Place an array."""
    return patch.add("io.array", data=np.array(values, dtype))


def zeros(patch: Patch, count: int = 1, value: float = 0.0) -> NodeRef:
    """Place a buffer of one value that each frame computes again, so that blocks may change it in place."""
    return patch.add("buffer.constant", shape=str(count), value=value)


def bump(
    patch: Patch, target: NodeRef, region: NodeRef | str = "", *, port: str = "out", amount: float = 1.0
) -> NodeRef:
    """Place a block that adds to `target` in place each time it runs."""
    node = patch.add("test_small.bump", region=region, amount=amount)
    patch.connect(target[port], node["x"])
    return node


def add_to(patch: Patch, total: NodeRef, value: NodeRef, port: str, region: NodeRef | str) -> NodeRef:
    """Place blocks that add a buffer to `total` in place each time they run; return the one that stores the sum."""
    add, store = (patch.add(block, region=region) for block in ("math.add", "buffer.assign"))
    patch.connect(total["out"], add["x"])
    patch.connect(value[port], add["y"])
    patch.connect(total["out"], store["target"])
    patch.connect(add["out"], store["value"])
    return store
