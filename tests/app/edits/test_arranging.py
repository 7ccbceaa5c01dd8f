"""Automatic layout, alignment and distribution: nothing overlaps, and only places change."""

import itertools
import random
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QApplication

from app.canvas.drawing.measures import measures
from app.edits.organise.align import ALIGNMENTS, align, distribute
from app.edits.organise.arrange import arrange, spread_pile
from app.edits.organise.layered import Edge, layered
from app.edits.rects import Rect
from engine.diagnostics import PatchError
from engine.patch.changes import PortRef
from engine.patch.document import Patch
from engine.patch.files import dump_patch, load_patch
from engine.patch.organise.annotations import Dots, Frame
from tests.fuzzing import seeds

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


def held(patch: Patch, frame: Frame) -> set[str]:
    """Return the nodes outside regions in a frame."""
    places = rects(patch)
    return {n for n, r in places.items() if not patch.nodes[n].region and frame.holds(r[:2], r[2:])} - regions(patch)


def regions(patch: Patch) -> set[str]:
    """Return the region blocks, whose boxes are larger than they are."""
    return {node.id for node in patch.nodes.values() if node.type.startswith("control.")}


def test_sources_are_left_of_what_they_feed() -> None:
    """A chain is level, in one row."""
    places = layered(dict.fromkeys("abc", (96.0, 48.0)), [Edge("a", "b", 30, 30), Edge("b", "c", 30, 30)])
    assert places == {"a": (0, 0), "b": (160, 0), "c": (320, 0)}


def test_edges_that_could_cross_do_not() -> None:
    """Two chains between the same ends keep apart."""
    sizes = dict.fromkeys(("s", "t", "b", "a", "d", "c"), (96.0, 48.0))
    edges = [Edge("s", "a"), Edge("s", "b", 16), Edge("a", "c"), Edge("b", "d"), Edge("c", "t"), Edge("d", "t", 0, 16)]
    places = layered(sizes, edges)
    assert places["a"][1] < places["b"][1]
    assert places["c"][1] < places["d"][1]


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
