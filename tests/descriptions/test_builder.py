"""`describe` records plain data, and two records that lead to the same graph nodes are equal."""

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, f32, float4, param, port
from warploom.engine.blocktypes.describing import _shared, describe
from warploom.engine.descriptions.checks import BlockCallError
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import (
    BufferArgument,
    CopyEntry,
    ExtentArgument,
    FillEntry,
    FrameArgument,
    KernelEntry,
    ParameterArgument,
    ValueArgument,
)
from warploom.engine.descriptions.handles import BufferHandle
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.ops import OpGraphBuilder

Describe = Callable[[Any, BlockBuilder], None]
K = Kernel("k.cu", "k")


def block(action: Describe, **values: Any) -> BlockDescription:
    """Return the description of a block with `action` as its `describe`."""

    class Sample(Block, id="test_builder.sample"):
        """Compute from two inputs."""

        x: In[f32] = port(doc="X.")
        y: In[f32] = port(doc="Y.")
        out: Out[f32] = port(shape="same(x)", doc="Out.")
        changed: Out[f32] = port(inplace="y", doc="Y, changed.")
        kept: Out[f32] = port(shape="[n]", state=True, doc="Kept.")
        given: Out[any_type] = port(shape="data", dtype="data", doc="Given.")
        a: float = param(1.0, doc="A.")
        n: int = param(4, structural=True, doc="N.")

        def describe(self, build: BlockBuilder) -> None:
            action(self, build)

    return describe(Sample("node", values))


def arguments(*names: str) -> KernelEntry:
    def ask(self: Any, build: BlockBuilder) -> None:
        build.launch(K, num_threads=1, args=[getattr(self, name) for name in names])

    (entry,) = block(ask).entries
    assert isinstance(entry, KernelEntry)
    return entry


def test_equal_descriptions_are_one_object_that_goes_with_its_last_user() -> None:
    """Equal descriptions are one object, which is freed with its last user."""

    def ask(self: Any, build: BlockBuilder) -> None:
        build.launch(K, num_threads=self.values["n"] + 1, args=[self.x, self.out])

    gc.collect()
    before = len(_shared)
    first = block(ask, n=7)
    assert block(ask, n=7) is first
    assert block(ask, n=8) is not first
    for n in range(200):
        block(ask, n=n)
    gc.collect()
    assert len(_shared) == before + 1
    assert block(ask, n=7) is first


def test_arguments_say_what_a_kernel_reads_and_writes() -> None:
    """Inputs are read and outputs are written; buffers changed in place and state are both read and written."""
    found = arguments("x", "y", "out", "changed", "kept").arguments
    assert found == (
        BufferArgument("x", True, False),
        BufferArgument("y", True, True),
        BufferArgument("out", False, True),
        BufferArgument("changed", True, True),
        BufferArgument("kept", True, True),
    )


def test_every_kind_of_argument_is_recorded() -> None:
    """Ports, live parameters, extents, numbers of Python and numpy, internal buffers and the frame are recorded."""

    def ask(self: Any, build: BlockBuilder) -> None:
        own = build.buffer("own", f32, "same(x)")
        build.launch(
            K, num_threads=1, args=(self.a, self.x.size, 2 * self.x.dim(1), 3, np.float32(0.5), build.frame, own)
        )

    (entry,) = block(ask).entries
    assert isinstance(entry, KernelEntry)
    assert entry.arguments == (
        ParameterArgument("a"),
        ExtentArgument(Extent("x.size")),
        ExtentArgument(Extent("(2 * x.dim1)")),
        ValueArgument(3),
        ValueArgument(0.5),
        FrameArgument(),
        BufferArgument("own", True, True),
    )


@pytest.mark.parametrize(
    ("threads", "expected"), [(9, (256, 1, 1)), ((9,), (256, 1, 1)), ((9, 9), (16, 16, 1)), ((9, 9, 9), (8, 8, 4))]
)
def test_thread_block_follows_the_number_of_dimensions(threads: Any, expected: tuple[int, int, int]) -> None:
    """The default thread block has 256 threads for each number of dimensions; a block may request another one."""

    def ask(self: Any, build: BlockBuilder) -> None:
        build.launch(K, num_threads=threads, args=())

    (entry,) = block(ask).entries
    assert isinstance(entry, KernelEntry)
    assert entry.thread_block == expected
    assert int(np.prod(expected)) == 256


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"num_threads": ()}, r"num_threads must have 1 to 3 dimensions, got \(\)"),
        ({"num_threads": (1, 1, 1, 1)}, r"num_threads must have 1 to 3 dimensions, got \(1, 1, 1, 1\)"),
        ({"num_threads": 4.0}, "num_threads must be a whole number at least 1, got 4.0"),
        ({"thread_block": 0}, "thread_block must be a whole number from 1 to 1024, got 0"),
        ({"thread_block": (8, 8, 8, 8)}, r"thread_block must have 1 to 3 dimensions, got \(8, 8, 8, 8\)"),
        ({"thread_block": (32.0,)}, "thread_block must be a whole number from 1 to 1024, got 32.0"),
        ({"shared_bytes": -1}, "shared_bytes must be a whole number from 0 to 232448, got -1"),
        ({"args": ["x"]}, "argument must be a port, buffer, parameter, extent or number, got 'x'"),
        ({"args": [None]}, "argument must be a port, buffer, parameter, extent or number, got None"),
        ({"kernel": "k.cu"}, r"kernel must be a Kernel\(file, entry\), got 'k.cu'"),
    ],
)
def test_wrong_launches_are_refused(wrong: dict[str, Any], message: str) -> None:
    """The error for a wrong launch names the block and the value."""

    def ask(self: Any, build: BlockBuilder) -> None:
        asked: dict[str, Any] = {"kernel": K, "num_threads": 1, "args": ()} | wrong
        build.launch(**asked)

    with pytest.raises(BlockCallError, match=rf"^test_builder\.sample: {message}$"):
        block(ask)


def test_a_kernel_reads_pictures_of_one_type() -> None:
    """A launch whose inputs might have different pixels is refused; one input of another's type is not."""

    class Two(Block, id="test_builder.two_pictures"):
        """Read two pictures."""

        x: In[float4] = port(dtype="picture", rank=2, doc="X.")
        y: In[float4] = port(dtype="picture", rank=2, doc="Y.")
        z: In[any_type] = port(dtype="same(x)", rank=2, doc="Z.")
        out: Out[float4] = port(dtype="same(x)", shape="same(x)", doc="Out.")
        other: str = param("z", doc="The second input.")

        def describe(self, build: BlockBuilder) -> None:
            build.launch(K, num_threads=self.x.size, args=(self.x, getattr(self, self.other), self.out))

    assert len(describe(Two("node", {})).entries) == 1
    with pytest.raises(
        BlockCallError, match=r"""inputs with dtype="picture" of a kernel must be one; .*got \['x', 'y'\]"""
    ):
        describe(Two("node", {"other": "y"}))


def test_fill_copy_and_internal_buffers() -> None:
    """Fills and copies are recorded in the order of the calls, and an internal buffer's name must be new."""

    def ask(self: Any, build: BlockBuilder) -> None:
        own = build.buffer("own", f32, "[n]", state=True)
        build.fill(own, 255)
        build.copy(self.out, self.x)
        with pytest.raises(ValueError, match=r"test_builder\.sample: buffer name must be new, got 'own'"):
            build.buffer("own", f32, "[n]")
        with pytest.raises(ValueError, match=r"test_builder\.sample: buffer name must be new, got 'x'"):
            build.buffer("x", f32, "[n]")

    made = block(ask)
    assert made.entries == (
        FillEntry(BufferArgument("own", False, True), 255),
        CopyEntry(BufferArgument("out", False, True), BufferArgument("x", True, False)),
    )
    assert [(b.name, b.shape, b.state) for b in made.buffers] == [("own", "[n]", True)]
    assert made.structural == (("n", 4),)


def chain(self: Any, build: BlockBuilder) -> None:
    """Record two kernels, the second of which reads the first one's `out`."""
    build.launch(K, num_threads=self.x.size, args=(self.x, self.out, self.a))
    build.launch(Kernel("k.cu", "second"), num_threads=self.x.size, args=(self.out, self.kept))


def test_kernels_are_listed_once() -> None:
    """A kernel that is launched twice is listed once."""

    def ask(self: Any, build: BlockBuilder) -> None:
        own = build.buffer("own", f32, "same(x)")
        build.launch(K, num_threads=1, args=(self.x, own))
        build.launch(K, num_threads=1, args=(own, self.out))

    assert block(ask).kernels() == (K,)


def other_kernel(self: Any, build: BlockBuilder) -> None:
    build.launch(Kernel("k.cu", "other"), num_threads=self.x.size, args=(self.x, self.out, self.a))
    build.launch(Kernel("k.cu", "second"), num_threads=self.x.size, args=(self.out, self.kept))


def other_wiring(self: Any, build: BlockBuilder) -> None:
    build.launch(K, num_threads=self.x.size, args=(self.x, self.out, self.a))
    build.launch(Kernel("k.cu", "second"), num_threads=self.x.size, args=(self.y, self.kept))


def other_size(self: Any, build: BlockBuilder) -> None:
    build.launch(K, num_threads=self.y.size, args=(self.x, self.out, self.a))
    build.launch(Kernel("k.cu", "second"), num_threads=self.x.size, args=(self.out, self.kept))


def other_order(self: Any, build: BlockBuilder) -> None:
    build.launch(Kernel("k.cu", "second"), num_threads=self.x.size, args=(self.out, self.kept))
    build.launch(K, num_threads=self.x.size, args=(self.x, self.out, self.a))


def with_buffer(self: Any, build: BlockBuilder) -> None:
    build.buffer("own", f32, "[n]")
    chain(self, build)


def test_describing_twice_is_structurally_equal() -> None:
    """Two records of a block are structurally equal both ways, also if a live parameter differs."""
    one, two = block(chain), block(chain)
    assert one.structural_equals(one)
    assert one.structural_equals(two) and two.structural_equals(one)
    assert one.structural_equals(block(chain, a=7.0))


@pytest.mark.parametrize(
    "other", [other_kernel, other_wiring, other_size, other_order, with_buffer], ids=lambda f: f.__name__
)
def test_another_kernel_wiring_size_order_or_buffer_is_not_structurally_equal(other: Describe) -> None:
    """Records with another kernel, wiring, size, order or buffer are structurally different, both ways."""
    assert not block(chain).structural_equals(block(other))
    assert not block(other).structural_equals(block(chain))


def test_a_structural_parameter_is_not_structurally_equal() -> None:
    """Records with different structural parameters are different, even if their entries are equal."""
    assert not block(chain).structural_equals(block(chain, n=5))


def test_a_port_more_is_not_structurally_equal() -> None:
    """Records with a different number of ports are structurally different."""
    one = block(chain)
    fewer = BlockDescription(one.ports[:-1], one.entries, one.buffers, structural=one.structural)
    assert not one.structural_equals(fewer)


def provides(array: np.ndarray[Any, Any]) -> BlockDescription:
    return block(lambda self, build: build.provide(self.given, array))


def test_contents_count_by_type_and_shape_alone() -> None:
    """Records with contents of one type and shape are structurally equal, whatever the numbers."""
    one = provides(np.zeros((2, 3), np.float32))
    assert one.structural_equals(provides(np.ones((2, 3), np.float32)))
    assert not one.structural_equals(provides(np.zeros((3, 2), np.float32)))
    assert not one.structural_equals(provides(np.zeros((2, 3), np.int32)))
    assert not one.structural_equals(block(lambda self, build: None))


def test_provided_contents_are_contiguous() -> None:
    """Provided contents that are a transposed view are stored contiguously."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    given = provides(array).contents["given"]
    assert given.flags.c_contiguous
    assert np.array_equal(given, array)


def test_shown_and_saved_ports_are_no_part_of_the_structure() -> None:
    """Neither displays, saved ports nor file names are part of the structure."""

    def save(path: str) -> BlockDescription:
        return block(lambda self, build: build.save(self.x, path))

    assert save("a.npy").structural_equals(save("b.npy"))
    assert [d.path for d in save("a.npy").displays] == ["a.npy"]
    assert [d.path for d in block(lambda self, build: build.show(self.x)).displays] == [None]


def test_a_port_or_buffer_is_seen_in_another_shape() -> None:
    """A buffer seen twice in one shape is recorded once, and its writes count as the original's."""

    def see(self: Any, build: BlockBuilder) -> None:
        own = build.buffer("own", f32, "[8]")
        square = build.seen_as(own, "[2, 4]")
        assert build.seen_as(square, "[4, 2]") == build.seen_as(own, "[4, 2]") != square
        assert build.seen_as(own, "[2, 4]") == square
        build.copy(square, build.seen_as(self.x, "[x.size]"))
        build.fill(build.seen_as(self.changed, "[y.size]"))
        with pytest.raises(BlockCallError, match="written buffer must be an output or a buffer of the block's own"):
            build.fill(build.seen_as(self.x, "[x.size]"))
        with pytest.raises(BlockCallError, match="source must be a port or a buffer of this block"):
            build.seen_as(BufferHandle("other"), "[4]")

    made = block(see)
    assert [(buffer.shape, buffer.of) for buffer in made.buffers] == [
        ("[8]", None),
        ("[2, 4]", "own"),
        ("[4, 2]", "own"),
        ("[x.size]", "x"),
        ("[y.size]", "changed"),
    ]
    assert "x" in made.read_inputs
    fill = made.entries[1]
    assert isinstance(fill, FillEntry)
    assert fill.target.reads  # the output is memory shared with an input


def test_an_op_graph_runs_on_ports_and_buffers_of_other_names() -> None:
    """Two op graphs that compute the same from buffers of different names share a kernel."""
    graph = OpGraphBuilder()
    value = graph.add("op.input", "a")["value"]
    graph.add("op.output", "b", value=graph.add("op.negate", x=value)["out"])

    def compute(self: Any, build: BlockBuilder) -> None:
        own = build.buffer("own", f32, "same(x)")
        build.compute(graph.graph(), over=own, buffers={"a": self.x, "b": own})
        build.compute(graph.graph(), over=self.out, buffers={"a": own, "b": self.out})

    first, second = block(compute).entries
    assert isinstance(first, KernelEntry) and isinstance(second, KernelEntry)
    assert first.kernel == second.kernel
    read, write = partial(BufferArgument, reads=True, writes=False), partial(BufferArgument, reads=False, writes=True)
    assert first.buffers == (read("x"), write("own"))
    assert second.buffers == (read("own"), write("out"))
