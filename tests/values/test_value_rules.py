"""Value connections in the document: allowed drivers, undo, files, composites, declarations."""

from pathlib import Path

import pytest

from warploom import Patch
from warploom.api import (
    Block,
    BlockBuilder,
    Composite,
    CompositeBuilder,
    Moment,
    Out,
    Value,
    ValueBlock,
    f32,
    param,
    port,
    value_port,
)
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.declarations import ValueSpec
from warploom.engine.descriptions.checks import BlockDefinitionError
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.patch.files import dump_patch, load_patch, parse_patch, save_patch
from warploom.engine.patch.rules import NotDrivable, TypeMismatch, UnknownPort, WouldCycle, WrongDirection


class Nodes:
    """A patch with two LFOs, a Saxpy and a Noise."""

    def __init__(self) -> None:
        self.patch = Patch()
        self.lfo = self.patch.add("value.lfo", node_id="lfo")
        self.other = self.patch.add("value.lfo", node_id="other")
        self.saxpy = self.patch.add("math.saxpy", node_id="saxpy")
        self.noise = self.patch.add("image.noise", node_id="noise")


@pytest.fixture
def nodes() -> Nodes:
    """Return the patch of these nodes, without connections."""
    return Nodes()


def test_a_value_drives_live_parameters_of_any_block(nodes: Nodes) -> None:
    """A value may drive device blocks and other value blocks, and one output may drive several parameters."""
    patch = nodes.patch
    patch.connect(nodes.lfo["value"], nodes.saxpy["a"])
    patch.connect(nodes.lfo["value"], nodes.other["frequency"])
    patch.connect(nodes.other["value"], nodes.noise["speed"])
    assert all(patch.is_value_connection(c) for c in patch.connections)
    assert patch.source_of(PortRef("saxpy", "a")) == PortRef("lfo", "value")


@pytest.mark.parametrize(
    ("source", "target", "kind", "told"),
    [
        ("lfo.value", "saxpy.x", TypeMismatch, "takes a buffer of f32, got a single value from lfo.value"),
        ("noise.out", "lfo.phase", TypeMismatch, "takes the value of a value block, got a buffer of float4"),
        ("saxpy.out", "saxpy.a", TypeMismatch, "takes the value of a value block, got a buffer of f32"),
        ("lfo.value", "noise.width", NotDrivable, "must be live to be driven, got a structural one"),
        ("lfo.value", "other.shape", NotDrivable, "must be a number or a boolean to be driven, got str"),
        ("lfo.value", "other.value", WrongDirection, "must be an input, got an output"),
        ("lfo.value", "saxpy.out", WrongDirection, "must be an input, got an output"),
        ("saxpy.a", "lfo.phase", WrongDirection, "must be an output, got a parameter"),
        ("saxpy.x", "lfo.phase", WrongDirection, "must be an output, got an input"),
        ("lfo.nothing", "saxpy.a", UnknownPort, "port of lfo must be one of value, got 'nothing'"),
        ("lfo.value", "saxpy.nothing", UnknownPort, "port of saxpy must be one of x, y, out, got 'nothing'"),
        ("lfo.value", "lfo.phase", WouldCycle, "must not close a cycle, got lfo -> lfo"),
    ],
)
def test_refused_connections_say_why(nodes: Nodes, source: str, target: str, kind: type[PatchError], told: str) -> None:
    """A refused connection raises the exception for its reason, and nothing is connected."""
    with pytest.raises(kind, match=told):
        nodes.patch.connect(PortRef(*source.split(".")), PortRef(*target.split(".")))
    assert not nodes.patch.connections


def test_value_connections_form_no_cycle_in_any_scope(nodes: Nodes) -> None:
    """A cycle of values is refused, even across regions; a connection that is being replaced doesn't count."""
    patch = nodes.patch
    patch.connect(nodes.lfo["value"], nodes.other["frequency"])
    with pytest.raises(WouldCycle, match="got other -> lfo -> other"):
        patch.connect(nodes.other["value"], nodes.lfo["frequency"])
    third = patch.add("value.time", node_id="third")
    patch.connect(third["seconds"], nodes.other["frequency"])
    patch.connect(nodes.other["value"], nodes.lfo["frequency"])


def test_value_blocks_order_no_regions() -> None:
    """A value block in a region may drive what the region depends on, and may be driven from the other branch."""
    patch = Patch()
    on = patch.add("buffer.constant", dtype="boolean")
    choice = patch.add("control.if_else")
    patch.connect(on["out"], choice["condition"])
    inside = patch.add("value.lfo", region=choice.body)
    other = patch.add("value.lfo", region=choice.otherwise)
    patch.connect(inside["value"], on["value"])
    patch.connect(inside["value"], other["phase"])
    patch.move_into(inside, "")
    patch.move_into([inside, other], choice.otherwise)


def test_value_connections_are_edits_like_others(nodes: Nodes) -> None:
    """Undo, redo, removal of a node and insertion of a copy treat value connections as they treat others."""
    patch = nodes.patch
    patch.connect(nodes.lfo["value"], nodes.saxpy["a"])
    text = dump_patch(patch)
    patch.remove(nodes.saxpy)
    assert not patch.connections
    patch.undo()
    assert dump_patch(patch) == text
    ids = patch.insert(patch.excerpt(["lfo", "saxpy"]))
    assert patch.source_of(PortRef(ids["saxpy"], "a")) == PortRef(ids["lfo"], "value")
    patch.undo()
    patch.undo()
    assert not patch.connections


def test_setting_a_driven_parameter_stores_the_value(nodes: Nodes) -> None:
    """The patch keeps the value that a person sets on a driven parameter."""
    nodes.patch.connect(nodes.lfo["value"], nodes.saxpy["a"])
    nodes.patch.set(nodes.saxpy, a=7.0)
    assert nodes.patch.value(nodes.saxpy, "a") == 7.0


def test_files_hold_value_connections(nodes: Nodes, tmp_path: Path) -> None:
    """Value connections survive saving and loading, and are saved as the same text again."""
    nodes.patch.connect(nodes.lfo["value"], nodes.saxpy["a"])
    nodes.patch.connect(nodes.lfo["value"], nodes.other["phase"])
    save_patch(nodes.patch, tmp_path / "p.loom")
    loaded = load_patch(tmp_path / "p.loom")
    assert loaded.connections == sorted(nodes.patch.connections, key=lambda c: str(c.target))
    assert dump_patch(loaded) == dump_patch(nodes.patch) == dump_patch(parse_patch(dump_patch(nodes.patch)))


def test_a_composite_holds_no_value_blocks() -> None:
    """A composite with a value block is refused: its parameters are driven from outside."""
    with pytest.raises(BlockDefinitionError, match="must hold blocks that run on the device, got the value block"):

        class Bad(Composite, id="test_values.bad"):
            """Holds an LFO."""

            def compose(self, build: CompositeBuilder) -> None:
                """Place an LFO."""
                build.add_child("value.lfo")


def test_a_parameter_of_a_child_is_no_port() -> None:
    """Nothing inside a composite can drive a child's parameter."""

    def compose(build: CompositeBuilder, fill: NodeRef) -> None:
        build.expose_output("out", fill["value"])

    with pytest.raises(BlockDefinitionError, match="port of constant must be one of out, got 'value'"):

        class Bad(Composite, id="test_values.bad_port"):
            """Shows a parameter."""

            def compose(self, build: CompositeBuilder) -> None:
                """Expose a child's parameter as an output."""
                compose(build, build.add_child("buffer.constant"))


def test_declared_outputs_are_kept_apart_from_ports() -> None:
    """A value block has no ports; its code reads its outputs and parameters as values."""

    class Twice(ValueBlock, id="test_values.twice"):
        """Double a number."""

        value: Value[float] = value_port(doc="Twice the number.", unit="m")
        on: Value[bool] = value_port(doc="True.")
        number: float = param(2.0, doc="Is doubled.")
        text: str = param("a", doc="Is not.")

        def update(self, now: Moment) -> None:
            """Double."""
            self.value = 2 * self.number
            self.on = True

    assert block_types.get("test_values.twice") is Twice
    assert Twice.is_value and not Twice.ports and not Block.is_value
    assert Twice.value_outputs() == [
        ValueSpec("value", "float", "Twice the number.", "m"),
        ValueSpec("on", "bool", "True."),
    ]
    assert not Twice.parameters["number"].structural and Twice.parameters["text"].structural
    block = Twice("node", {"number": 4.0})
    assert (block.value, block.on) == (0.0, False)
    block.update(Moment())
    assert (block.value, block.on) == (8.0, True)


def bad_annotation() -> None:
    """Annotates an output as text."""

    class Bad(ValueBlock, id="test_values.bad1"):
        """Give a text."""

        value: Value[str] = value_port(doc="A text.")  # type: ignore[type-var] # wrong on purpose


def no_output() -> None:
    """Declares only a parameter."""

    class Bad(ValueBlock, id="test_values.bad2"):
        """Give nothing."""

        number: float = param(2.0, doc="Goes nowhere.")


def with_buffer() -> None:
    """Declares a buffer port."""

    class Bad(ValueBlock, id="test_values.bad3"):
        """Give a buffer."""

        out: Out[f32] = port(shape="[1]", doc="A buffer.")
        value: Value[float] = value_port(doc="A value.")


def without_doc() -> None:
    """Declares an output without a description."""

    class Bad(ValueBlock, id="test_values.bad4"):
        """Give a value."""

        value: Value[float] = value_port(doc=" ")


def taken_name() -> None:
    """Declares an output with the name of a method."""

    class Bad(ValueBlock, id="test_values.bad5"):
        """Give a value."""

        update: Value[float] = value_port(doc="A value.")  # type: ignore[assignment] # a clash on purpose


def no_handle() -> None:
    """Declares a handle that can't be drawn."""

    class Bad(ValueBlock, id="test_values.bad7"):
        """Give a value."""

        handle = "number"
        value: Value[float] = value_port(doc="A value.")
        number: float = param(0.0, min=0, doc="A number without an upper end.")


def on_the_device() -> None:
    """Declares a value output on a block of the device."""

    class Bad(Block, id="test_values.bad6"):
        """Give a value."""

        out: Out[f32] = port(shape="[1]", doc="A buffer.")
        value: Value[float] = value_port(doc="A value.")

        def describe(self, build: BlockBuilder) -> None:
            """Do nothing."""


@pytest.mark.parametrize(
    ("define", "told"),
    [
        (bad_annotation, r"value output value must be annotated Value\[float\], Value\[int\] or Value\[bool\]"),
        (no_output, "must have at least one value output, got none"),
        (with_buffer, "must have value outputs only, got port out"),
        (without_doc, "value output value must have a doc, got none"),
        (taken_name, "must have a name that blocks don't use themselves, got 'update'"),
        (no_handle, "handle must name a number with min and max, got 'number'"),
        (on_the_device, "the value value must be an output of a ValueBlock"),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_wrong_declarations_say_what_must_hold(define: object, told: str) -> None:
    """A wrong declaration is refused when the class is defined, and the message says what must hold."""
    with pytest.raises(BlockDefinitionError, match=told):
        define()  # type: ignore[operator]  # one of the functions above
