"""The view model of a node on the canvas."""

from warploom.app.theme.port_style import PortKind
from warploom.app.view_models.node_view_model import node_view_model
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.patch.changes import Connected, Connection, Node, NodeAdded, PortRef
from warploom.engine.patch.document import Patch


def test_ports_are_of_the_kind_that_flows() -> None:
    """Pixels in two dimensions are of the kind IMAGE; structs, numbers and `any_type` are of other kinds."""
    patch = Patch(Catalogue())
    found = {}
    for name in ("source", "count", "soften", "sparks", "show"):
        node = patch.add(f"test_canvas.{name}")
        found[name] = node_view_model(patch, node.id).outputs[0].kind
    assert found == {
        "source": PortKind.FLOAT,
        "count": PortKind.INTEGER,
        "soften": PortKind.IMAGE,
        "sparks": PortKind.STRUCT,
        "show": PortKind.ANY,
    }


def test_a_missing_type_becomes_a_placeholder_with_the_ports_its_connections_name(patch: Patch) -> None:
    """A node of a missing type is a placeholder with the ports that its connections name."""
    into, out = PortRef("old", "input"), PortRef("old", "result")
    patch.restore(
        [
            NodeAdded(Node(id="old", type="foo.bar")),
            Connected(Connection(PortRef("scale", "out"), into)),
            Connected(Connection(out, PortRef("count", "x"))),
        ]
    )
    model = node_view_model(patch, "old")
    assert (model.title, model.missing) == ("Missing: foo.bar", True)
    assert [port.name for port in model.inputs] == ["input"]
    assert [port.name for port in model.outputs] == ["result"]
    assert all(port.dangling for port in (*model.inputs, *model.outputs))


def test_a_port_that_the_type_lacks_is_marked(patch: Patch) -> None:
    """A port that only a connection names is listed and marked as dangling."""
    patch.restore([Connected(Connection(PortRef("source", "out"), PortRef("scale", "gone")))])
    inputs = node_view_model(patch, "scale").inputs
    assert [(port.name, port.dangling) for port in inputs] == [("x", False), ("gain", False), ("gone", True)]


def test_a_loaded_picture_is_an_image_before_anything_runs() -> None:
    """The port of a loaded picture is of the kind IMAGE before anything runs."""
    patch = Patch()
    for name in ("load_image", "image_array"):
        node = patch.add(f"io.{name}")
        assert node_view_model(patch, node.id).outputs[0].kind is PortKind.IMAGE
