"""Every edit of a patch can be undone and redone."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import (
    Change,
    Connection,
    NodeAdded,
    NodeMoved,
    NodeRegionChanged,
    NodeRenamed,
    ParameterChanged,
    PortRef,
    inverse,
)
from warploom.engine.patch.document import Patch
from warploom.engine.patch.editing import history
from warploom.engine.patch.editing.history import Edit, History
from warploom.engine.patch.files import dump_patch, parse_patch
from warploom.engine.patch.organise.annotations import Dots, Frame
from warploom.engine.patch.regions import branch_of, region_of
from warploom.engine.patch.rules import crossed_region, find_cycle


@pytest.fixture(autouse=True)
def _regions(region_blocks: None) -> None:
    """Define region blocks, which random edits also place."""


TYPES = ("io.array", "math.saxpy", "io.viewer", "image.mix", "test_region.loop", "test_region.choice")


def random_scope(patch: Patch, data: st.DataObject) -> str:
    """Return a scope of the patch, or one that doesn't exist, which edits refuse."""
    node = data.draw(st.sampled_from(["", *sorted(patch.nodes)]))
    return node + (".else" if node and data.draw(st.booleans()) else "")


def random_edit(patch: Patch, data: st.DataObject) -> None:
    """Do one edit that hypothesis chooses; an edit that the patch refuses changes nothing."""
    nodes = sorted(patch.nodes)
    kind = data.draw(
        st.sampled_from(
            (
                "add",
                "add",
                "remove",
                "connect",
                "connect",
                "cut",
                "set",
                "move",
                "rename",
                "mark",
                "group",
                "into",
                "into",
                "copy",
                "mode",
                "frame",
                "dots",
                "heal",
            )
        )
    )
    if kind == "add" or not nodes:
        scope = random_scope(patch, data)
        patch.add(data.draw(st.sampled_from(TYPES)), position=(float(len(nodes)), 0.0), region=scope)
        return
    node = data.draw(st.sampled_from(nodes))
    other = data.draw(st.sampled_from(nodes))
    block = patch.block_type(node)
    assert block is not None
    match kind:
        case "remove":
            patch.remove(node)
        case "connect":
            ends = [[*(patch.block_type(n) or block).ports] for n in (node, other)]
            source, target = (data.draw(st.sampled_from(names)) for names in ends)
            patch.connect(PortRef(node, source), PortRef(other, target))
        case "cut":
            if patch.connections:
                patch.disconnect(data.draw(st.sampled_from(patch.connections)))
        case "set":
            names = [name for name, spec in block.parameters.items() if spec.type == "float"]
            if names:
                name = data.draw(st.sampled_from(names))
                if data.draw(st.booleans()):
                    patch.set(node, **{name: data.draw(st.floats(0, 1))})
                else:
                    patch.reset(node, name)
        case "move":
            patch.move(node, (float(data.draw(st.integers(-50, 50))), 1.0))
        case "rename":
            patch.rename(node, data.draw(st.sampled_from(("", "A", "Ä"))))
        case "mark":
            with patch.edit("mark"):
                patch.set_colour({node, other}, data.draw(st.sampled_from(("", "blue"))))
                patch.set_comment({node, other}, data.draw(st.sampled_from(("", "A\nÄ"))))
        case "into":
            patch.move_into({node, other}, random_scope(patch, data))
        case "copy":
            patch.insert(patch.excerpt({node, other}), region=random_scope(patch, data))
        case "mode":
            patch.set_mode({node, other}, data.draw(st.sampled_from(("", "bypassed", "disabled"))))
        case "frame":
            patch.annotate(Frame(id=data.draw(st.sampled_from("ab")), position=(data.draw(st.integers(0, 9)), 0)))
        case "dots":
            if patch.connections:
                target = data.draw(st.sampled_from(patch.connections)).target
                patch.annotate(Dots(node=target.node, port=target.port, points=((data.draw(st.integers(0, 9)), 0),)))
        case "heal":
            patch.remove([node, other], heal=True)
        case "group":
            with patch.edit("group"):
                patch.move(node, (0.0, 0.0))
                patch.add(TYPES[0])
                patch.remove(node)


@given(st.data())
def test_undo_takes_every_edit_back_and_redo_brings_it_again(data: st.DataObject) -> None:
    """After any edits, undo restores each earlier text in turn, and redo each later one."""
    patch = Patch()
    texts = [dump_patch(patch)]
    for _ in range(data.draw(st.integers(1, 12))):
        before = len(patch.history.names)
        try:
            random_edit(patch, data)
        except PatchError:
            assert dump_patch(patch) == texts[-1], "a refused edit must change nothing"
        if len(patch.history.names) > before:
            texts.append(dump_patch(patch))
    for text in reversed(texts[:-1]):
        assert patch.undo() is not None
        assert dump_patch(patch) == text
    assert patch.undo() is None
    for text in texts[1:]:
        assert patch.redo() is not None
        assert dump_patch(patch) == text
    assert patch.redo() is None


@given(st.data())
def test_listeners_can_follow_a_patch_by_its_changes_alone(data: st.DataObject) -> None:
    """A second patch that applies the first one's changes always has the same text."""
    patch, mirror = Patch(), Patch()
    patch.subscribe(lambda change: mirror.restore([change]))
    for _ in range(8):
        step: Callable[[], Any] = data.draw(st.sampled_from((lambda: random_edit(patch, data), patch.undo, patch.redo)))
        with contextlib.suppress(PatchError):
            step()
        assert dump_patch(mirror) == dump_patch(patch)
        assert dump_patch(parse_patch(dump_patch(patch))) == dump_patch(patch)
    copy = Patch()
    copy.restore(patch.as_changes())
    assert dump_patch(copy) == dump_patch(patch)


@given(st.data())
def test_lookups_agree_with_a_walk_over_the_patch(data: st.DataObject) -> None:
    """After edits, undo and redo, the lookups of connections, members and scopes equal a search of the patch."""
    patch = Patch()
    for _ in range(8):
        step: Callable[[], Any] = data.draw(st.sampled_from((lambda: random_edit(patch, data), patch.undo, patch.redo)))
        with contextlib.suppress(PatchError):
            step()
        regions = {node.id: node.region for node in patch.nodes.values()}
        assert patch.scopes.scope_of == {node: scope for node, scope in regions.items() if scope}
        for node in patch.nodes:
            assert set(patch.members(node)) == {n for n, scope in regions.items() if region_of(scope) == node}
            touching = [c for c in patch.connections if node in (c.source.node, c.target.node)]
            assert sorted(patch.connections_of(node), key=str) == sorted(touching, key=str)


@given(st.data())
def test_no_edit_leaves_an_order_that_can_not_be(data: st.DataObject) -> None:
    """After any edits no block depends on itself, no branch reads the other one, and only regions hold blocks."""
    patch = Patch()
    for _ in range(data.draw(st.integers(1, 12))):
        with contextlib.suppress(PatchError):
            random_edit(patch, data)
        scopes = patch.scopes
        assert find_cycle(scopes.lifted((c.source.node, c.target.node) for c in patch.connections)) is None
        assert not [c for c in patch.connections if crossed_region(c, scopes)]
        for node in patch.nodes.values():
            around = patch.block_type(region_of(node.region)) if node.region else None
            assert not node.region or (around is not None and branch_of(node.region) in around.regions)


def test_one_gesture_is_one_undo_step() -> None:
    """All moves of one slider drag are undone at once; the next drag is a separate step."""
    patch = Patch()
    saxpy = patch.add("math.saxpy", a=1.0)
    for value in (2.0, 3.0, 4.0):
        patch.set(saxpy, gesture="drag 1", a=value)
    for value in (5.0, 6.0):
        patch.set(saxpy, gesture="drag 2", a=value)
    assert patch.history.names == ["Add Saxpy", "Set a of Saxpy", "Set a of Saxpy"]
    patch.undo()
    assert patch.value(saxpy, "a") == 4.0
    patch.undo()
    assert patch.value(saxpy, "a") == 1.0
    patch.redo()
    assert patch.value(saxpy, "a") == 4.0


def test_a_long_drag_is_one_step_of_one_change() -> None:
    """The moves of a drag don't pile up, and its undo and redo are one change each."""
    patch, heard = Patch(), list[Change]()
    saxpy = patch.add("math.saxpy", a=1.0)
    for step in range(1000):
        patch.set(saxpy, gesture="drag", a=2.0 + step / 1000)
        assert patch.history.last is not None and len(patch.history.last.changes) < 100
    patch.subscribe(heard.append)
    patch.undo()
    patch.redo()
    first, last = ParameterChanged("saxpy", "a", 1.0, 2.999), ParameterChanged("saxpy", "a", 2.999, 1.0)
    assert heard == [first, last]


@given(st.data())
def test_gestures_of_any_edits_can_be_undone_and_redone(data: st.DataObject) -> None:
    """Edits of one gesture are one step, whatever they change, and also if their changes are merged often."""
    patch = Patch()
    texts, number = [dump_patch(patch)], 0
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(history, "_MOST_APART", data.draw(st.integers(0, 4)))
        for _ in range(data.draw(st.integers(1, 16))):
            number += data.draw(st.booleans())
            before = len(patch.history.names)
            with contextlib.suppress(PatchError), patch.edit("Gesture", gesture=number):
                random_edit(patch, data)
            if len(patch.history.names) > before:
                texts.append(texts[-1])
            texts[-1] = dump_patch(patch)
        for _ in range(2):
            for text in reversed(texts[:-1]):
                assert patch.undo() is not None
                assert dump_patch(patch) == text
            for text in texts[1:]:
                assert patch.redo() is not None
                assert dump_patch(patch) == text


def test_one_gesture_may_move_several_nodes() -> None:
    """Dragging a selection is one step, and its undo moves every node back."""
    patch = Patch()
    nodes = [patch.add("io.array", position=(float(i), 0.0)) for i in range(3)]
    for step in (10.0, 20.0):
        with patch.edit("Move 3 nodes", gesture=7):
            for i, node in enumerate(nodes):
                patch.move(node, (i + step, step))
    assert [patch.nodes[n.id].position for n in nodes] == [(20.0, 20.0), (21.0, 20.0), (22.0, 20.0)]
    patch.undo()
    assert [patch.nodes[n.id].position for n in nodes] == [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)]


def test_after_undo_and_after_saving_a_gesture_begins_a_new_step() -> None:
    """A drag that continues after an undo or a save begins a new step, so undo stops at that state."""
    patch = Patch()
    saxpy = patch.add("math.saxpy", a=1.0)
    patch.set(saxpy, gesture=1, a=2.0)
    patch.history.mark_saved()
    patch.set(saxpy, gesture=1, a=3.0)
    assert not patch.history.is_saved
    patch.undo()
    assert patch.history.is_saved
    assert patch.value(saxpy, "a") == 2.0
    patch.redo()
    patch.set(saxpy, gesture=1, a=4.0)
    patch.undo()
    assert patch.value(saxpy, "a") == 3.0


def test_a_new_edit_ends_what_could_be_redone() -> None:
    """A new edit clears the redo history."""
    patch = Patch()
    patch.add("io.array")
    patch.undo()
    assert patch.redo() == "Add Array"
    patch.undo()
    patch.add("math.saxpy")
    assert patch.redo() is None
    assert patch.history.undo_name == "Add Saxpy"


def test_an_edit_that_changes_nothing_is_no_step() -> None:
    """Setting the same value, moving by nothing and renaming to the same title add no step."""
    patch = Patch()
    node = patch.add("math.saxpy", a=1.5, position=(1.0, 2.0))
    array = patch.add("io.array", data=np.arange(3.0))
    patch.set(node, a=1.5)
    patch.set(array, data=np.arange(3.0))
    patch.move(node, (1.0, 2.0))
    patch.rename(node, "")
    patch.set_colour(node, "")
    patch.set_comment(node, "")
    patch.reset(node, "a")
    patch.reset(node, "a")
    assert len(patch.history.names) == 3


def test_set_refuses_what_is_no_node_and_what_is_no_gesture() -> None:
    """A node that is not in the patch is refused even without values, and an array as a gesture after any edit."""
    patch = Patch()
    node = patch.add("math.saxpy")
    with pytest.raises(PatchError, match="node must be one of saxpy, got 'missing'"):
        patch.set("missing")
    patch.set(node, gesture="drag", a=2.0)
    with pytest.raises(PatchError, match="gesture must be a text"):
        patch.set(node, gesture=np.arange(3), a=3.0)
    assert patch.value(node, "a") == 2.0 and len(patch.history.names) == 2


def test_an_edit_that_fails_half_way_leaves_nothing() -> None:
    """An edit that fails halfway is reverted, and listeners receive the reverting changes."""
    patch = Patch()
    kept = patch.add("io.array")
    before, heard = dump_patch(patch), Patch()
    heard.restore(patch.as_changes())
    patch.subscribe(lambda change: heard.restore([change]))
    with pytest.raises(RuntimeError, match="half way"), patch.edit("Fail"):
        patch.add("math.saxpy", node_id="s")
        patch.connect(kept["out"], patch["s"]["x"])
        patch.remove(kept)
        raise RuntimeError("half way")
    assert dump_patch(patch) == before == dump_patch(heard)
    assert patch.history.names == ["Add Array"]


def test_an_inner_edit_that_fails_takes_back_only_its_own_part() -> None:
    """An inner edit that fails reverts its own changes, and the outer edit keeps the others as one step."""
    patch = Patch()
    with patch.edit("Outer"):
        patch.add("io.array", node_id="one")
        with pytest.raises(PatchError), patch.edit("Inner"):
            patch.add("io.array", node_id="two")
            patch.set("two", data="no array")
        patch.add("io.array", node_id="three")
    assert sorted(patch.nodes) == ["one", "three"]
    assert patch.history.names == ["Outer"]
    patch.undo()
    assert not patch.nodes


def test_listener_that_fails_does_not_split_an_edit() -> None:
    """An edit whose listener raises is reverted completely."""
    patch = Patch()
    armed = [True]

    def listener(_: Change) -> None:
        if armed.pop() if armed else False:
            raise RuntimeError("listener")

    patch.subscribe(listener)
    with pytest.raises(RuntimeError, match="listener"):
        patch.add("io.array")
    assert not patch.nodes
    assert patch.history.names == []


def test_the_end_of_an_edit_is_announced_once_after_its_changes() -> None:
    """The end is announced for edits of many changes, nested or failed edits, undo and redo; an empty edit has none."""
    patch, reported = Patch(), []
    end = patch.subscribe(lambda change: reported.append(type(change).__name__), lambda: reported.append("done"))

    def heard() -> list[str]:
        found = reported.copy()
        reported.clear()
        return found

    with patch.edit("Two"):
        first = patch.add("io.array")
        with patch.edit("One of them"):
            patch.add("io.viewer")
    assert heard() == ["NodeAdded", "NodeAdded", "done"]
    patch.move(first, (8, 8))
    assert heard() == ["NodeMoved", "done"]
    patch.move(first, (8, 8))
    assert heard() == []
    with contextlib.suppress(PatchError), patch.edit("Fails"):
        patch.remove(first)
        patch.add("no.such.type")
    assert heard() == ["NodeRemoved", "NodeAdded", "done"]
    patch.undo()
    patch.undo()
    assert heard() == ["NodeMoved", "done", "NodeRemoved", "NodeRemoved", "done"]
    patch.redo()
    assert heard() == ["NodeAdded", "NodeAdded", "done"]
    end()
    patch.redo()
    assert heard() == []


def test_a_listener_can_leave() -> None:
    """After unsubscribing, a listener receives no more changes."""
    patch = Patch()
    heard: list[Change] = []
    leave = patch.subscribe(heard.append)
    patch.add("io.array")
    leave()
    patch.add("io.array")
    assert len(heard) == 1


A, B = PortRef("a", "out"), PortRef("b", "x")
CHANGES: list[Change] = [
    ParameterChanged("a", "gain", 2.0, 1.0),
    NodeMoved("a", (1.0, 1.0), (0.0, 0.0)),
    NodeRenamed("a", "New", "Old"),
    NodeRegionChanged("a", "loop", ""),
    *Patch().as_changes(),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: type(c).__name__)
def test_the_inverse_of_an_inverse_is_the_change(change: Change) -> None:
    """The inverse of an inverse is the change itself."""
    assert inverse(change) != change
    assert inverse(inverse(change)) == change


def test_only_changes_of_the_same_thing_merge() -> None:
    """Two values of one parameter merge into one change; changes of different things stay separate."""

    def both(first: Change, second: Change) -> list[Change]:
        edit = Edit("drag", [first, second])
        edit.merge()
        return edit.changes

    first, second = ParameterChanged("a", "gain", 2.0, 1.0), ParameterChanged("a", "gain", 3.0, 2.0)
    assert both(first, second) == [ParameterChanged("a", "gain", 3.0, 1.0)]
    into, out = NodeRegionChanged("a", "loop", ""), NodeRegionChanged("a", "choice.else", "loop")
    assert both(into, out) == [NodeRegionChanged("a", "choice.else", "")]
    for one, other in (
        (first, ParameterChanged("a", "other", 3.0, 2.0)),
        (first, ParameterChanged("b", "gain", 3.0, 2.0)),
        (NodeMoved("a", (1.0, 1.0), (0.0, 0.0)), NodeMoved("b", (2.0, 2.0), (0.0, 0.0))),
        (first, NodeRenamed("a", "x", "")),
        (into, NodeRegionChanged("b", "loop", "")),
    ):
        assert both(one, other) == [one, other]


def test_the_size_of_a_history_follows_gestures_undo_and_redo() -> None:
    """Texts that were replaced in a gesture, or undone, don't count against the limit; those redone do."""

    def text(gesture: object, letters: int) -> Edit:
        return Edit("write", [ParameterChanged("a", "text", "x" * letters, "")], gesture)

    history = History(most_bytes=100)
    for letters in (90, 60):
        history.record(text("drag", letters))
    history.record(text(None, 40))
    assert len(history.names) == 2
    history.take_undo()
    history.take_redo()
    history.take_undo()
    history.record(text(None, 40))
    assert len(history.names) == 2
    history.record(text(None, 1))
    assert len(history.names) == 2


def test_history_forgets_the_oldest_steps_and_with_them_the_saved_moment() -> None:
    """Once the saved state is older than the oldest step, no undo makes the patch count as saved."""
    change = NodeRenamed("a", "x", "")
    history = History(limit=3)
    for i in range(5):
        history.record(Edit(f"edit {i}", [change]))
    assert history.names == ["edit 2", "edit 3", "edit 4"]
    while history.take_undo():
        pass
    assert not history.is_saved
    history.mark_saved()
    assert history.is_saved


def test_history_keeps_so_many_bytes_and_always_the_last_edit() -> None:
    """Arrays and texts count, in parameters that were set and in nodes that were added or removed."""
    patch = Patch()
    patch.history = history = History(most_bytes=10_000)
    array = patch.add("io.array", data=np.zeros(100, np.float32))
    for number in range(30):
        patch.set(array, data=np.full(100, number, np.float32))
    assert len(history.names) == 12, "each has 400 bytes before and 400 after"
    patch.set(array, data=np.zeros(5000, np.float32))
    assert len(history.names) == 1
    patch.undo()
    assert patch.value(array, "data")[0] == 29
    patch.redo()
    history.record(Edit("text", [ParameterChanged("a", "code", "x" * 9_000, "")]))
    assert history.names == ["text"]
    patch.remove(array)
    assert len(history.names) == 1, "the array goes with its node"
    assert not history.is_saved


@given(st.lists(st.sampled_from(["edit", "edit", "edit", "undo", "redo", "save"]), max_size=40), st.integers(1, 4))
def test_history_is_saved_in_the_saved_state_alone(steps: list[str], limit: int) -> None:
    """A history counts as saved exactly in the saved state, whatever was undone or redone since."""
    history, state, saved = History(limit), 0, 0
    before: dict[str, int] = {}
    for number, step in enumerate(steps, start=1):
        if step == "edit":
            history.record(Edit(str(number), [NodeRenamed("a", str(number), "")]))
            before[str(number)], state = state, number
        elif step == "undo" and (undone := history.take_undo()) is not None:
            state = before[undone.name]
        elif step == "redo" and (redone := history.take_redo()) is not None:
            state = int(redone.name)
        elif step == "save":
            history.mark_saved()
            saved = state
        assert history.is_saved == (state == saved)


def test_a_change_of_an_array_by_its_owner_does_not_reach_the_patch() -> None:
    """The patch keeps the values that were set; setting the array again after it changed is an edit."""
    patch = Patch()
    data = np.zeros(4, np.float32)
    node = patch.add("io.array", data=data)
    data[:] = 7
    assert patch.value(node, "data").tolist() == [0, 0, 0, 0]
    patch.set(node, data=data)
    assert patch.value(node, "data").tolist() == [7, 7, 7, 7]
    patch.undo()
    assert patch.value(node, "data").tolist() == [0, 0, 0, 0]


def test_connections_come_and_go_with_their_node() -> None:
    """Removing a node removes its connections, and undo restores all of them."""
    patch = Patch()
    source, sink = patch.add("io.array"), patch.add("math.saxpy")
    patch.connect(source["out"], sink["x"])
    patch.connect(source["out"], sink["y"])
    made = patch.connections
    patch.remove(source)
    assert patch.connections == []
    patch.undo()
    assert sorted(patch.connections, key=str) == sorted(made, key=str)
    assert patch.source_of(sink["x"]) == source["out"]
    assert all(isinstance(c, Connection) for c in patch.connections_of(sink.id))


def test_changes_are_plain_data_that_can_travel() -> None:
    """Changes are equal after encoding and decoding."""
    import msgspec

    change = ParameterChanged("a", "gain", 2.0, None)
    assert msgspec.json.decode(msgspec.json.encode(change), type=ParameterChanged) == change
    patch = Patch()
    patch.add("math.saxpy", a=1.0)
    (added,) = patch.as_changes()
    assert msgspec.json.decode(msgspec.json.encode(added), type=NodeAdded) == added


def test_an_edit_begins_when_it_is_entered() -> None:
    """An edit that was made earlier takes back only its own changes, may be entered again, but not inside itself."""
    patch = Patch()
    node = patch.add("math.scale_offset", scale=2.0)
    with patch.edit("outer"):
        inner = patch.edit("inner")
        patch.set(node, scale=3.0)
        with pytest.raises(ValueError, match="fails"), inner:
            patch.set(node, scale=4.0)
            raise ValueError("fails")
        assert patch.value(node.id, "scale") == 3
    again = patch.edit("again")
    for value in (5.0, 6.0):
        with again:
            patch.set(node, scale=value)
    with again, pytest.raises(PatchError, match="edit 'again' must be left"):
        again.__enter__()
    found = []
    while patch.value(node.id, "scale") != 2:
        found.append(patch.value(node.id, "scale"))
        patch.undo()
    assert found == [6, 5, 3]
