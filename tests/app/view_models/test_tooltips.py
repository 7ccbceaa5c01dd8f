"""Tooltips of the canvas."""

import pytest

from tests.app.sample_blocks import make_report
from warploom.app.view_models.block_help import help_html
from warploom.app.view_models.tooltips import (
    buffer_text,
    connection_tooltip,
    message_text,
    node_tooltip,
    port_tooltip,
    time_text,
    tooltip,
)
from warploom.app.widgets.tooltip import as_html
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.patch.changes import Connection, Node, NodeAdded, NodeRegionChanged, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import BufferReport, NodeReport, NodeState


def test_a_node_tooltip_has_type_state_time_and_kernels(patch: Patch) -> None:
    """A node's tooltip shows its type, id, summary, state, last time and number of kernels."""
    report = make_report({"scale": NodeReport("test_canvas.scale", NodeState.OK, "", 420_000, 2)})
    text = node_tooltip(patch, "scale", report)
    assert text.splitlines() == [
        "Scale",
        "test_canvas.scale, scale",
        "Quokka that scales samples.",
        "running, 420 µs, 2 kernels",
    ]


def test_a_node_tooltip_names_the_blocks_that_run_before_and_after() -> None:
    """Blocks with an order, which no connection shows, name each other by their titles."""
    patch = Patch()
    for name in "abc":
        patch.add("math.scale_offset", node_id=name, title=name.upper())
    patch.order("a", "b")
    patch.order("b", "c")
    lines = node_tooltip(patch, "b", None).splitlines()
    assert lines[2:4] == ["runs after A", "runs before C"]
    assert "runs" not in node_tooltip(patch, "a", None).replace("runs before B", "")


def test_a_node_tooltip_says_which_blocks_share_a_kernel(patch: Patch) -> None:
    """Blocks that share a kernel name each other in their tooltips."""
    own = NodeReport("test_canvas.scale", NodeState.OK, "", 420_000, 1)
    fused = {f"n{k}": NodeReport("test_canvas.scale", NodeState.OK, "", None, 0, ("scale",)) for k in range(6)}
    text = node_tooltip(patch, "scale", make_report({"scale": own, **fused}))
    assert text.endswith("Its kernel also does the work of n0, n1, n2, n3 and 2 more.")
    other = NodeReport("test_canvas.scale", NodeState.OK, "", None, 0, ("into",))
    text = node_tooltip(patch, "scale", make_report({"scale": other}))
    assert "running\nFused into into: one kernel does the work of both" in text
    twice = NodeReport("test_canvas.scale", NodeState.OK, "", None, 0, ("one", "two"))
    text = node_tooltip(patch, "scale", make_report({"scale": twice}))
    assert "running\nFused into one, two: each of their kernels computes this block again" in text
    partly = NodeReport("test_canvas.scale", NodeState.OK, "", 420_000, 1, ("other",))
    text = node_tooltip(patch, "scale", make_report({"scale": partly}))
    assert text.endswith("1 kernel\nThe kernel of other does a part of its work.")


@pytest.mark.parametrize(
    "message", ["it waits for {}, which is incomplete", "the graph stays as it is until {} is corrected"]
)
def test_a_block_that_another_waits_for_is_named_by_its_title(patch: Patch, message: str) -> None:
    """A block that another waits for is named by its title, or by its id if it was removed."""
    patch.rename("source", "Sun")
    for node, shown in (("source", "Sun"), ("gone", "gone")):
        report = NodeReport("t", NodeState.IDLE, f"not running: {message.format(node)}", waits_for=node)
        assert message_text(patch, report) == f"not running: {message.format(shown)}"


def test_a_node_tooltip_names_its_region(patch: Patch) -> None:
    """A node's tooltip names its region by the region block's title, with the branch."""
    patch.restore(
        [NodeAdded(Node(id="old", type="foo.choice", title="Choose")), NodeRegionChanged("scale", "old.else", "")]
    )
    assert node_tooltip(patch, "scale", None).splitlines()[2] == "inside Choose, otherwise"
    patch.move_into("scale", "old")
    assert node_tooltip(patch, "scale", None).splitlines()[2] == "inside Choose"
    patch.move_into("scale", "")
    assert "inside" not in node_tooltip(patch, "scale", None)


def test_a_failed_node_says_why(patch: Patch) -> None:
    """A failed node's tooltip shows the engine's message."""
    report = make_report(
        {"scale": NodeReport("test_canvas.scale", NodeState.ERROR, "x must be connected, got nothing")}
    )
    assert "error\nx must be connected, got nothing" in node_tooltip(patch, "scale", report)


def test_a_missing_block_type_is_named(patch: Patch) -> None:
    """A placeholder's tooltip names the missing block type."""
    patch.restore([NodeAdded(Node(id="old", type="foo.bar"))])
    assert "Block type foo.bar is not installed" in node_tooltip(patch, "old", None)


def test_a_connection_tooltip_has_dtype_shape_and_bytes(patch: Patch) -> None:
    """A connection's tooltip shows the element type, shape and bytes of the buffer at its source."""
    connection = Connection(PortRef("source", "out"), PortRef("scale", "x"))
    report = make_report(buffers={"source.out": BufferReport("Particle", (100_000,), 3_200_000, 4_000_000)})
    assert connection_tooltip(patch, connection, report).splitlines() == [
        "source.out → scale.x",
        "Particle, 100,000 elements, 3.05 MB",
    ]
    assert connection_tooltip(patch, connection, None).endswith("No data yet.")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((), "f32, scalar, 4 B"),
        ((1,), "f32, 1 element, 4 B"),
        ((3, 5), "f32, [3, 5], 4 B"),
    ],
)
def test_allocated_bytes_are_mentioned_only_when_they_differ(shape: tuple[int, ...], expected: str) -> None:
    """An allocated size that equals the used size is not shown."""
    assert buffer_text(BufferReport("f32", shape, 4, 4)) == expected


def test_an_input_tooltip_has_rule_help_and_what_arrives(patch: Patch) -> None:
    """An input's tooltip shows its type, its help, and the buffer of its source."""
    report = make_report(buffers={"source.out": BufferReport("f32", (64,), 256, 256)})
    assert port_tooltip(patch, PortRef("scale", "x"), report).splitlines() == [
        "x: f32",
        "input",
        "Samples to scale.",
        "f32, 64 elements, 256 B",
    ]


def test_an_open_required_input_says_that_the_block_needs_it(patch: Patch) -> None:
    """The tooltip of an unconnected input says so, and that the block needs the input if it is required."""
    assert port_tooltip(patch, PortRef("count", "x"), None).endswith("Not connected: the block needs it to run.")
    assert port_tooltip(patch, PortRef("scale", "gain"), None).endswith("Not connected.")


def test_an_output_tooltip_has_its_shape_rule(patch: Patch) -> None:
    """An output's tooltip shows its shape rule."""
    assert "output, shape same(x)" in port_tooltip(patch, PortRef("scale", "out"), None)


def test_a_dangling_port_says_that_the_type_lacks_it(patch: Patch) -> None:
    """The tooltip of a port that only a connection names says that the type lacks it."""
    assert "has no port with this name" in port_tooltip(patch, PortRef("scale", "gone"), None)


@pytest.mark.parametrize(
    ("time_ns", "expected"),
    [(420_000, "0.42 ms"), (1_204_000, "1.20 ms"), (4_700, "4.70 µs"), (16_600_000, "16.6 ms"), (99_499, "99.5 µs")],
)
def test_badges_are_in_milliseconds_as_far_as_these_tell_something(time_ns: int, expected: str) -> None:
    """Times on nodes are in milliseconds, unless they are too short for that unit."""
    assert time_text(time_ns) == expected


@pytest.mark.usefixtures("qapp")  # fonts need an application
def test_marked_code_has_its_font_and_no_marks() -> None:
    """Marked code is shown in the code font without marks, even across two lines, in all shipped blocks' help too."""
    assert "a &lt; <code>b</code>, <code>two</code><br><code>lines</code>." in as_html("Title\na < `b`, `two\nlines`.")
    patch = Patch()
    types = default_catalogue().all()
    assert any("`" in (block_type.__doc__ or "") for block_type in types)
    for block_type in types:
        node = patch.add(block_type.id).id
        for hit in (node, *(PortRef(node, name) for name in block_type.ports)):
            assert "`" not in as_html(tooltip(patch, hit, None))
        assert "`" not in help_html(block_type)


@pytest.mark.usefixtures("qapp")  # fonts need an application
def test_quoted_code_keeps_its_columns() -> None:
    """Quoted code is monospaced and keeps its lines and spaces."""
    html = as_html("Forces\na.cu(3): expected a < b\n      long = code;\n      ^")
    assert html.startswith("<p style='white-space: pre")
    assert "<b>Forces</b><br>a.cu(3): expected a &lt; b<br>" in html
    assert html.count("font-family") == 2
