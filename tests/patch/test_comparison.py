"""The changes between two patches lead from one to the other, and the description lists the differences."""

import random

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.patch.changes import Change, Node, NodeAdded
from warploom.engine.patch.document import Patch
from warploom.engine.patch.editing.comparison import describe_difference, difference
from warploom.engine.patch.files import dump_patch, parse_patch

TYPES = ("math.saxpy", "math.scale_offset", "control.if_else", "control.for", "io.array", "gone.type")


def random_patch(rng: random.Random) -> Patch:
    """Return a patch of nodes a to g, with random contents of everything that a file may hold."""
    patch = Patch()
    ids = rng.sample("abcdefg", rng.randint(0, 7))
    made: list[Change] = []
    for index, node in enumerate(ids):
        owner = rng.choice(["", *ids[:index]])
        parameters = {"scale": rng.choice([1.0, 2.0, None])} if rng.random() < 0.5 else {}
        if rng.random() < 0.3:
            parameters["data"] = np.arange(rng.randint(1, 2))  # type: ignore[assignment]
        region = owner and owner + rng.choice(["", ".else"])
        title, position = rng.choice(["", "t"]), (rng.choice([0.0, 0.001, 5.0]), 0.0)
        extra = {"x": 1} if rng.random() < 0.2 else {}
        kind = rng.choice(TYPES)
        made.append(
            NodeAdded(
                Node(
                    id=node,
                    type=kind,
                    region=region,
                    title=title,
                    position=position,
                    parameters=parameters,
                    extra=extra,
                )
            )
        )
    patch.restore(made)
    text = dump_patch(patch)
    if ids:
        targets = {f"{rng.choice(ids)}.{port}" for port in "xy"}
        links = ",".join(f'{{"source": "{rng.choice(ids)}.out", "target": "{target}"}}' for target in sorted(targets))
        text = text.replace('"connections": []', f'"connections": [{links}]')
    return parse_patch(text)


@pytest.mark.parametrize("seed", seeds(150))
def test_a_difference_can_be_applied_and_undone(seed: int) -> None:
    """A difference is one undo step, in a valid order, and is described in words exactly if the files differ."""
    rng = random.Random(seed)
    before, after = random_patch(rng), random_patch(rng)
    old, new = dump_patch(before), dump_patch(after)
    assert bool(describe_difference(before, after)) == (old != new) == bool(difference(before, after))

    def check(_: Change) -> None:
        for node in before.nodes.values():
            before.scopes.chain(node.region)
            assert not node.region or node.region.partition(".")[0] in before.nodes
        assert all({c.source.node, c.target.node} <= before.nodes.keys() for c in before.connections)

    before.subscribe(check)
    before.become(after, "Reload")
    assert dump_patch(before) == new
    before.undo()
    assert dump_patch(before) == old
    before.redo()
    assert dump_patch(before) == new


def test_differences_are_described_in_words() -> None:
    """A difference has a line for each changed block, and none for the connections of removed blocks."""
    patch = Patch()
    x = patch.add("io.array")
    for name in ("one", "two", "three"):
        patch.connect(x["out"], patch.add("math.scale_offset", node_id=name, scale=2.0)["x"])
    other = parse_patch(dump_patch(patch))
    other.remove("one")
    other.set("two", scale=3.5)
    other.rename("two", "Twice")
    other.set_colour("two", "blue")
    other.set_comment("two", "Hm")
    other.move("three", (5.0, 5.0))
    other.move("array", (5.0, 5.0))
    other.disconnect(other["three"]["x"])
    other.connect(other["two"]["out"], other["three"]["x"])
    other.add("math.saxpy")
    other.set("array", data=np.zeros(3, np.float32))
    assert describe_difference(patch, other) == [
        "added: saxpy (Saxpy)",
        "removed: one (Scale Offset)",
        "changed: array (Array): data default → other data",
        "changed: two (Twice): scale 2 → 3.5, title none → Twice, colour none → blue, comment",
        "connected: two.out -> three.x",
        "disconnected: array.out -> three.x",
        "moved: 1 block",
    ]
