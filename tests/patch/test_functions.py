"""Functions: groups whose insides stay equal, whichever of them is edited."""

import random

import pytest
from msgspec.structs import replace

from tests.fuzzing import many, seeds
from tests.patch.test_groups import chain, edit, flat
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import (
    Change,
    Connected,
    Disconnected,
    NodeAdded,
    NodeRegionChanged,
    NodeRemoved,
    PortRef,
    SentinelChanged,
)
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.groups.functions import instances, members, to_follow


def twice() -> tuple[Patch, str, str]:
    """Return a patch with a function that doubles and adds 1, and its two instances."""
    patch = chain()
    first = patch.group(["double", "more"]).id
    patch.set(first, function="Line")
    second = patch.insert(patch.excerpt([first]), offset=(0, 200))[first]
    patch.connect(PortRef("array", "out"), PortRef(second, "x"))
    return patch, first, second


def test_an_edit_of_one_instance_is_one_of_all() -> None:
    """Values, connections, added and removed blocks follow in the same undo step; detached, an instance stays."""
    patch, first, second = twice()
    assert patch.title(first) == patch.title(second) == "Line"
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set("double", scale=5.0)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(PortRef(second, "out")).tolist() == [1, 6, 11, 16]
        more = patch.add("math.scale_offset", node_id="last", scale=10.0, region=first)
        with patch.edit("Insert"):
            patch.connect(PortRef("more", "out"), more["x"])
            patch.connect(more["out"], PortRef(patch.end_of(first, "patch.outputs"), "out"))
        engine.step()
        assert engine.read(PortRef(second, "out")).tolist() == [10, 60, 110, 160]
        patch.set(second, function="")
        patch.set("double", scale=1.0)
        engine.step()
        assert engine.read(PortRef(first, "out")).tolist() == [10, 20, 30, 40]
        assert engine.read(PortRef(second, "out")).tolist() == [10, 60, 110, 160]
    assert patch.undo() == "Set scale of Scale Offset"
    assert dump_patch(parse_patch(dump_patch(patch))) == dump_patch(patch)


def test_values_of_an_instance_are_its_own() -> None:
    """A parameter of the group is set in each instance; all others are set in all of them."""
    patch, first, second = twice()
    patch.promote(PortRef("double", "scale"), "gain")
    patch.set(first, gain=3.0)
    assert (patch.value(first, "gain"), patch.value(second, "gain")) == (3.0, 2.0)
    twin = members(patch, second)["double",]
    patch.set(twin, scale=7.0, offset=0.5)
    assert (patch.value(first, "gain"), patch.value(second, "gain")) == (3.0, 7.0)
    assert patch.value("double", "offset") == 0.5
    patch.set_comment([first, "double"], "as everywhere")
    patch.set_colour(twin, "teal")
    assert [patch.nodes[n].comment for n in (first, second, "double", twin)] == [
        "as everywhere",
        "",
        *["as everywhere"] * 2,
    ]
    assert patch.nodes["double"].colour == "teal"


def test_connections_outside_follow_ports() -> None:
    """A port that is renamed in one instance keeps the connections of all; a removed one loses them in all."""
    patch, first, second = twice()
    patch.rename_port(PortRef(first, "x"), "numbers")
    assert patch.source_of(PortRef(second, "numbers")) == PortRef("array", "out")
    patch.remove_port(PortRef(second, "numbers"))
    assert not [c for c in patch.connections if c.target.node in (first, second)]


def test_a_group_becomes_an_instance_of_a_function() -> None:
    """It gets the function's blocks in place of its own, and keeps connections at ports of the same names."""
    patch, first, _ = twice()
    other = patch.add("math.scale_offset", scale=9.0, offset=0.0)
    patch.connect(PortRef("array", "out"), other["x"])
    group = patch.group([other])
    patch.set(group, function="Line")
    assert len(members(patch, group.id)) == len(members(patch, first))
    with Engine(patch, device="host") as engine:
        patch.promote(PortRef("more", "out"), "result")
        engine.step()
        assert engine.read(PortRef(group.id, "result")).tolist() == [1, 3, 5, 7]


def test_a_function_does_not_hold_itself() -> None:
    patch, first, second = twice()
    text = dump_patch(patch)
    with pytest.raises(PatchError, match="function must not hold itself, got a group of Line inside another one"):
        patch.move_into(second, first)
    assert dump_patch(patch) == text


def test_a_pasted_function_never_changes_the_patch() -> None:
    """A function from another patch is another one if its inside differs, and the same one if it doesn't."""
    patch, first, _ = twice()
    part = patch.excerpt([first])
    same = patch.insert(part)[first]
    assert patch.value(same, "function") == "Line"
    patch.set("double", scale=4.0)
    other = patch.insert(part)[first]
    assert patch.value(other, "function") == "Line 2"
    assert patch.value("double", "scale") == 4.0


def test_nested_functions() -> None:
    """A function may hold two instances of another; an edit in one reaches every copy."""
    patch, first, second = twice()
    outer = patch.group([first, second]).id
    patch.set(outer, function="Pair")
    patch.insert(patch.excerpt([outer]))
    assert {name: len(groups) for name, groups in instances(patch).items()} == {"Line": 4, "Pair": 2}
    patch.set("double", scale=8.0)
    assert [patch.value(n, "scale") for n in patch.nodes if n.startswith("double")] == [8.0] * 4
    patch.add("math.add", region=second)
    assert sum(node.type == "math.add" for node in patch.nodes.values()) == 5
    assert patch.undo() == "Add Add"
    assert sum(node.type == "math.add" for node in patch.nodes.values()) == 1


def assert_equal(made: list[Change]) -> None:
    """Assert that changes which make instances equal change at most keys of blocks."""
    gone = sorted(repr(replace(c.node, key="")) for c in made if isinstance(c, NodeRemoved))
    come = sorted(repr(replace(c.node, key="")) for c in made if isinstance(c, NodeAdded))
    assert gone == come
    ties = [[str(c.connection) for c in made if isinstance(c, kind)] for kind in (Disconnected, Connected)]
    assert sorted(ties[0]) == sorted(ties[1])
    moved = [c for c in made if isinstance(c, NodeRegionChanged)]  # out of a group that is added again, and back
    before, after = (
        {c.node: getattr(c, name) for c in way} for name, way in (("previous", moved[::-1]), ("region", moved))
    )
    assert before == after
    kinds = NodeRemoved | NodeAdded | NodeRegionChanged | Disconnected | Connected | SentinelChanged
    assert all(isinstance(c, kinds) for c in made)


@pytest.mark.parametrize("seed", seeds(3))
def test_random_edits_of_functions(seed: int) -> None:
    """After any edit, all instances of each function are equal, and what the engine runs follows from the file."""
    draw = random.Random(seed)
    patch, _, _ = twice()
    mirror = Patch()
    mirror.restore(patch.flat_changes())
    patch.subscribe(lambda change: mirror.restore([change]), without_groups=True)
    for _ in range(many(40)):
        text = dump_patch(patch)
        try:
            groups = [node for node in patch.nodes if patch.is_group(node)]
            if groups and draw.random() < 0.2:
                patch.set(draw.choice(groups), function=draw.choice(("", "Line", "Other")))
            elif draw.random() < 0.2:
                scaled = [node.id for node in patch.nodes.values() if node.type == "math.scale_offset"]
                patch.set(draw.choice(scaled), scale=draw.randint(0, 9))
            else:
                edit(draw, patch)
        except (PatchError, IndexError):
            assert dump_patch(patch) == text
            continue
        for first, *others in instances(patch).values():
            for other in others:
                assert_equal(to_follow(patch, first, other))
        assert flat(parse_patch(dump_patch(patch))) == flat(patch) == flat(mirror)
        if len(patch.nodes) > 150:
            break
    while patch.undo():
        pass
    assert dump_patch(patch) == dump_patch(Patch())
    assert not mirror.nodes
