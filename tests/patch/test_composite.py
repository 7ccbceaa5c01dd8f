"""Composites: block types made of others, and the ports and parameters that they expose."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, f32, param, port, u32
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.describing import describe
from warploom.engine.catalogue.catalogue import Catalogue, default_catalogue
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.descriptions.description import ChildPort
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.composite import Composite, CompositeBuilder
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, parse_patch


class Gain(Block, id="test_composite.gain"):
    """Multiply by a number."""

    x: In[f32] = port(rank=1, doc="Numbers.")
    out: Out[f32] = port(doc="Larger numbers.")
    gain: float = param(2.0, min=-8, max=8, unit="x", doc="How much larger.")
    passes: int = param(1, min=1, max=9, structural=True, doc="How often.")

    kernel = Kernel("gain.cu", "gain")

    def describe(self, build: BlockBuilder) -> None:
        for _ in range(self.passes):
            build.launch(self.kernel, num_threads=self.out.size, args=(self.x, self.out, self.gain))


class Sum(Block, id="test_composite.sum"):
    """Add two buffers."""

    a: In[f32] = port(doc="Numbers.")
    b: In[f32] = port(optional=True, doc="More numbers.")
    out: Out[f32] = port(shape="broadcast(a, b)", doc="Their sum.")
    gain: float = param(1.0, min=0, max=100, doc="Of the sum.")

    kernel = Kernel("sum.cu", "sum")

    def describe(self, build: BlockBuilder) -> None:
        build.launch(self.kernel, num_threads=self.out.size, args=(self.a, self.b, self.out, self.gain))


class Same(Block, id="test_composite.same"):
    """Pass anything through."""

    x: In[any_type] = port(doc="Anything.")
    out: Out[any_type] = port(dtype="same(x)", doc="The same.")
    table: Out[f32] = port(shape="[16, 2]", doc="A table.")

    def describe(self, build: BlockBuilder) -> None: ...


class Repeat(Block, id="test_composite.repeat", regions=("",)):
    """Repeat what is inside."""

    index: Out[u32] = port(shape="[1]", doc="The turn.")

    def describe(self, build: BlockBuilder) -> None: ...


class Glow(Composite, id="test_composite.glow", tags=("bloom",)):
    """Add a stronger version of the numbers to themselves."""

    def compose(self, build: CompositeBuilder) -> None:
        gain = build.add_child(Gain, gain=4.0)
        total = build.add_child("test_composite.sum", "total")
        build.connect_children(gain["out"], total["b"])
        build.expose_input("numbers", gain["x"])
        build.expose_input("numbers", total["a"])
        build.expose_output("glowing", total["out"], doc="Numbers that glow.")
        build.expose_parameter("strength", gain, "gain", min=0)
        build.expose_parameter("passes", gain)


@pytest.fixture(autouse=True)
def _defined() -> None:
    """Define the types above again, as an earlier test may have removed them from the catalogue."""

    default_catalogue()
    block_types.commit({block.id: block for block in (Gain, Sum, Same, Repeat, Glow)}, ())


def test_a_composite_is_a_block_like_any_other() -> None:
    """A composite has ports and parameters with types, ranges and help, and the search finds it."""
    assert list(Glow.ports) == ["numbers", "glowing"]
    numbers, glowing = Glow.ports.values()
    assert (numbers.is_input, numbers.dtype, numbers.rank, numbers.optional) == (True, f32, 1, False)
    assert (glowing.is_input, glowing.dtype, glowing.doc) == (False, f32, "Numbers that glow.")
    strength, passes = Glow.parameters.values()
    assert (strength.name, strength.type, strength.default) == ("strength", "float", 4.0)
    assert (strength.minimum, strength.maximum, strength.unit, strength.doc) == (0, 8, "x", "How much larger.")
    assert not strength.structural
    assert passes.structural
    assert Glow in Catalogue().search("bloom")
    assert (Glow.title, Glow.summary) == ("Glow", "Add a stronger version of the numbers to themselves.")


def test_a_patch_places_connects_and_saves_a_composite() -> None:
    """A composite is placed, connected, saved and loaded as one node."""
    patch = Patch()
    source, glow = patch.add("io.array"), patch.add("test_composite.glow", strength=3.0)
    patch.connect(source["out"], glow["numbers"])
    patch.set(glow, passes=2)
    with pytest.raises(PatchError, match="parameter strength must be at least 0, got -1"):
        patch.set(glow, strength=-1)
    loaded = parse_patch(dump_patch(patch))
    assert loaded.nodes == patch.nodes
    assert loaded.value("glow", "strength") == 3.0


def test_a_composite_describes_its_children() -> None:
    """Each child is described by its own type, with the values that the composite passes to it."""
    composition = describe(Glow("g", {"strength": 5.0, "passes": 3})).composition
    assert composition is not None
    gain, total = composition.children
    assert (gain.name, total.name) == ("gain", "total")
    assert len(gain.description.entries) == 3
    assert (gain.values["gain"], gain.values["passes"], total.values["gain"]) == (5.0, 3, 1.0)
    assert composition.connections == ((ChildPort("gain", "out"), ChildPort("total", "b")),)
    assert composition.inputs == (("numbers", ChildPort("gain", "x")), ("numbers", ChildPort("total", "a")))
    assert composition.outputs == (("glowing", ChildPort("total", "out")),)
    assert dict(composition.parameters)["strength"] == ChildPort("gain", "gain")


def test_live_values_leave_the_description_as_it_is_and_structural_ones_do_not() -> None:
    """A live value leaves a description structurally equal; a structural value doesn't."""
    base = describe(Glow("g"))
    assert base.structural_equals(describe(Glow("g", {"strength": 1.0})))
    assert not base.structural_equals(describe(Glow("g", {"passes": 2})))
    assert [len(part.entries) for part in base.parts()] == [1, 1]


def test_shapes_and_types_of_outputs_are_shown_in_terms_of_the_inputs() -> None:
    """An output's rule that depends on the inside is shown as "data", and a constant rule is shown unchanged."""

    class Chain(Composite, id="test_composite.chain"):
        """Two pass-throughs in a row."""

        def compose(self, build: CompositeBuilder) -> None:
            first, second, total = build.add_child(Same), build.add_child(Same), build.add_child(Sum)
            build.connect_children(first["out"], second["x"])
            build.connect_children(second["table"], total["a"])
            build.expose_output("out", second["out"])
            build.expose_input("source", first["x"])
            build.expose_output("table", second["table"])
            build.expose_output("sum", total["out"])

    out, table, total = Chain.outputs()
    assert (out.shape, out.dtype_rule) == ("same(source)", "same(source)")
    assert (table.shape, table.dtype_rule) == ("[16, 2]", None)
    assert total.shape == "data"


def test_feedback_of_a_patch_can_be_inside_a_composite() -> None:
    """An input is delayed if all children delay it, and one of two sources can decide the shape."""

    class Trail(Composite, id="test_composite.trail"):
        """Outputs the previous frame's numbers, as many as the input has."""

        def compose(self, build: CompositeBuilder) -> None:
            delay, same = build.add_child("buffer.frame_delay"), build.add_child(Same)
            build.connect_children(delay["out"], same["x"])
            build.expose_input("like", delay["like"])
            build.expose_input("x", delay["x"])
            build.expose_output("out", same["out"])
            build.expose_output("zero", build.add_child("buffer.constant")["out"])

    like, x = Trail.inputs()
    out, zero = Trail.outputs()
    assert (like.delayed, like.optional, x.delayed, x.optional) == (False, True, True, False)
    assert (out.shape, out.dtype_rule) == ("same(like, x)", "same(like, x)")
    assert (zero.shape, zero.dtype_rule) == ("[1]", "given")
    patch = Patch()
    patch.add("test_composite.trail", node_id="trail")
    patch.add("buffer.copy", node_id="copy")
    patch.connect(PortRef("trail", "out"), PortRef("copy", "x"))
    patch.connect(PortRef("copy", "out"), PortRef("trail", "x"))
    with pytest.raises(PatchError, match="must not close a cycle, got copy -> trail -> copy"):
        patch.connect(PortRef("copy", "out"), PortRef("trail", "like"))


def test_several_children_may_share_an_input_and_a_parameter() -> None:
    """A shared input must satisfy the requirements of all children that share it."""

    class Shared(Composite, id="test_composite.shared"):
        """Shares all inputs and parameters."""

        def compose(self, build: CompositeBuilder) -> None:
            gain, total, same = build.add_child(Gain), build.add_child(Sum), build.add_child(Same)
            for target in (same["x"], total["a"], gain["x"]):
                build.expose_input("x", target)
            build.expose_input("more", total["b"])
            build.expose_output("out", total["out"])
            for child in (gain, total):
                build.expose_parameter("gain", child, default=3, doc="Of both.")

    x, more = Shared.inputs()
    assert (x.dtype, x.rank, x.optional, more.optional) == (f32, 1, False, True)
    gain = Shared.parameters["gain"]
    assert (gain.default, gain.minimum, gain.maximum, gain.doc) == (3.0, 0, 8, "Of both.")
    composition = describe(Shared("n", {"gain": 7})).composition
    assert composition is not None
    assert [child.values.get("gain") for child in composition.children] == [7.0, 7.0, None]


def test_composites_of_composites_and_regions() -> None:
    """A composite's child may be a composite or lie in a region, and any number of children may have one type."""

    class Deep(Composite, id="test_composite.deep"):
        """Glow several times, in a loop."""

        copies: int = param(2, min=1, max=5, structural=True, doc="How many.")

        def compose(self, build: CompositeBuilder) -> None:
            loop = build.add_child(Repeat, "loop")
            inner = [build.add_child(Glow, region=loop.body, strength=1 + n) for n in range(self.copies)]
            for before, after in pairwise(inner):
                build.connect_children(before["glowing"], after["numbers"])
            build.expose_input("x", inner[0]["numbers"])
            build.expose_output("y", inner[-1]["glowing"])
            build.expose_parameter("strength", inner[0])

    assert Deep.holds_regions
    assert not Glow.holds_regions
    assert list(Deep.parameters) == ["copies", "strength"]
    composition = describe(Deep("d", {"copies": 3})).composition
    assert composition is not None
    assert [(c.name, c.region) for c in composition.children] == [
        ("loop", ""),
        ("glow", "loop"),
        ("glow_2", "loop"),
        ("glow_3", "loop"),
    ]
    assert [c.values["strength"] for c in composition.children[1:]] == [1.0, 2.0, 3.0]
    with pytest.raises(BlockDefinitionError, match="must not be one child graph, since it holds a region"):

        class Graph(Composite, id="test_composite.graph", as_child_graph=True):
            """One child graph."""

            def compose(self, build: CompositeBuilder) -> None:
                deep = build.add_child(Deep)
                build.expose_input("x", deep["x"])
                build.expose_output("y", deep["y"])


def bad(body: str) -> None:
    """Define a composite whose `compose` is `body`, with a gain, a sum and a loop as children."""

    class Bad(Composite, id="test_composite.bad"):
        """Breaks a rule of composites."""

        own: int = param(1, structural=True, doc="Own.")

        def compose(self, build: CompositeBuilder) -> None:
            gain, total, same = build.add_child(Gain, "gain"), build.add_child(Sum, "total"), build.add_child(Same)
            exec(body, {"build": build, "gain": gain, "total": total, "same": same, "Repeat": Repeat})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("build.expose_output('y', gain['out'])", "input gain.x must be connected or exposed, got nothing"),
        ("build.add_child('test_composite.bad')", "composite must not hold itself, got a child test_composite.bad"),
        ("build.add_child('test_composite.gone')", "block type must be in the catalogue, got 'test_composite.gone'"),
        ("build.add_child(Repeat, 'a/b')", "node id must not hold a slash"),
        ("build.add_child(Repeat, 'gain')", "node id must be new in the patch, got 'gain'"),
        ("build.add_child(Repeat, region=gain)", "must be a block that holds others, got gain"),
        ("build.expose_input('x', gain['y'])", "port of gain must be one of x, out, got 'y'"),
        ("build.expose_input('x', gain['out'])", "input x must feed an input of a child, got the output gain.out"),
        ("build.expose_output('y', gain['x'])", "output y must show an output of a child, got the input gain.x"),
        ("build.expose_input('x', gain['x']); build.expose_output('x', gain['out'])", "name must be new in the com"),
        ("build.expose_output('own', gain['out'])", "exposed name must be new in the composite, got 'own'"),
        ("build.expose_output('a b', gain['out'])", "exposed name must be an identifier, got 'a b'"),
        (
            "build.expose_output('values', gain['out'])",
            "must have a name that blocks don't use themselves, got 'values'",
        ),
        (
            "build.expose_input('x', gain['x']); build.connect_children(total['out'], gain['x'])",
            "input gain.x must have one source, got it exposed as x already",
        ),
        (
            "build.connect_children(total['out'], gain['x']); build.expose_input('x', gain['x'])",
            "input gain.x must have one source, got it connected already",
        ),
        (
            "build.connect_children(gain['out'], total['a']); build.connect_children(total['out'], gain['x'])",
            "must not close a cycle, got total -> gain -> total",
        ),
        ("build.expose_input('x', gain['x'], optional=True)", "input x must not be optional, since a child requires"),
        ("build.expose_parameter('p', gain, 'loud')", "parameter must be one of gain, passes, got 'loud'"),
        (
            "build.expose_parameter('p', gain, 'gain'); build.expose_parameter('p', gain, 'passes')",
            "parameter p must have one type, got 2 different ones",
        ),
        (
            "build.expose_parameter('p', gain, 'gain'); build.expose_parameter('q', gain, 'gain')",
            "parameter gain.gain must be exposed once, got it a second time as q",
        ),
        ("build.expose_parameter('p', gain, 'gain', min=-9)", "minimum of p must be at least -8, as its children"),
        ("build.expose_parameter('p', gain, 'gain', max=9)", "maximum of p must be at most 8, as its children"),
        ("build.expose_parameter('p', gain, 'gain', default=9)", "parameter p must be at most 8, got 9"),
        ("build.expose_parameter('p', gain, 'gain', min=3)", "parameter p must be at least 3, got 2.0"),
        ("", "input gain.x must be connected or exposed, got nothing"),
    ],
)
def test_a_composite_that_does_not_hold_together_is_refused_when_defined(body: str, message: str) -> None:
    """A composite that breaks a rule of patches is refused when it is defined, with the broken rule."""
    with pytest.raises(BlockDefinitionError) as refused:
        bad(body)
    assert message in str(refused.value)
    assert str(refused.value).startswith(("composite test_composite.bad: ", "block test_composite.bad: "))
    assert Catalogue().get("test_composite.bad") is None


def test_a_composite_declares_neither_ports_nor_live_parameters() -> None:
    """Ports and live parameters of a composite come from its children."""
    with pytest.raises(BlockDefinitionError, match="must expose its ports in compose, got x"):

        class Ports(Composite, id="test_composite.ports"):
            """Ports of its own."""

            x: In[f32] = port(doc="Numbers.")

    with pytest.raises(BlockDefinitionError, match="parameter gain must be structural, or be exposed from a child"):

        class Live(Composite, id="test_composite.live"):
            """A live parameter that no child receives."""

            gain: float = param(1.0, doc="Gain.")

    with pytest.raises(BlockDefinitionError, match=r"composite test_composite\.box must not be a region itself"):

        class Box(Composite, id="test_composite.box", regions=("",)):
            """A region."""

    with pytest.raises(BlockDefinitionError, match=r"block test_composite\.nothing must have at least one port"):

        class Nothing(Composite, id="test_composite.nothing"):
            """No children."""

            def compose(self, build: CompositeBuilder) -> None: ...


def test_what_is_exposed_does_not_depend_on_parameters() -> None:
    """A composite must expose the same ports and parameters whatever its values are."""

    class Moody(Composite, id="test_composite.moody"):
        """Exposes other ports for another value."""

        wide: bool = param(False, structural=True, doc="One more output.")

        def compose(self, build: CompositeBuilder) -> None:
            same = build.add_child(Same)
            build.expose_input("x", same["x"])
            build.expose_output("out", same["out"])
            if self.wide:
                build.expose_output("table", same["table"])

    describe(Moody("m"))
    with pytest.raises(PatchError, match=r"composite test_composite\.moody must expose the same ports and parameters"):
        describe(Moody("m", {"wide": True}))


def test_a_child_that_can_not_be_described_is_named() -> None:
    """A child that can't be described is an error that names the child."""

    class Picky(Block, id="test_composite.picky"):
        """Refuses to be described."""

        out: Out[f32] = port(shape="[1]", doc="Nothing.")

        def describe(self, build: BlockBuilder) -> None:
            raise PatchError("path must name a file, got nothing")

    class Holder(Composite, id="test_composite.holder"):
        """Holds the child above."""

        def compose(self, build: CompositeBuilder) -> None:
            build.expose_output("out", build.add_child(Picky, "inner")["out"])

    with pytest.raises(PatchError) as refused:
        describe(Holder("h"))
    assert str(refused.value) == "child inner (test_composite.picky): path must name a file, got nothing"


def test_the_readme_of_the_room_shows_a_composite_that_holds_together() -> None:
    """The README's example of a composite can be placed, with the ports and the parameter that the README shows."""
    from warploom.engine import patch as patch_room

    (folder,) = patch_room.__path__
    text = (Path(folder) / "README.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    Patch()  # loads the block library
    exec(code, {"__name__": __name__})
    halo = Catalogue().require("image.halo")
    assert [(p.name, p.is_input, p.rank) for p in halo.ports.values()] == [("image", True, 2), ("out", False, 2)]
    assert (halo.ports["out"].shape, halo.parameters["strength"].maximum) == ("same(image)", 1)
