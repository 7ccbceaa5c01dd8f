"""Views are found by their places."""

import random

import pytest
from PySide6.QtCore import QPointF, QRectF

from tests.app.canvas.canvas_support import Hand
from tests.fuzzing import many, seeds
from warploom.app.canvas.canvas import Canvas
from warploom.app.canvas.items.places import Places
from warploom.engine.patch.document import Patch


@pytest.mark.parametrize("seed", seeds(10))
def test_an_area_holds_the_views_that_lie_in_it(seed: int) -> None:
    """After views came, moved and went, an area holds those that touch it, in the order in which they came."""
    chance = random.Random(seed)
    places, known = Places[int](), dict[int, QRectF]()

    def rect() -> QRectF:
        return QRectF(
            chance.uniform(-500, 500), chance.uniform(-500, 500), chance.uniform(1, 200), chance.uniform(1, 200)
        )

    for number in range(many(600)):
        if known and chance.random() < 0.45:
            gone = chance.choice([*known])
            del known[gone]
            places.take(gone)
        else:
            view = chance.choice([*known]) if known and chance.random() < 0.3 else number
            known[view] = rect()
            places.put(view, known[view])
        area, other = rect(), rect()
        assert places.within(area) == [view for view, place in known.items() if place.intersects(area)]
        wanted = [view for view, place in known.items() if place.intersects(area) or place.intersects(other)]
        assert places.within(area, other) == wanted
        assert places.edges_within(area).shape == (4, len(places.within(area)))


def test_what_lies_at_a_point_is_found_after_edits(hand: Hand) -> None:
    """After blocks were removed, restored and moved, each point has the block, port and connection that lie there."""
    patch, chance = Patch(), random.Random(1)
    for number in range(150):
        patch.add("buffer.copy", node_id=f"n{number}", position=(number % 12 * 200, number // 12 * 120))
    for number in range(149):
        patch.connect(patch[f"n{number}"]["out"], patch[f"n{number + 1}"]["x"])
    hand.canvas.set_patch(patch)
    for number in range(0, 150, 2):
        patch.remove(f"n{number}")
    for _ in range(30):
        patch.undo()
    for number in range(91, 150, 2):
        patch.move(f"n{number}", (chance.uniform(0, 2400), chance.uniform(0, 1500)))
    hand.canvas.grab()
    nodes, lines = hand.scene.nodes.values(), hand.scene.connections.values()
    for _ in range(many(200)):
        point = QPointF(chance.uniform(-50, 2500), chance.uniform(-50, 1600))
        around = [view for view in nodes if view.place.contains(point)]
        found = hand.scene.node_at(point)
        assert found in around if around else found is None
        crossing = [line for line in lines if line.shape().contains(point)] if not around else []
        line = hand.scene.connection_at(point)
        assert line in crossing if crossing else line is None
        ports = [port for view in nodes for port in view.ports.values()]
        away = {port: (port.scenePos() - point).manhattanLength() for port in ports}
        near = hand.scene.port_at(point, 10.0)
        assert near is None or away[near] == min(away.values())
        assert near is not None or min(away.values()) > 10.0


def test_a_patch_that_is_closed_leaves_nothing_to_hit(canvas: Canvas) -> None:
    """An empty canvas has no views."""
    canvas.set_patch(None)
    assert canvas.scene.nodes_in(QRectF(-1e5, -1e5, 2e5, 2e5)) == []
