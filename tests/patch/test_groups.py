"""Groups: blocks behind ports of their own, which rules and engines see as if there was no group."""

import random
from contextlib import suppress

import numpy as np
import pytest

from tests.fuzzing import many, seeds
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Change, PortRef, net_changes
from warploom.engine.patch.document import NodeRef
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.regions import scope_text
from warploom.engine.patch.rules import CrossesGroups, NotDrivable, TypeMismatch, WouldCycle, is_target


def chain() -> Patch:
    """Return 0, 1, 2, 3, doubled, then increased by 1, and added to themselves."""
    patch = Patch()
    array = patch.add("io.array", data=np.arange(4, dtype=np.float32))
    double = patch.add("math.scale_offset", node_id="double", scale=2.0, position=(200, 0))
    more = patch.add("math.scale_offset", node_id="more", offset=1.0, position=(400, 0))
    total = patch.add("math.add", node_id="total", position=(600, 0))
    patch.connect(array["out"], double["x"])
    patch.connect(double["out"], more["x"])
    patch.connect(more["out"], total["x"])
    patch.connect(array["out"], total["y"])
    return patch


def flat(patch: Patch) -> tuple[object, ...]:
    """Return what an engine runs of a patch."""
    found = patch.without_groups()
    nodes = {node.id: (node.type, node.region, sorted(node.parameters)) for node in found.nodes.values()}
    return nodes, sorted(map(str, found.connections)), sorted(map(str, found.sentinels))


def test_a_group_and_back() -> None:
    """A group has a port for each connection that crosses its border; dissolved, the patch's file is the first one."""
    patch = chain()
    first = dump_patch(patch)
    group = patch.group(["double", "more"], "Twice")
    assert [str(c) for c in patch.connections_of("group")] == ["array.out -> group.x", "group.out -> total.x"]
    inside = ["double.out -> more.x", "inputs.x -> double.x", "more.out -> outputs.out"]
    assert sorted(str(c) for c in patch.connections if patch.group_of(c.target.node) == group.id) == inside
    block_type = patch.block_type(group.id)
    assert block_type is not None and [str(port.dtype) for port in block_type.ports.values()] == ["f32", "f32"]
    assert patch.title(group.id) == "Twice"
    assert dump_patch(parse_patch(dump_patch(patch))) == dump_patch(patch)
    assert {node.id for node in patch.ungroup(group)} == {"double", "more"}
    assert dump_patch(patch) == first
    assert patch.undo() == "Ungroup Twice"
    assert patch.undo() == "Group 2 nodes"
    assert dump_patch(patch) == first


def test_a_group_costs_the_engine_nothing() -> None:
    """To group and to ungroup changes no result and no graph; a live parameter inside, or of the group, is HOT."""
    patch = chain()
    with Engine(patch, device="host") as engine:
        engine.step()
        group = patch.group(["double", "more"])
        assert engine.step().update_level is UpdateLevel.NONE
        assert engine.read(patch["total"]["out"]).tolist() == [1, 4, 7, 10]
        assert engine.read(group["out"]).tolist() == [1, 3, 5, 7]
        assert engine.read(group["x"]).tolist() == [0, 1, 2, 3]
        patch.set("double", scale=3.0)
        assert engine.step().update_level is UpdateLevel.HOT
        patch.promote(patch["double"]["scale"], "factor")
        assert engine.step().update_level is UpdateLevel.NONE
        patch.set(group, factor=10.0)
        assert engine.step().update_level is UpdateLevel.HOT
        assert engine.read(group["out"]).tolist() == [1, 11, 21, 31]
        assert engine.cost_of(net(patch, lambda: patch.group(["group"]))).level is UpdateLevel.NONE
        patch.remove(group)
        assert engine.step().diagnostics[0].node == "total"


def net(patch: Patch, edit: object) -> list[Change]:
    """Return the changes of an edit, which is taken back."""
    heard: list[Change] = []
    end = patch.subscribe(heard.append, without_groups=True)
    edit()  # type: ignore[operator]
    end()
    patch.undo()
    return net_changes(heard)


def test_state_survives() -> None:
    """A counter that feeds itself goes on while its blocks are grouped, ungrouped, and both undone."""
    patch = Patch()
    one = patch.add("io.array", data=np.ones(1, np.float32))
    delay, total = patch.add("buffer.frame_delay"), patch.add("math.add", node_id="total")
    patch.connect(one["out"], total["x"])
    patch.connect(total["out"], delay["x"])
    patch.connect(delay["out"], total["y"])
    with Engine(patch, device="host") as engine:
        for count, edit in enumerate(
            (
                lambda: None,
                lambda: patch.group([delay]),
                lambda: patch.group(["total", "group"]),
                lambda: patch.ungroup("group_2"),
                patch.undo,
                patch.undo,
                patch.undo,
            )
        ):
            edit()
            report = engine.step()
            assert report.update_level is (UpdateLevel.NONE if count else UpdateLevel.COLD)
            assert engine.read(total["out"]).tolist() == [count + 1]


def test_a_parameter_of_a_group() -> None:
    """It sets all parameters that it leads to, has the range that all accept, and can be driven by a value."""
    patch = chain()
    group = patch.group(["double", "more"])
    gain = patch.promote(patch["double"]["scale"], "gain")
    inputs = patch[patch.end_of(group)]
    patch.connect(inputs["gain"], patch["more"]["scale"])
    patch.set(group, gain=4.0)
    assert [
        patch.value(node, "scale")
        for node in (
            "double",
            "more",
        )
    ] == [4.0, 4.0]
    assert patch.value(group, "gain") == 4.0
    assert patch.undo() == "Set gain of Group"
    assert patch.value(group, "gain") == 2.0
    patch.reset(group, "gain")
    assert patch.value("double", "scale") == patch.parameter("double", "scale").default
    constant = patch.add("value.time")
    patch.connect(constant["seconds"], gain)
    driven = patch.without_groups()
    assert driven.source_of(PortRef("double", "scale")) == driven.source_of(PortRef("more", "scale")) is not None
    with pytest.raises(TypeMismatch):
        patch.connect(patch["array"]["out"], gain)
    with pytest.raises(PatchError, match=r"which inputs\.gain feeds"):
        patch.promote(patch["double"]["scale"])


def test_ports_stay_without_blocks() -> None:
    """When the block that a port leads to is removed, the group keeps the port and its connection outside."""
    patch = chain()
    group = patch.group(["double", "more"])
    patch.remove("double")
    assert patch.source_of(group["x"]) == PortRef("array", "out")
    again = patch.add("math.scale_offset", region=group)
    patch.connect(patch["inputs"]["x"], again["x"])
    assert patch.without_groups().source_of(again["x"].plain) == PortRef("array", "out")
    patch.rename_port(group["x"], "numbers")
    assert patch.source_of(group["numbers"]) == PortRef("array", "out")
    patch.remove_port(group["numbers"])
    assert patch.source_of(PortRef(again.id, "x")) is None
    with pytest.raises(PatchError, match="must have a name of letters"):
        patch.rename_port(group["out"], "no name")


def test_a_new_port_is_made_by_connecting() -> None:
    """The port + of a group's ends makes a port; a way straight through a group is allowed, a ring isn't."""
    patch = chain()
    group = patch.group(["double", "more"])
    inputs, outputs = patch["inputs"], patch["outputs"]
    made = patch.connect(patch["double"]["out"], outputs["+"])
    assert str(made) == "double.out -> outputs.out_2"
    through = patch.connect(inputs["x"], outputs["+"]).target.port
    patch.connect(group[through], patch["total"]["y"])
    assert patch.without_groups().source_of(PortRef("total", "y")) == PortRef("array", "out")
    with pytest.raises(WouldCycle):
        patch.connect(group[through], group["x"])
    patch.ungroup(group)
    assert patch.source_of(PortRef("total", "y")) == PortRef("array", "out")


def test_refusals() -> None:
    """A connection stays in its group, and types and rules are those of the blocks behind the ports."""
    patch = chain()
    group = patch.group(["double", "more"])
    with pytest.raises(CrossesGroups, match="must stay in one group, got no group and group"):
        patch.connect(patch["array"]["out"], patch["double"]["x"])
    with pytest.raises(WouldCycle):
        patch.connect(group["out"], group["x"])
    with pytest.raises(PatchError, match="must be a block, got inputs"):
        patch.move_into("inputs", "")
    with pytest.raises(PatchError, match="inputs or outputs of a group"):
        patch.remove("inputs")
    with pytest.raises(PatchError, match="at least one block"):
        patch.group(["inputs"])
    with pytest.raises(PatchError, match="must lie in one region or group"):
        patch.group(["array", "double"])
    patch.connect(patch["inputs"]["+"], patch.add("io.array", node_id="inner", region=group)["data"])
    time = patch.add("value.time")
    with pytest.raises(NotDrivable):
        patch.connect(time["seconds"], group["data"])


def test_a_region_in_a_group_and_a_group_in_a_region() -> None:
    """A group in a loop runs in each turn, and so does a loop in a group."""
    patch = Patch()
    loop = patch.add("control.for", count=3)
    start = patch.add("io.array", data=np.ones(2, np.float32))
    copy = patch.add("buffer.copy", node_id="copy")
    double = patch.add("math.scale_offset", node_id="double", scale=2.0, region=loop)
    keep = patch.add("buffer.assign", node_id="keep", region=loop)
    patch.connect(start["out"], copy["x"])
    patch.connect(copy["out"], double["x"])
    patch.connect(copy["out"], keep["target"])
    patch.connect(double["out"], keep["value"])
    with Engine(patch, device="host") as engine:
        engine.step()
        assert engine.read(keep["out"]).tolist() == [8, 8]
        patch.group([double])
        patch.group([loop, copy])
        assert patch.groups_around("double") == ["group_2", "group"]
        assert engine.step().update_level is UpdateLevel.NONE
        patch.set(loop, count=4)
        engine.step()
        assert engine.read(keep["out"]).tolist() == [16, 16]


def test_a_copy_of_a_group_is_one_of_its_own() -> None:
    """A pasted group has blocks of its own; without its group, the ends are left out."""
    patch = chain()
    group = patch.group(["double", "more"])
    ids = patch.insert(patch.excerpt([group.id]))
    assert set(ids) == {"group", "inputs", "outputs", "double", "more"}
    patch.set(ids["double"], scale=9.0)
    assert patch.value("double", "scale") == 2.0
    assert patch.groups_around(ids["double"]) == [ids["group"]]
    assert set(patch.excerpt(["inputs", "double"]).nodes) == {"double"}


def test_a_sentinel_is_of_the_block() -> None:
    """A check at a port of a group is that of the block's output, and outlives the group."""
    patch = chain()
    group = patch.group(["double", "more"])
    patch.set_sentinel(group["out"], maximum=3)
    assert list(patch.sentinels) == [PortRef("more", "out")]
    with Engine(patch, device="host") as engine:
        assert [item.node for item in engine.step().diagnostics] == ["more"]
    patch.ungroup(group)
    assert list(patch.sentinels) == [PortRef("more", "out")]


TYPES = ("math.scale_offset", "math.add", "buffer.frame_delay", "value.time", "control.for", "io.array")


def edit(draw: random.Random, patch: Patch) -> str:
    """Make a random edit, or raise PatchError; return what it was."""
    nodes = list(patch.nodes)
    if not nodes:
        patch.redo()
        return "redo"
    some = draw.sample(nodes, min(len(nodes), draw.randint(1, 4)))
    groups = [node for node in nodes if patch.is_group(node)]
    scopes = ["", *groups, *(scope_text(node) for node in nodes if patch.nodes[node].type == "control.for")]
    kind = draw.choice(
        (
            "add",
            "add",
            "connect",
            "connect",
            "connect",
            "group",
            "group",
            "ungroup",
            "move",
            "remove",
            "promote",
            "drop port",
            "rename port",
            "paste",
            "disconnect",
            "undo",
            "redo",
            "check",
        )
    )
    match kind:
        case "add":
            patch.add(draw.choice(TYPES), region=draw.choice(scopes), position=(draw.randint(0, 99), 8))
        case "connect":
            start = draw.choice(ends(patch, draw.choice(nodes)))
            fitting = sorted(patch.fitting_ends(start), key=str)
            end = draw.choice(fitting)
            spec = patch.find_end(start)
            assert spec is not None
            patch.connect(*((end, start) if is_target(spec) else (start, end)))
        case "disconnect":
            patch.disconnect(draw.choice(patch.connections))
        case "group":
            near = [node for node in nodes if patch.nodes[node].region == patch.nodes[some[0]].region]
            patch.group(draw.sample(near, draw.randint(1, len(near))))
        case "ungroup":
            patch.ungroup(draw.choice(groups))
        case "move":
            patch.move_into(some, draw.choice(scopes))
        case "remove":
            patch.remove(some[0])
        case "promote":
            patch.promote(draw.choice(ends(patch, some[0])))
        case "drop port":
            patch.remove_port(draw.choice(ends(patch, draw.choice(groups))))
        case "rename port":
            patch.rename_port(draw.choice(ends(patch, draw.choice(groups))), draw.choice(("a", "b", "c")))
        case "paste" if len(nodes) < 40:
            patch.insert(patch.excerpt(some), region=draw.choice(scopes))
        case "check":
            patch.set_sentinel(draw.choice(patch.connections))
        case "undo":
            patch.undo()
        case "redo":
            patch.redo()
    return kind


def ends(patch: Patch, node: str) -> list[PortRef]:
    """Return the ports and parameters of a node."""
    block_type = patch.block_type(node)
    assert block_type is not None
    return [PortRef(node, name) for name in (*block_type.ports, *block_type.values_out, *block_type.parameters)]


@pytest.mark.parametrize("seed", seeds(4))
def test_random_edits_of_groups(seed: int) -> None:
    """What an engine runs follows from the file, and grouping keeps it; undo to the start gives the first file."""
    draw = random.Random(seed)
    patch, mirror = chain(), Patch()
    patch.history._limit = 10**6
    mirror.restore(patch.flat_changes())
    patch.subscribe(lambda change: mirror.restore([change]), without_groups=True)
    for _ in range(many(60)):
        before, text = flat(patch), dump_patch(patch)
        try:
            kind = edit(draw, patch)
        except (PatchError, IndexError):
            assert dump_patch(patch) == text
            continue
        now = flat(patch)
        if kind in ("group", "ungroup"):
            assert now == before
        assert flat(parse_patch(dump_patch(patch))) == now
        assert flat(mirror) == now
        assert all(patch.group_of(c.source.node) == patch.group_of(c.target.node) for c in patch.connections)
    while patch.undo():
        pass
    assert dump_patch(patch) == dump_patch(Patch())
    assert flat(mirror) == flat(patch)


@pytest.mark.parametrize("seed", seeds(3))
def test_ungroup_inverts_group(seed: int) -> None:
    """After random edits, a group of any legal selection is dissolved into the patch that it was made of."""
    draw = random.Random(seed)
    patch = chain()
    for _ in range(many(40)):
        with suppress(PatchError, IndexError):
            edit(draw, patch)
        text = dump_patch(patch)
        nodes = [node for node in patch.nodes if not patch.is_end(node)]
        if not nodes:
            continue
        scope = patch.nodes[draw.choice(nodes)].region
        near = [node for node in nodes if patch.nodes[node].region == scope]
        made: NodeRef = patch.group(draw.sample(near, draw.randint(1, len(near))))
        patch.ungroup(made)
        assert dump_patch(patch) == text
        patch.undo()
        patch.undo()
        assert dump_patch(patch) == text
