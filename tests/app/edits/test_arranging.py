"""Automatic layout, alignment and distribution: nothing overlaps, and only places change."""

import itertools
import random
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from tests.fuzzing import seeds
from warploom.app.canvas.drawing.measures import measures
from warploom.app.edits import nodes as node_edits
from warploom.app.edits.organise.align import ALIGNMENTS, align, distribute
from warploom.app.edits.organise.arrange import arrange, spread_pile
from warploom.app.edits.organise.room import keep_apart, make_room
from warploom.engine.diagnostics import PatchError
from warploom.engine.drawings.layers import Edge, arrange_layers, arrange_rows
from warploom.engine.drawings.rect import Rect
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, load_patch
from warploom.engine.patch.organise.annotations import Dots, Frame

EXAMPLES = Path(__file__).resolve().parents[3] / "resources" / "examples"
TYPES = ("io.array", "math.add", "math.scale_offset", "value.lfo", "control.for", "control.if_else", "io.viewer")


@pytest.fixture(autouse=True)
def _fonts(qapp: QApplication) -> None:
    """Sizes of nodes need fonts."""


def rects(patch: Patch) -> dict[str, Rect]:
    """Return the rectangle of each node."""
    size = measures(patch).size
    return {node.id: Rect(*node.position, *size(node.id)) for node in patch.nodes.values()}


def overlapping(patch: Patch) -> list[tuple[str, str]]:
    """Return the pairs of nodes that cover each other."""
    found = list(rects(patch).items())
    return [(a, b) for i, (a, one) in enumerate(found) for b, other in found[:i] if one.overlaps(other)]


def unplaced(patch: Patch) -> tuple[object, ...]:
    """Return all of a patch but the places of nodes, frames and dots."""
    nodes = [replace(node, position=(0, 0)) for node in patch.nodes.values()]
    frames = [(f.id, f.title, f.comment, f.colour) for f in patch.annotations_of(Frame)]
    return nodes, patch.connections, patch.sentinels, frames


def random_patch(draw: random.Random) -> Patch:
    """Return blocks in regions, with frames, dots and connections, here and there."""
    patch = Patch()
    for _ in range(draw.randrange(2, 24)):
        scopes = ["", *(node.id for node in patch.nodes.values() if node.type == "control.for")]
        place = draw.randrange(400), draw.randrange(400)
        patch.add(draw.choice(TYPES), position=place, region=draw.choice(scopes))
    for _ in range(60):
        a, b = draw.choice(list(patch.nodes)), draw.choice(list(patch.nodes))
        ends = [(patch.block_type(node) or pytest.fail()).ports for node in (a, b)]
        if ends[0] and ends[1]:
            try:
                made = patch.connect(PortRef(a, draw.choice(list(ends[0]))), PortRef(b, draw.choice(list(ends[1]))))
            except PatchError:
                continue
            if draw.random() < 0.2:
                patch.annotate(Dots(node=made.target.node, port=made.target.port, points=((1, 2),)))
    for name in "ab":
        size = draw.randrange(100, 400), draw.randrange(100, 400)
        patch.annotate(Frame(id=name, position=(draw.randrange(200), draw.randrange(200)), size=size))
    return patch


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.loom")))
def test_no_block_of_an_example_covers_another(name: str) -> None:
    """Nor do they touch: a person sees all blocks of an example, and the connections between them."""
    found = [
        rect._replace(width=rect.width + 4, height=rect.height + 4)
        for rect in rects(load_patch(EXAMPLES / name)).values()
    ]
    assert not [one for i, one in enumerate(found) for other in found[:i] if one.overlaps(other)]


@pytest.mark.parametrize("seed", seeds(8))
def test_a_layout_never_overlaps_and_changes_only_places(seed: int) -> None:
    """This holds for the whole patch and for any part of it; undo gives the first file byte for byte."""
    draw = random.Random(seed)
    patch = random_patch(draw)
    text, rest = dump_patch(patch), unplaced(patch)
    framed = {f.id: held(patch, f) for f in patch.annotations_of(Frame)}
    arrange(patch, list(patch.nodes), measures(patch))
    assert not overlapping(patch)
    assert unplaced(patch) == rest
    for frame in patch.annotations_of(Frame):
        if not framed["a"] & framed["b"]:  # frames that overlap share their blocks in no certain way
            assert framed[frame.id] <= held(patch, frame)
    part = draw.sample(list(patch.nodes), draw.randrange(1, len(patch.nodes) + 1))
    arrange(patch, part, measures(patch))
    assert not overlapping(patch)
    assert unplaced(patch) == rest
    patch.undo()
    while dump_patch(patch) != text:
        assert patch.undo()


def insert(patch: Patch, connection: Connection, at: tuple[float, float]) -> str:
    """Insert a block into a connection, with room for it, and return it."""
    size = measures(patch).size

    def rect(node: str) -> Rect:
        """Return the rectangle of a node, and of a region with its blocks."""
        found = Rect(*patch.nodes[node].position, *(size(node) if node in known else measures(patch).size(node)))
        for each in patch.within(node):
            found = found.united(rect(each))
        return found

    def settled(node: str) -> tuple[float, float]:
        make_room(patch, node, connection, rect)
        return patch.nodes[node].position

    known = set(patch.nodes)
    block_type = patch.catalogue.require("math.scale_offset")
    return node_edits.insert(patch, block_type, at, connection, settled=settled)


@pytest.mark.parametrize("seed", seeds(6))
def test_a_block_goes_between_two_others_wherever_they_are(seed: int) -> None:
    """In any laid-out patch, nothing is covered, others move only to the right, and one undo gives it all back."""
    draw = random.Random(seed)
    patch = random_patch(draw)
    arrange(patch, list(patch.nodes), measures(patch))
    assert not overlapping(patch)
    for connection in [c for c in patch.connections if patch.find_end(c.target) is not None]:
        text, before = dump_patch(patch), {node.id: node.position for node in patch.nodes.values()}
        try:
            insert(patch, connection, before[connection.source.node])
        except PatchError:
            assert dump_patch(patch) == text
            continue
        assert not overlapping(patch)
        for node, (x, y) in before.items():
            assert patch.nodes[node].position[0] >= x and patch.nodes[node].position[1] == y
        patch.undo()
        assert dump_patch(patch) == text


def test_a_short_connection_moves_what_follows_and_nothing_else() -> None:
    """What the target feeds moves by the same way, with dots and what would be covered; a long one moves nothing."""
    patch = Patch()
    for number, name in enumerate("abcd"):
        patch.add("math.scale_offset", node_id=name, position=(240 * number, 0))
    patch.add("math.scale_offset", node_id="beside", position=(240, 400))
    patch.add("math.scale_offset", node_id="in_the_way", position=(1000, 0))
    for source, target in ("ab", "bc", "cd"):
        patch.connect(PortRef(source, "out"), PortRef(target, "x"))
    patch.annotate(Dots(node="d", port="x", points=((700, -80),)))
    patch.annotate(Frame(id="begin", position=(-24, -48), size=(480, 300)))
    patch.annotate(Frame(id="end", position=(700, -48), size=(260, 300)))
    framed = {f.id: held(patch, f) for f in patch.annotations_of(Frame)}
    assert framed == {"begin": {"a", "b"}, "end": {"d"}}
    node = insert(patch, patch.connections[0], (100, 0))
    places = {name: patch.nodes[name].position[0] for name in patch.nodes}
    way = places["b"] - 240
    assert way > 0 and places["c"] == 480 + way and places["d"] == 720 + way and places["in_the_way"] == 1000 + way
    assert places["a"] == 0 and places["beside"] == 240
    assert patch.dots(PortRef("d", "x")) == ((700 + way, -80),)
    assert not overlapping(patch) and places["a"] < places[node] < places["b"]
    framed["begin"].add(node)
    assert {f.id: held(patch, f) for f in patch.annotations_of(Frame)} == framed
    patch.move("d", (3000.0, 0.0))
    before = {name: patch.nodes[name].position for name in patch.nodes}
    insert(patch, next(line for line in patch.connections if line.target.node == "d"), (1500, 0))
    assert {name: patch.nodes[name].position for name in before} == before


def test_a_block_that_becomes_wider_covers_nothing() -> None:
    """What it would cover moves to the right, with what that feeds, in the undo step of the connection."""
    patch = Patch()
    lfo = patch.add("value.lfo", position=(-300, 0))
    types = "particles.emitter", "particles.forces", "particles.integrate"
    chain = [patch.add(type_id, node_id=name) for type_id, name in zip(types, "abc", strict=True)]
    width = measures(patch).size("a")[0]
    for number, block in enumerate(chain):
        patch.move(block.id, (number * (width + 40), 0))
    patch.add("math.scale_offset", node_id="below", position=(width, 300))
    for source, target in itertools.pairwise(chain):
        patch.connect(source["out" if source.id == "b" else "particles"], target["particles"])
    before = {name: patch.nodes[name].position for name in patch.nodes}

    def settle(node: str) -> None:
        keep_apart(patch, node, width, lambda each: Rect(*patch.nodes[each].position, *measures(patch).size(each)))

    node_edits.connect(patch, lfo["value"], chain[0]["speed"], settle=settle)
    moved = {name: patch.nodes[name].position[0] - x for name, (x, _) in before.items()}
    assert not overlapping(patch)
    assert moved["b"] == moved["c"] > 0 and moved["a"] == moved["below"] == moved["lfo"] == 0
    patch.undo()
    assert {name: patch.nodes[name].position for name in patch.nodes} == before and not patch.connections_of("lfo")
    patch.move("b", (3 * width, 0))
    node_edits.connect(patch, lfo["value"], chain[0]["speed"], settle=settle)
    assert patch.nodes["b"].position == (3 * width, 0)


def held(patch: Patch, frame: Frame) -> set[str]:
    """Return the nodes outside regions in a frame."""
    places = rects(patch)
    return {n for n, r in places.items() if not patch.nodes[n].region and frame.holds(r[:2], r[2:])} - regions(patch)


def regions(patch: Patch) -> set[str]:
    """Return the region blocks, whose boxes are larger than they are."""
    return {node.id for node in patch.nodes.values() if node.type.startswith("control.")}


def test_sources_are_left_of_what_they_feed() -> None:
    """A chain is level, in one row."""
    boxes = arrange_layers(dict.fromkeys("abc", (96.0, 48.0)), [Edge("a", "b", 30, 30), Edge("b", "c", 30, 30)]).boxes
    assert {name: box[:2] for name, box in boxes.items()} == {"a": (0, 0), "b": (160, 0), "c": (320, 0)}


def test_edges_that_could_cross_do_not() -> None:
    """Two chains between the same ends keep apart."""
    sizes = dict.fromkeys(("s", "t", "b", "a", "d", "c"), (96.0, 48.0))
    edges = [Edge("s", "a"), Edge("s", "b", 16), Edge("a", "c"), Edge("b", "d"), Edge("c", "t"), Edge("d", "t", 0, 16)]
    boxes = arrange_layers(sizes, edges).boxes
    assert boxes["a"].y < boxes["b"].y
    assert boxes["c"].y < boxes["d"].y


@pytest.mark.parametrize("seed", seeds(20))
def test_ways_lie_in_the_drawing_and_meet_no_boxes(seed: int) -> None:
    """An edge over several layers stays inside of the whole, whose size drawings have, and beside all boxes."""
    draw = random.Random(seed)
    names = range(draw.randrange(1, 25))
    sizes = {name: (draw.uniform(20, 90), draw.uniform(10, 40)) for name in names}
    after = {name: draw.sample(range(name), min(name, draw.choice((0, 1, 1, 2, 3)))) for name in names}
    layers = arrange_rows(after, sizes)
    assert layers.ways.keys() == {(earlier, name) for name, before in after.items() for earlier in before}
    boxes = layers.boxes.values()
    for x, top, bottom in itertools.chain.from_iterable(layers.ways.values()):
        assert 0 < x < layers.width
        assert not any(box.x < x < box.right and box.y < bottom and top < box.bottom for box in boxes)
    assert all(box.right <= layers.width + 1e-9 and box.bottom <= layers.height + 1e-9 for box in boxes)


def test_a_pile_that_a_script_made_is_spread_without_an_undo_step() -> None:
    """A patch whose blocks have places stays as it is."""
    patch = load_patch(EXAMPLES / "particles.loom")
    text = dump_patch(patch)
    spread_pile(patch, measures(patch))
    assert dump_patch(patch) == text
    for node in patch.nodes:
        patch.move(node, (0.0, 0.0))
    patch.history.mark_saved()
    names = patch.history.names
    spread_pile(patch, measures(patch))
    assert not overlapping(patch)
    assert patch.history.names == names
    assert patch.history.is_saved


@pytest.mark.parametrize("way", ALIGNMENTS)
def test_blocks_are_aligned(way: str) -> None:
    """The edges or middles are in line, up to a step of the canvas grid."""
    draw = random.Random(way)
    patch = Patch()
    for _ in range(4):
        patch.add(draw.choice(TYPES[:3]), position=(8 * draw.randrange(90), 8 * draw.randrange(90)))
    align(patch, rects(patch), way)
    axis, share = ALIGNMENTS[way]
    marks = [rect[axis] + share * rect[axis + 2] for rect in rects(patch).values()]
    assert max(marks) - min(marks) <= 8
    assert len(patch.history.names) == 5


@pytest.mark.parametrize("axis", [0, 1])
def test_gaps_become_equal(axis: int) -> None:
    """The outer blocks stay, and the others get equal gaps."""
    patch = Patch()
    for at in (0, 104, 208, 800):
        patch.add("math.add", position=(at, at))
    distribute(patch, rects(patch), axis)
    found = sorted(rects(patch).values(), key=lambda rect: rect[axis])
    gaps = [b[axis] - a[axis] - a[axis + 2] for a, b in itertools.pairwise(found)]
    assert max(gaps) - min(gaps) <= 16
    assert (found[0][axis], found[-1][axis]) == (0, 800)
