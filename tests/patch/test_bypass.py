"""Bypassed and disabled blocks: a bypassed block gives what a deleted and healed one gives."""

import random
import threading
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.waiting import until
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.blocktypes.block import block_types
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import (
    Change,
    Connected,
    Connection,
    Disconnected,
    Mode,
    NodeModeChanged,
    ParameterChanged,
    PortRef,
    net_changes,
)
from warploom.engine.patch.contents import PatchContents
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.organise.bypass import Running, RunningChanges, check_bypass, left_out, pass_through
from warploom.engine.protocol.messages import SetFusing, SetRunning
from warploom.engine.runtime.update import updater
from warploom.engine.runtime.update.prepare import prepare

TYPES = (
    "io.array",
    "math.scale_offset",
    "math.add",
    "math.saxpy",
    "value.lfo",
    "value.smooth",
    "value.map",
    "control.if",
)
DATA = np.arange(8, dtype=np.float32)


def chain() -> Patch:
    """Return an array, which is doubled and then tripled."""
    patch = Patch()
    array = patch.add("io.array", data=DATA)
    double = patch.add("math.scale_offset", node_id="double", scale=2.0)
    triple = patch.add("math.scale_offset", node_id="triple", scale=3.0)
    patch.connect(array["out"], double["x"])
    patch.connect(double["out"], triple["x"])
    return patch


def held(patch: PatchContents | Running) -> tuple[object, ...]:
    """Return nodes, connections and sentinels in a form to compare."""
    running = Running(patch.nodes, patch._by_target, patch.sentinels) if isinstance(patch, PatchContents) else patch
    nodes = {(n.id, n.type, n.region, str(sorted(n.parameters.items()))) for n in running.nodes.values()}
    return nodes, set(running.by_target.values()), running.sentinels


def test_a_bypassed_block_passes_its_input_on_and_is_back_with_its_state_of_the_patch() -> None:
    """The engine runs as if the block was deleted and the chain healed; undo brings it back."""
    patch = chain()
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set_mode("double", "bypassed")
        assert engine.step().update_level is UpdateLevel.COLD
        np.testing.assert_array_equal(engine.read(patch["triple"]["out"]), DATA * 3)
        patch.set("double", scale=5.0)
        assert engine.step().update_level is UpdateLevel.NONE, "a bypassed block's parameters must cost nothing"
        patch.set("triple", scale=4.0)
        assert engine.step().update_level is UpdateLevel.HOT
        patch.undo(), patch.undo(), patch.undo()
        engine.step()
        np.testing.assert_array_equal(engine.read(patch["triple"]["out"]), DATA * 6)


@pytest.mark.parametrize(
    ("good", "wrong"),
    [("x * gain", "x * gian +"), ("kernel.expression", "gone.with_its_file")],
    ids=["typo", "missing"],
)
def test_a_bypassed_block_that_could_not_run_stops_nothing_in_an_opened_patch(good: str, wrong: str) -> None:
    """A formula with a typo and a missing block type have no known ports; their only input is still passed on."""
    patch = chain()
    formula = patch.add("kernel.expression", expression="x * gain")
    patch.disconnect(Connection(PortRef("double", "out"), PortRef("triple", "x")))
    patch.connect(PortRef("double", "out"), formula["x"])
    patch.connect(formula["out"], PortRef("triple", "x"))
    patch.set(formula, gain=5.0)
    patch.set_mode(["double", formula], "bypassed")
    opened = parse_patch(dump_patch(patch).replace(good, wrong))
    opened.set("array", data=DATA)
    with Engine(opened, device="host") as engine:
        assert not engine.step().diagnostics
        np.testing.assert_array_equal(engine.read(opened["triple"]["out"]), DATA * 3)


def test_a_disabled_block_leaves_out_the_blocks_that_need_it() -> None:
    """Blocks without a required input are left out, and the rest runs."""
    patch = chain()
    patch.add("math.scale_offset", node_id="other", scale=7.0)
    patch.connect(PortRef("array", "out"), patch["other"]["x"])
    with Engine(patch, device="host") as engine:
        patch.set_mode(["double"], Mode.DISABLED)
        report = engine.step()
        assert report.nodes.keys() == {"array", "other"}
        assert not report.diagnostics
        assert left_out(patch) == {"double", "triple"}
        patch.set_mode("double", "")
        assert engine.step().nodes.keys() == {"array", "double", "triple", "other"}


def test_modes_are_in_the_file_and_in_copies() -> None:
    """A mode is written only where there is one; a file with another mode is refused with its place."""
    patch = chain()
    plain = dump_patch(patch)
    assert "mode" not in plain
    patch.set_mode("double", "bypassed")
    text = dump_patch(patch)
    assert dump_patch(parse_patch(text)) == text
    copies = patch.insert(patch.excerpt(["double"]))
    assert patch.nodes[copies["double"]].mode is Mode.BYPASSED
    with pytest.raises(PatchError, match=r"nodes\[1\] \(double\): mode must be bypassed or disabled, got"):
        parse_patch(text.replace('"bypassed"', '"asleep"'))
    patch.undo(), patch.undo()
    assert dump_patch(patch) == plain


@pytest.mark.parametrize(
    ("type_id", "reason"),
    [
        ("io.array", "must have an input of the type of its output 'out'"),
        ("io.viewer", "must have an output to be bypassed, got none; disable it instead"),
        ("control.if", "must not be a region to be bypassed"),
        ("value.lfo", "must have an input of the type of its output 'value'"),
        ("buffer.frame_delay", "must have an input of the type"),
    ],
)
def test_a_block_that_passes_nothing_on_is_refused_with_the_reason(type_id: str, reason: str) -> None:
    """A refused edit changes nothing."""
    patch = Patch()
    node = patch.add(type_id)
    with pytest.raises(PatchError, match=reason):
        patch.set_mode(node, "bypassed")
    assert patch.nodes[node.id].mode is Mode.ACTIVE


def test_outputs_take_the_first_input_of_their_type_that_is_left() -> None:
    """The pairs of some blocks of the library."""
    get = default_catalogue().require
    assert pass_through(get("image.mix")) == {"out": "a"}
    assert pass_through(get("field.wave_step")) == {"heights_out": "heights", "velocities_out": "velocities"}
    assert pass_through(get("value.smooth")) == {"value": "input"}
    assert pass_through(get("image.color_ramp")) == {}


def test_the_library_declares_existing_ports() -> None:
    """`bypass_ports` of each block lead from its outputs to its inputs or parameters."""
    default_catalogue()
    for block_type in block_types.all().values():
        if block_type.bypass_ports:
            check_bypass(block_type.id, block_type)


EDITS = ("add", "connect", "connect", "connect", "mode", "mode", "set", "remove", "into", "undo")
GROUP_EDITS = ("group", "group", "ungroup", "into", "promote")


def random_edit(draw: random.Random, patch: Patch, kinds: Sequence[str] = EDITS) -> None:
    """Make one edit, bypassing and disabling among them; a refused one changes nothing."""
    nodes = list(patch.nodes)
    kind = draw.choice(kinds)
    if kind == "add" or len(nodes) < 3:
        patch.add(draw.choice(TYPES), position=(len(nodes), 0))
    elif kind == "connect":
        ends = [(n, name) for n in nodes for name in (*patch[n].patch.block_type(n).ports, "value", "scale", "input")]
        (a, out), (b, into) = draw.choice(ends), draw.choice(ends)
        patch.connect(PortRef(a, out), PortRef(b, into))
    elif kind == "mode":
        patch.set_mode(draw.sample(nodes, 1), draw.choice(("bypassed", "bypassed", "disabled", "")))
    elif kind == "set":
        patch.set(draw.choice(nodes), scale=draw.random())
    elif kind == "remove":
        patch.remove(draw.choice(nodes), heal=draw.random() < 0.5)
    elif kind == "into":
        patch.move_into(draw.choice(nodes), draw.choice(["", *nodes]))
    elif kind == "group":
        patch.group(draw.sample(nodes, draw.choice((1, 2))))
    elif kind == "ungroup":
        patch.ungroup(draw.choice([node for node in nodes if patch.is_group(node)] or nodes))
    elif kind == "promote":
        node = draw.choice(nodes)
        patch.promote(PortRef(node, draw.choice([*patch[node].patch.block_type(node).ports, "scale"])))
    else:
        patch.undo()


def healed_copy(patch: Patch, nodes: Collection[str]) -> Patch:
    """Return the patch with these nodes deleted and their chains healed."""
    copy = patch.excerpt(patch.nodes)
    copy.remove(nodes, heal=True)
    return copy


@pytest.mark.parametrize("seed", seeds(6))
def test_the_engine_gets_the_patch_without_bypassed_blocks(seed: int) -> None:
    """After random edits, the changes for the engine give the patch with bypassed blocks deleted and healed."""
    draw, patch, engine = random.Random(seed), Patch(), Patch()
    changes, made = RunningChanges(patch), []
    patch.subscribe(made.append, lambda: (engine.restore(changes.follow(list(made))), made.clear()))
    for _ in range(120):
        try:
            random_edit(draw, patch)
        except PatchError:
            continue
        assert held(engine) == held(Running.of(patch))
        if not any(node.mode is Mode.DISABLED for node in patch.nodes.values()):
            bypassed = [node.id for node in patch.nodes.values() if node.mode is Mode.BYPASSED]
            copy = healed_copy(patch, bypassed)
            assert set(Running.of(patch).by_target.values()) == set(copy.connections)
        for connection in Running.of(patch).by_target.values():
            patch_without = engine.source_of(connection.target)
            assert patch_without == connection.source


@pytest.mark.parametrize("seed", seeds(4))
def test_changes_are_foreseen(seed: int) -> None:
    """The changes for the engine that an edit would make are those that it then makes, with groups and modes."""
    draw, patch = random.Random(seed), Patch()
    running, made, flat, followed = RunningChanges(patch), list[Change](), list[Change](), list[Change]()

    def follow() -> None:
        followed[:] = running.follow([*flat])
        flat.clear()

    patch.subscribe(made.append)
    patch.subscribe(flat.append, follow, without_groups=True)
    for _ in range(60):
        made.clear()
        steps = len(patch.history.names)
        try:
            if patch.nodes and draw.random() < 0.15:
                node = draw.choice(list(patch.nodes))
                _ = patch.ungroup(node) if patch.is_group(node) else patch.group([node])
            else:
                random_edit(draw, patch)
        except PatchError:
            continue
        if len(patch.history.names) <= steps:  # an undo
            continue
        edits = [*made]
        patch.undo()
        foreseen = running.would_follow(edits)
        patch.redo()
        assert sorted(map(repr, net_changes(foreseen))) == sorted(map(repr, net_changes(followed)))


@pytest.mark.parametrize("seed", seeds(6))
def test_the_engine_gets_what_runs_of_a_patch_with_groups(seed: int) -> None:
    """After random edits, an engine that followed has what one gets that begins with the patch, and the same rest."""
    draw, patch, engine = random.Random(seed), Patch(), Patch()
    changes, made = RunningChanges(patch), list[Change]()

    def send() -> None:
        engine.restore(changes.follow(made))
        made.clear()

    patch.subscribe(made.append, send, without_groups=True)
    for _ in range(120):
        try:
            random_edit(draw, patch, EDITS + GROUP_EDITS)
        except PatchError:
            continue
        assert held(engine) == held(Running.of(patch))
        assert changes.left_out == RunningChanges(patch).left_out


def test_a_deleted_block_in_a_chain_is_healed() -> None:
    """The chain stays connected, in one undo step."""
    patch = chain()
    before = dump_patch(patch)
    patch.remove("double", heal=True)
    assert patch.connections == [Connection(PortRef("array", "out"), PortRef("triple", "x"))]
    patch.undo()
    assert dump_patch(patch) == before


def test_a_long_chain_is_healed_and_bypassed() -> None:
    """As many blocks as a patch may have in a row can be deleted or bypassed at once."""
    patch = chain()
    last, more = "double", [f"more{number}" for number in range(1200)]
    for node in more:
        patch.add("math.scale_offset", node_id=node)
        patch.connect(patch[last]["out"], patch[node]["x"])
        last = node
    patch.connect(patch[last]["out"], patch["triple"]["x"])
    patch.set_mode(more, "bypassed")
    assert Connection(PortRef("double", "out"), PortRef("triple", "x")) in Running.of(patch).by_target.values()
    patch.remove(more, heal=True)
    assert Connection(PortRef("double", "out"), PortRef("triple", "x")) in patch.connections


def test_a_group_is_bypassed_and_disabled_with_its_blocks() -> None:
    """A bypassed group passes its first input on; a disabled one leaves out its blocks and those that need them."""
    patch = chain()
    group = patch.group(["double"])
    with Engine(patch, device="host") as engine:
        patch.set_mode(group, "bypassed")
        assert engine.step().nodes.keys() == {"array", "triple"}
        np.testing.assert_array_equal(engine.read(patch["triple"]["out"]), DATA * 3)
        patch.set_mode(group, "disabled")
        assert engine.step().nodes.keys() == {"array"}
        other = patch.add("io.array", node_id="other")
        assert engine.step().nodes.keys() == {"array", "other"}
        patch.move_into(other, group)
        assert engine.step().nodes.keys() == {"array"}
        patch.undo()
        assert engine.step().nodes.keys() == {"array", "other"}
        patch.remove(other)
        patch.set_mode(group, "")
        engine.step()
        np.testing.assert_array_equal(engine.read(patch["triple"]["out"]), DATA * 6)
        patch.set_mode("double", "bypassed")  # inside the group
        engine.step()
        np.testing.assert_array_equal(engine.read(patch["triple"]["out"]), DATA * 3)


def test_what_runs_follows_a_parameter_that_decides_ports() -> None:
    """A bypassed block passes on its first input, which another value of its parameter makes another one."""
    patch = chain()
    patch.add("kernel.expression", node_id="drawn", expression="x * 2")
    patch.connect(PortRef("array", "out"), PortRef("drawn", "x"))
    patch.connect(PortRef("drawn", "out"), PortRef("triple", "x"))
    patch.set_mode("drawn", "bypassed")
    changes = RunningChanges(patch)
    made = list[Change]()
    patch.subscribe(made.append)
    patch.set("drawn", reads="y, x")
    assert changes.follow(made) == [Disconnected(Connection(PortRef("array", "out"), PortRef("triple", "x")))]


def summing() -> Patch:
    """Return a patch that adds an array to a sum in each frame."""
    patch = Patch()
    array = patch.add("io.array", data=np.ones(4, np.float32))
    scale = patch.add("math.scale_offset", node_id="scale")
    delay, total = patch.add("buffer.frame_delay"), patch.add("math.add", node_id="total")
    patch.connect(array["out"], scale["x"])
    patch.connect(scale["out"], total["x"])
    patch.connect(scale["out"], delay["like"])
    patch.connect(delay["out"], total["y"])
    patch.connect(total["out"], delay["x"])
    return patch


@pytest.mark.parametrize(
    ("node", "mode", "expected"),
    [
        ("scale", "bypassed", 5),
        ("scale", "disabled", 4),
        ("total", "bypassed", 2),  # the delay has taken what passed the sum
        ("total", "disabled", 4),
        ("frame_delay", "disabled", 4),
    ],
)
def test_state_waits_for_blocks_that_are_left_out(node: str, mode: str, expected: int) -> None:
    """Blocks that stay go on with their state, and those that come back have theirs."""
    patch = summing()
    total = patch["total"]["out"]
    with Engine(patch, device="host") as engine:
        for _ in range(3):
            engine.step()
        for change in (mode, ""):
            patch.set_mode(node, change)
            engine.step()
        assert engine.read(total)[0] == expected
        patch.set_mode("scale", "disabled")
        engine.step()
        patch.remove("frame_delay")
        patch.undo()
        patch.set_mode("scale", "")
        engine.step()
        assert engine.read(total)[0] == expected + 1


@pytest.mark.parametrize("seed", seeds(5))
def test_random_modes_lose_no_state(seed: int) -> None:
    """Each sum has counted the frames in which all of its blocks ran, whatever was rebuilt meanwhile."""
    draw, patch = random.Random(seed), Patch()
    source = patch.add("io.array", node_id="array", data=np.ones(draw.choice((1, 7, 1001)), np.float32))
    chains = [tuple(f"{kind}{number}" for kind in ("scale", "delay", "total")) for number in range(2)]
    for scale, delay, total in chains:
        for node, kind in ((scale, "math.scale_offset"), (delay, "buffer.frame_delay"), (total, "math.add")):
            patch.add(kind, node_id=node)
        for port, target in ((source["out"], scale), (PortRef(scale, "out"), total), (PortRef(total, "out"), delay)):
            patch.connect(port, PortRef(target, "x"))
        patch.connect(PortRef(scale, "out"), PortRef(delay, "like"))
        patch.connect(PortRef(delay, "out"), PortRef(total, "y"))
        source = patch[scale]
    built, counts = len(patch.history.names), [0, 0]
    with Engine(patch, device="host") as engine:
        for kind in ("step", *draw.choices(("mode", "mode", "mode", "step", "fuse", "other", "undo", "redo"), k=50)):
            if kind == "mode":
                patch.set_mode(draw.choice([node for chain in chains for node in chain]), draw.choice(("", "disabled")))
            elif kind == "fuse":
                engine.post(SetFusing(draw.random() < 0.5))
            elif kind == "other":
                patch.connect(patch["array"]["out"], patch.add("math.scale_offset")["x"])
            elif kind == "undo" and len(patch.history.names) > built:
                patch.undo()
            elif kind == "redo" and patch.history.undone_names:
                patch.redo()
            if draw.random() < 0.3:  # a frame that waits for no job
                engine.post(SetRunning(False))
                engine.core.frame(free_running=True)
            if kind == "step":
                engine.step()
                runs = True
                for number, (scale, delay, total) in enumerate(chains):
                    runs = runs and patch.nodes[scale].mode is Mode.ACTIVE
                    if runs and patch.nodes[delay].mode is patch.nodes[total].mode is Mode.ACTIVE:
                        counts[number] += 1
                        assert set(engine.read(PortRef(total, "out"))) == {counts[number]}


def test_state_waits_while_the_graph_without_the_block_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that runs again before the engine has left it out keeps its state, and its delay does."""
    patch = summing()
    begun, may_finish = threading.Event(), threading.Event()

    def slow(*arguments: Any, **more: Any) -> Any:
        begun.set()
        assert may_finish.wait()
        return prepare(*arguments, **more)

    with Engine(patch, device="host") as engine:
        for _ in range(3):
            engine.step()
        monkeypatch.setattr(updater, "prepare", slow)
        core = engine.core
        engine.post(SetRunning(False))  # frames show edits, and don't advance
        patch.set_mode("frame_delay", "disabled")
        core.frame(free_running=True)
        assert begun.wait()
        patch.set_mode("frame_delay", "")
        core.frame(free_running=True)
        may_finish.set()
        until(lambda: not core.updates.pending or core.frame(free_running=True) is None)
        engine.step()
        assert engine.read(patch["total"]["out"])[0] == 4


def test_costs_are_those_of_the_part_that_runs() -> None:
    """An edit of a bypassed block is free; a mode costs what the engine does then, and previews change nothing."""
    patch = chain()
    with Engine(patch, device="host") as engine:
        engine.step()
        off = NodeModeChanged("double", Mode.BYPASSED, Mode.ACTIVE)
        assert engine.cost_of(off).level is UpdateLevel.COLD and not engine.cost_of(off).at_most
        patch.set_mode("double", "bypassed")
        engine.step()
        assert engine.cost_of(ParameterChanged("double", "scale", 3.0, 2.0)).level is UpdateLevel.NONE
        assert engine.cost_of(ParameterChanged("triple", "scale", 3.5, 3.0)).level is UpdateLevel.HOT
        entry = Connection(PortRef("array", "out"), PortRef("double", "x"))
        assert "triple: required input 'x' must be connected" in engine.cost_of(Disconnected(entry)).cause
        fresh = patch.add("math.scale_offset", node_id="fresh")
        patch.set_mode(fresh, "bypassed")
        engine.step()
        made = Connection(PortRef("array", "out"), PortRef("fresh", "x"))
        assert engine.cost_of(Connected(made)).level is UpdateLevel.NONE
        assert engine.step().update_level is UpdateLevel.NONE
