"""Value blocks and driven parameters on the canvas."""

from collections.abc import Sequence

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from tests.app.app_support import contrast
from tests.app.canvas.canvas_support import Hand
from tests.app.sample_blocks import Dial, Wave, make_report
from warploom.app.canvas.drawing.node_layout import layout, value_area
from warploom.app.canvas.drawing.node_painter import NEAR, body_colour
from warploom.app.canvas.items.parameter_tray import ParameterTray
from warploom.app.canvas.items.views import NodeView
from warploom.app.canvas.notice import CanvasNotice
from warploom.app.canvas.search.search_popup import SearchPopup
from warploom.app.theme.colours import DARK, LIGHT, Colours
from warploom.app.theme.port_style import PortKind
from warploom.app.view_models.node_view_model import node_view_model
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.patch.changes import Change, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import EditCost, UpdateLevel

AMOUNT, STEPS, ON = (PortRef("blend", name) for name in ("amount", "steps", "on"))
VALUE, UP = PortRef("wave", "value"), PortRef("wave", "up")


@pytest.fixture
def patch() -> Patch:
    """A patch with a wave and an unconnected block with parameters."""
    patch = Patch(Catalogue())
    patch.add("test_canvas.wave", node_id="wave", position=(-240, 0))
    patch.add("test_canvas.blend", node_id="blend", position=(0, 0))
    patch.add("test_canvas.scale", node_id="scale", position=(240, 0))
    return patch


def tray(hand: Hand) -> ParameterTray | None:
    """Return the open tray, or None."""
    return next((item for item in hand.scene.items() if isinstance(item, ParameterTray)), None)


def reach(hand: Hand, name: str) -> QPointF:
    """Drag a connection from the wave over the blend block; return the position of a parameter's row in the tray."""
    hand.drag(hand.port("wave", "value", is_input=False), hand.title("blend"), release=False)
    found = tray(hand)
    assert found is not None
    area = found.area
    places = (QPointF(area.center().x(), area.top() + 10 + 20 * row) for row in range(5))
    return next(place for place in places if (candidate := found.candidate_at(place)) and candidate.ref.port == name)


def notice(hand: Hand) -> str:
    """Return the canvas's notice, or an empty text."""
    found = hand.canvas.findChild(CanvasNotice)
    return found.text() if found is not None and found.isVisible() else ""


# Ports


def test_a_parameter_has_a_port_exactly_while_it_is_driven(hand: Hand, patch: Patch) -> None:
    """A parameter has a port exactly while it is driven, even after undo and redo."""
    view = hand.scene.nodes["blend"]
    assert ("amount", True) not in view.ports
    patch.connect(VALUE, AMOUNT)
    assert ("amount", True) in view.ports
    patch.undo()
    assert ("amount", True) not in view.ports
    patch.redo()
    patch.remove("wave")
    assert [name for name, _ in view.ports] == ["x", "out"]


def test_values_look_different_from_buffers(patch: Patch) -> None:
    """Ports of numbers and of switches are of their own kinds, at outputs and at driven parameters."""
    patch.connect(VALUE, AMOUNT)
    patch.connect(UP, ON)
    wave, blend = node_view_model(patch, "wave"), node_view_model(patch, "blend")
    assert [port.kind for port in wave.outputs] == [PortKind.NUMBER, PortKind.FLAG]
    assert [(port.name, port.kind) for port in blend.inputs] == [
        ("x", PortKind.FLOAT),
        ("amount", PortKind.NUMBER),
        ("on", PortKind.FLAG),
    ]
    assert (wave.is_value, blend.is_value) == (True, False)


def test_a_value_node_is_slimmer_than_one_with_a_time(patch: Patch) -> None:
    """A value node has a lower title bar than others, without space for a time."""
    wave = node_view_model(patch, "wave")
    assert layout(wave).header < layout(node_view_model(patch, "scale")).header
    assert layout(wave).height <= layout(node_view_model(patch, "blend")).height + 16


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_numbers_and_names_are_legible_on_the_tint_of_a_value_node(patch: Patch, theme: Colours) -> None:
    """On the tint of a value node, which differs from other nodes, dim text has a contrast of 4.5:1 and numbers 7:1."""
    wave, blend = (body_colour(node_view_model(patch, node), theme) for node in ("wave", "blend"))
    assert wave != blend == theme.node
    assert contrast(theme.text_dim, wave) >= 4.5
    assert contrast(theme.text, wave) >= 7


@pytest.mark.usefixtures("qapp")  # fonts are measured
@pytest.mark.parametrize("driven", [(), (AMOUNT,), (AMOUNT, STEPS)])
def test_numbers_cover_neither_names_nor_each_other(patch: Patch, driven: tuple[PortRef, ...]) -> None:
    """Numbers cover neither names nor each other, for any number of outputs and driven parameters."""
    for target in driven:
        patch.connect(VALUE, target)
    for node in ("wave", "blend"):
        model = node_view_model(patch, node)
        placed = layout(model)
        ports = [*zip(model.inputs, placed.inputs, strict=True), *zip(model.outputs, placed.outputs, strict=True)]
        areas = [value_area(port, centre, placed) for port, centre in ports if port.live is not None]
        assert all(placed.body.contains(area) for area in areas)
        assert not any(a.intersects(b) for i, a in enumerate(areas) for b in areas[:i])


def test_the_numbers_of_driven_parameters_stand_in_one_column(patch: Patch) -> None:
    """The numbers of driven parameters are shown in one column of equal width, whatever the lengths of their names."""
    for target in (AMOUNT, STEPS):
        patch.connect(VALUE, target)
    model = node_view_model(patch, "blend")
    placed = layout(model)
    ports = zip(model.inputs, placed.inputs, strict=True)
    areas = [value_area(port, centre, placed) for port, centre in ports if port.live is not None]
    assert len(areas) == 2
    assert len({(area.left(), area.right()) for area in areas}) == 1


# Dragging a value


def test_a_node_under_a_dragged_value_offers_its_parameters(hand: Hand) -> None:
    """Under a dragged value, a node shows a tray with each parameter and its setting, which closes afterwards."""
    height = hand.scene.nodes["blend"].layout.height
    reach(hand, "amount")
    found = tray(hand)
    assert found is not None
    candidates = [
        found.candidate_at(QPointF(found.area.center().x(), found.area.top() + 10 + 20 * row)) for row in range(4)
    ]
    assert [(o.ref.port, o.state, o.reason is None) for o in candidates if o is not None] == [
        ("amount", "0.25", True),
        ("steps", "3 px", True),
        ("on", "on", True),
        ("size", "64", False),
    ]
    hand.press(Qt.Key.Key_Escape)
    assert tray(hand) is None
    assert hand.scene.nodes["blend"].layout.height == height


def test_a_value_is_dropped_on_a_row(hand: Hand, patch: Patch) -> None:
    """A value that is dropped on a row drives that parameter, in one undo step."""
    place = reach(hand, "steps")
    hand.drag(hand.port("wave", "value", is_input=False), hand.title("blend"), release=False)
    follow_and_release(hand, place)
    assert patch.source_of(STEPS) == VALUE
    patch.undo()
    assert patch.connections == []


def test_a_structural_parameter_says_why_it_is_not_driven(hand: Hand, patch: Patch) -> None:
    """The row of a structural parameter shows why it can't be driven, and a drop connects nothing."""
    place = reach(hand, "size")
    follow(hand, place)
    assert "must be live to be driven" in notice(hand)
    follow_and_release(hand, place)
    assert patch.connections == []


def test_the_notice_covers_no_row(hand: Hand) -> None:
    """The notice is beside the tray and covers no row."""
    follow(hand, reach(hand, "steps"))
    found, said = tray(hand), hand.canvas.findChild(CanvasNotice)
    assert found is not None and said is not None
    rows = hand.view.mapFromScene(found.area).boundingRect()
    assert said.isVisible() and not rows.intersects(said.geometry())


def test_a_drop_on_the_node_asks_which_parameter_is_meant(hand: Hand, patch: Patch, qtbot: QtBot) -> None:
    """A drop on the node opens a menu of the parameters that can be driven, and connects nothing before the choice."""
    hand.drag(hand.port("wave", "value", is_input=False), hand.title("blend"))
    menu = hand.canvas.findChild(QMenu)
    assert isinstance(menu, QMenu) and patch.connections == []
    choices = [action for action in menu.actions() if action.isEnabled() and not action.isSeparator()]
    assert [action.text() for action in choices] == ["amount\t0.25", "steps\t3 px", "on\ton"]
    choices[1].trigger()
    assert patch.source_of(STEPS) == VALUE
    menu.hide()
    qtbot.waitUntil(lambda: hand.canvas.findChild(QMenu) is None)


def test_a_node_with_one_parameter_needs_no_choice(hand: Hand, patch: Patch) -> None:
    """A drop on a node with one parameter drives that parameter."""
    patch.add("test_canvas.dial", node_id="dial", position=(0, 200))
    hand.drag(hand.port("wave", "value", is_input=False), hand.title("dial"))
    assert patch.source_of(PortRef("dial", "turn")) == VALUE


def test_a_node_without_parameters_takes_no_value(hand: Hand, patch: Patch) -> None:
    """A node without parameters is dimmed under a dragged value, and shows no tray."""
    hand.drag(hand.port("wave", "value", is_input=False), hand.title("scale"), release=False)
    assert hand.scene.nodes["scale"].appearance.fitting == set()
    assert hand.scene.nodes["blend"].appearance.fitting == {(name, True) for name in ("amount", "steps", "on")}
    assert tray(hand) is None


def test_a_driven_port_gives_its_connection_back(hand: Hand, patch: Patch) -> None:
    """A connection dragged off a driven port can be dropped on another parameter; dropped elsewhere, it is removed."""
    patch.connect(VALUE, AMOUNT)
    patch.connect(UP, STEPS)
    hand.drag(hand.port("blend", "amount", is_input=True), hand.port("blend", "steps", is_input=True))
    assert [str(connection) for connection in patch.connections] == ["wave.value -> blend.steps"]
    hand.drag(hand.port("blend", "steps", is_input=True), QPointF(40, 240))
    assert patch.connections == []


def test_a_value_dropped_on_the_canvas_finds_value_blocks_first(hand: Hand, patch: Patch) -> None:
    """A value that is dropped on the canvas lists value blocks first, since nearly every block has a parameter."""
    hand.drag(hand.port("wave", "value", is_input=False), QPointF(0, 240))
    popup = hand.canvas.findChild(SearchPopup)
    assert popup is not None and popup.isVisible()
    found = [row.data(0, Qt.ItemDataRole.UserRole) for row in popup.rows()]
    are_values = [block_type.is_value for block_type in found]
    assert Wave in found and Dial in found
    assert are_values == sorted(are_values, reverse=True)


def test_a_block_inserted_on_a_value_connection_suits_the_parameter(hand: Hand, patch: Patch) -> None:
    """A value block inserted before a parameter takes over the parameter's value and range, and passes the value on."""
    patch.set("blend", steps=9)
    patch.connect(VALUE, STEPS)
    hand.double_click(next(iter(hand.scene.connections.values())).path().pointAtPercent(0.5))
    popup = hand.canvas.findChild(SearchPopup)
    assert popup is not None and popup.isVisible()
    found = [row.data(0, Qt.ItemDataRole.UserRole) for row in popup.rows()]
    assert Dial in found and all(block_type.has_values for block_type in found)
    popup.chosen.emit(Dial)
    source = patch.source_of(STEPS)
    assert source is not None and patch.value(source.node, "turn") == 2
    assert patch.source_of(PortRef(source.node, "turn")) == VALUE


# Live values


@pytest.mark.feature("activity")
def test_numbers_follow_the_reports(hand: Hand, patch: Patch, qtbot: QtBot) -> None:
    """Nodes show the reported values of outputs and of driven parameters."""
    patch.connect(VALUE, STEPS)
    ports = (hand.scene.nodes["wave"].ports["value", False], hand.scene.nodes["blend"].ports["steps", True])
    assert [port.model.live.text(hand.scene.values) for port in ports] == ["–", "–"]
    for value, taken, shown in ((4.4, 4, ("4.400", "4")), (-7.0, 1, ("-7.000", "1")), (123.0, 9, ("123.0", "9"))):
        hand.canvas.show_report(make_report(values={"wave.value": value, "wave.up": 1.0, "blend.steps": taken}))
        qtbot.waitUntil(lambda value=value: hand.scene.values.get("wave.value") == value)
        assert tuple(port.model.live.text(hand.scene.values) for port in ports) == shown


def test_only_nodes_whose_numbers_changed_are_repainted(
    hand: Hand, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report with the same digits repaints nothing, and a changed number repaints its node."""
    painted: list[str] = []
    monkeypatch.setattr(NodeView, "update", lambda self: painted.append(self.id))

    def show(value: float) -> None:
        hand.canvas.show_report(make_report(values={"wave.value": value, "wave.up": 0.0}))
        qtbot.waitUntil(lambda: hand.scene.values.get("wave.value") == value)

    show(0.5)
    painted.clear()
    show(0.50001)
    assert painted == []
    show(0.6)
    assert painted == ["wave"]
    hand.canvas.view.set_zoom(NEAR / 2)
    show(0.7)
    assert len(painted) == 1


# The slider on a node


def test_a_slider_on_a_node_is_dragged_in_one_undo_step(hand: Hand, patch: Patch) -> None:
    """A drag of a slider on a node sets its value and moves no node, and one undo reverts the whole drag."""
    patch.add("test_canvas.dial", node_id="dial", position=(0, 200))
    before = patch.history.names
    view = hand.scene.nodes["dial"]
    track = view.layout.track
    assert track is not None
    left, right = view.mapToScene(track.center()), view.mapToScene(QPointF(track.right(), track.center().y()))
    hand.drag(left, right + QPointF(40, 30))
    assert patch.value("dial", "turn") == 2.0
    assert patch.nodes["dial"].position == (0, 200)
    assert len(patch.history.names) == len(before) + 1
    patch.undo()
    assert patch.value("dial", "turn") == 0.5
    assert view.model.slider is not None and view.model.slider.value == 0.5


def test_a_driven_slider_is_not_set_by_hand(hand: Hand, patch: Patch) -> None:
    """A driven slider has no track to drag, and has a port."""
    patch.add("test_canvas.dial", node_id="dial", position=(0, 200))
    patch.connect(VALUE, PortRef("dial", "turn"))
    view = hand.scene.nodes["dial"]
    assert view.model.slider is None and ("turn", True) in view.ports


def follow(hand: Hand, place: QPointF) -> None:
    """Move the mouse with the button held."""
    for step in (1, 0):
        QTest.mouseMove(hand.view.viewport(), hand.view.mapFromScene(place + QPointF(step, 0)))
        QApplication.processEvents()


def follow_and_release(hand: Hand, place: QPointF) -> None:
    """Move the mouse and release the button."""
    follow(hand, place)
    QTest.mouseRelease(
        hand.view.viewport(),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        hand.view.mapFromScene(place),
    )


# What it would cost


def test_the_cost_is_shown_before_a_connection_is_dropped(hand: Hand, patch: Patch) -> None:
    """A port that accepts a connection shows the cost of a drop, which is requested once per visit of the port.

    The cost includes the connection that the drop would replace.
    """
    patch.add("test_canvas.wave", node_id="other", position=(-240, 200))
    patch.connect(PortRef("other", "value"), STEPS)
    asked: list[list[str]] = []

    def cost(changes: Sequence[Change]) -> EditCost:
        asked.append([type(change).__name__ for change in changes])
        return EditCost(UpdateLevel.HOT, "a test")

    hand.canvas.connecting.cost = cost
    follow(hand, reach(hand, "steps"))
    assert notice(hand) == "wave.value → blend.steps\nParameter write"
    follow(hand, reach(hand, "steps"))
    assert asked == [["Disconnected", "Connected"]] * 2
