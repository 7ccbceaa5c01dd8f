"""Connections go around blocks and regions, and what flows looks the same at both ends."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF
from pytestqt.qtbot import QtBot

from tests.app.canvas.canvas_support import Hand
from tests.fuzzing import many
from warploom import app
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.drawing.routes import way_around
from warploom.app.canvas.items.views import ConnectionView
from warploom.app.theme.port_style import PortKind
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import load_patch

EXAMPLES = {path.stem: path for path in (Path(app.__file__).parents[1] / "resources").rglob("*.loom")}


def crossed(line: ConnectionView, canvas: Canvas) -> list[str]:
    """Return the nodes that a connection runs through."""
    points = [line.path().pointAtPercent(step / 200) for step in range(1, 200)]
    inner = {node: view.place.adjusted(2, 2, -2, -2) for node, view in canvas.scene.nodes.items()}
    return [node for node, place in inner.items() if any(place.contains(point) for point in points)]


@pytest.mark.parametrize("seed", range(many(20)))
def test_a_way_between_spaced_blocks_crosses_none(seed: int) -> None:
    """Between blocks with space around them, there is a way from any block to any other that crosses no block."""
    chance = random.Random(seed)
    places = [(column, row) for column in range(6) for row in range(5)]
    blocks = [
        QRectF(column * 260 + chance.uniform(0, 40), row * 160 + chance.uniform(0, 30), 120, chance.choice((48, 80)))
        for column, row in chance.sample(places, 14)
    ]
    edges = np.array([(rect.left(), rect.top(), rect.right(), rect.bottom()) for rect in blocks]).T
    for _ in range(10):
        first, last = chance.sample(blocks, 2)
        source, target = first.topRight() + QPointF(0, 36), last.topLeft() + QPointF(0, 36)
        way = way_around(source, target, edges)
        if way is None:
            assert target.x() > source.x()
            continue
        assert way[0] == (source.x(), source.y()) and way[-1] == (target.x(), target.y())
        for (x1, y1), (x2, y2) in itertools.pairwise(way):
            piece = QRectF(QPointF(min(x1, x2), min(y1, y2)), QPointF(max(x1, x2), max(y1, y2)))
            piece.adjust(-0.1, -0.1, 0.1, 0.1)
            assert x1 == x2 or y1 == y2
            assert not any(piece.intersects(block.adjusted(1, 1, -1, -1)) for block in blocks)


def test_connections_of_a_crowded_example_cross_no_block(canvas: Canvas, qtbot: QtBot) -> None:
    """In the springs, no connection runs through a block."""
    canvas.set_patch(load_patch(EXAMPLES["springs"]))
    canvas.fit()
    canvas.grab()
    qtbot.waitUntil(lambda: not canvas.scene._router._loose)
    through = {str(connection): crossed(line, canvas) for connection, line in canvas.scene.connections.items()}
    assert {name: nodes for name, nodes in through.items() if nodes} == {}


def test_a_connection_goes_around_a_block_that_is_dropped_on_it(hand: Hand, patch: Patch, qtbot: QtBot) -> None:
    """A connection goes around a block that a person drops on it, and is a curve again once the block is away."""
    (line,) = (line for line in hand.scene.connections.values() if line.connection.source == PortRef("source", "out"))
    straight = line.path()
    middle, start = straight.pointAtPercent(0.5), hand.title("count")
    hand.drag(start, start + middle - hand.scene.nodes["count"].place.center())
    qtbot.waitUntil(lambda: line.path() != straight)
    assert hand.scene.nodes["count"].place.contains(middle)
    assert crossed(line, hand.canvas) == []
    patch.undo()
    qtbot.waitUntil(lambda: line.path() == straight)


@pytest.mark.parametrize("example", ["colours", "feedback", "jacobi", "mandelbrot", "nested", "springs", "whirl"])
def test_what_flows_looks_the_same_at_both_ends(canvas: Canvas, example: str) -> None:
    """In examples of every kind, the ports at both ends of a connection have one shape and colour."""
    canvas.set_patch(load_patch(EXAMPLES[example]))
    for line in canvas.scene.connections.values():
        assert line.output_port.model.kind is line.input_port.model.kind, str(line.connection)


def test_an_image_stays_an_image_through_blocks_for_any_data(canvas: Canvas) -> None:
    """An image that goes through copies looks like an image, until something else is connected to the first of them."""
    patch = Patch()
    picture, numbers = patch.add("image.noise"), patch.add("io.array")
    first, second = patch.add("buffer.copy"), patch.add("buffer.copy")
    canvas.set_patch(patch)

    def kinds() -> list[PortKind]:
        return [port.model.kind for node in (first, second) for port in canvas.scene.nodes[node.id].ports.values()]

    patch.connect(first["out"], second["x"])
    assert kinds() == [PortKind.ANY] * 4
    shown = patch.connect(picture["out"], first["x"])
    assert kinds() == [canvas.scene.nodes[picture.id].ports["out", False].model.kind] * 4
    patch.disconnect(shown)
    patch.connect(numbers["out"], first["x"])
    assert kinds() == [PortKind.ANY] * 4


@pytest.mark.parametrize("seed", range(many(3)))
def test_lanes_belong_to_connections_that_are_there(canvas: Canvas, patch: Patch, seed: int) -> None:
    """Whatever is moved, connected and removed, each lane that is taken belongs to a shown connection."""
    chance = random.Random(seed)
    nodes = [patch.add("math.add", position=(chance.uniform(0, 900), chance.uniform(0, 500))).id for _ in range(12)]
    canvas.set_patch(patch)
    router = canvas.scene._router
    for _ in range(60):
        node, other = chance.sample(nodes, 2)
        try:
            match chance.randrange(4):
                case 0:
                    patch.connect(PortRef(node, "out"), PortRef(other, chance.choice("xy")))
                case 1 if patch.connections:
                    patch.disconnect(chance.choice(patch.connections).target)
                case _:
                    near = patch.nodes[other].position
                    patch.move(node, (near[0] + chance.uniform(-60, 200), near[1] + chance.uniform(-40, 40)))
        except PatchError:  # a circle
            continue
        while router._loose:
            router.settle()
        shown = set(canvas.scene.connections.values())
        assert {line for lane in router._lanes.values() for line in lane} <= shown
        assert router._used.keys() <= shown
