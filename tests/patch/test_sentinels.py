"""Sentinels in the document: refusals, undo, copies, files, and their fate when connections go."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warploom.engine.diagnostics import PatchError
from warploom.engine.inner_patches.op_patch import OpPatch
from warploom.engine.patch.changes import Connection, PortRef, Sentinel, SentinelAction, SentinelChanged, inverse
from warploom.engine.patch.document import NodeRef, Patch
from warploom.engine.patch.editing.comparison import describe_difference, difference
from warploom.engine.patch.editing.history import Edit
from warploom.engine.patch.files import dump_patch, load_patch, parse_patch, save_patch


def chain(count: int = 3) -> tuple[Patch, list[NodeRef]]:
    """Return an array and a row of blocks behind it."""
    patch = Patch()
    nodes = [patch.add("io.array", data=np.ones(3, np.float32))]
    nodes += [patch.add("math.scale_offset") for _ in range(count - 1)]
    for before, after in pairwise(nodes):
        patch.connect(before["out"], after["x"])
    return patch, nodes


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"nan": None}, "nan must be True or False, got None"),
        ({"infinity": 1}, "infinity must be True or False, got 1"),
        ({"minimum": float("nan")}, "minimum must be a finite number, or None for no bound, got nan"),
        ({"maximum": float("inf")}, "maximum must be a finite number, or None for no bound, got inf"),
        ({"minimum": "0"}, "minimum must be a finite number, or None for no bound, got '0'"),
        ({"minimum": True}, "minimum must be a finite number, or None for no bound, got True"),
        ({"maximum": 10**400}, "maximum must be a finite number, or None for no bound, got 1000"),
        ({"minimum": 2, "maximum": 1.5}, "minimum must be at most the maximum 1.5, got 2"),
        ({"action": "stop"}, "action must be one of mark, freeze, got 'stop'"),
        ({"action": None}, "action must be one of mark, freeze, got None"),
        ({"nan": False, "infinity": False}, "it must check NaN, infinity or a range, got nothing to check"),
    ],
)
def test_each_wrong_field_has_one_message(fields: dict[str, Any], rule: str) -> None:
    """A sentinel with a wrong field is refused in one message with the output and the field."""
    patch, (source, *_) = chain()
    with pytest.raises(PatchError, match=rule) as refused:
        patch.set_sentinel(source["out"], **fields)
    assert str(refused.value).startswith(f"sentinel of {source.id}.out: ")
    assert not patch.sentinels and patch.history.names[-1].startswith("Connect")


def test_only_an_output_that_feeds_numbers_to_something_can_be_checked() -> None:
    """A sentinel is refused, with the reason, at any port but an output that feeds numbers to a block."""
    patch, (source, first, last) = chain()
    gone = patch.add("math.scale_offset")
    wire = patch.connect(last["out"], gone["x"])
    patch.disconnect(wire)
    value = patch.add("value.slider")
    places: list[tuple[Any, str]] = [
        (wire, "must be of a connection in the patch"),
        (last["out"], "must be of an output with a connection, got scale_offset_2.out, which feeds nothing"),
        (first["x"], "must be of an output, got the input scale_offset.x"),
        (first["scale"], "must check a buffer, got scale_offset.scale, which is a single value"),
        (PortRef(source.id, "nowhere"), "port of array must be one of out, got 'nowhere'"),
        (PortRef("nobody", "out"), "node must be one of"),
        (None, "port must be one of a node"),
        ("array.out", "port must be one of a node"),
        (chain()[1][0]["out"], "must be of this patch, got one of another"),
    ]
    drive = patch.connect(value["value"], first["scale"])
    places += [(drive, "must check a buffer"), (drive.source, "must check a buffer")]
    for place, rule in places:
        with pytest.raises(PatchError, match=rule):
            patch.set_sentinel(place)
    with pytest.raises(PatchError, match=r"sentinel to remove must be in the patch, got none of array\.out"):
        patch.remove_sentinel(source["out"])
    assert not patch.sentinels


def test_structs_of_several_types_are_no_numbers() -> None:
    """The declared type of a port is known before anything runs, so a struct of several types is refused."""
    from tests.runtime import small_blocks

    patch = Patch()
    pairs, copy = patch.add(small_blocks.MakePairs.id), patch.add("buffer.copy")
    with pytest.raises(PatchError, match=r"elements of make_pairs.out must be numbers to be checked, got .*Pair"):
        patch.set_sentinel(patch.connect(pairs["out"], copy["x"]))


def test_connections_inside_a_block_are_not_checked() -> None:
    """A sentinel of a connection inside a block is refused, since its value is in registers."""
    patch = OpPatch()
    one, two = patch.add("op.sin"), patch.add("op.sin")
    wire = patch.connect(one["out"], two["x"])
    with pytest.raises(PatchError, match="must check a buffer between blocks, got a connection inside a block"):
        patch.set_sentinel(wire)


def test_it_belongs_to_all_connections_of_an_output_and_goes_with_the_last() -> None:
    """A sentinel goes with the last connection of its output, and undo restores it; replacing a connection keeps it."""
    patch, (source, first, last) = chain()
    second = patch.connect(source["out"], patch.add("math.scale_offset")["x"])
    made = patch.set_sentinel(second, maximum=3)
    assert patch.sentinels == {PortRef(source.id, "out"): made} and made.maximum == 3
    patch.disconnect(first["x"])
    assert patch.sentinels
    with patch.edit("Swap"):
        patch.disconnect(second)
        patch.connect(source["out"], last["x"])
    assert patch.sentinels
    patch.disconnect(last["x"])
    assert not patch.sentinels
    patch.undo()
    assert patch.sentinels == {PortRef(source.id, "out"): made}
    patch.remove(source)
    assert not patch.sentinels
    patch.undo()
    assert patch.sentinels == {PortRef(source.id, "out"): made}
    patch.redo()
    assert not patch.sentinels


def test_setting_the_same_again_is_no_edit() -> None:
    """Each different rule is one undo step with a name of its own; setting the same rule again is no step."""
    patch, (source, *_) = chain()
    rules = [patch.set_sentinel(source["out"], maximum=m) for m in (1, 2, 2)]
    patch.remove_sentinel(source["out"])
    names = [f"Check values of {source.id}.out"] * 2 + [f"Remove check of {source.id}.out"]
    assert patch.history.names[-3:] == names
    seen = []
    for _ in range(3):
        patch.undo()
        seen.append(patch.sentinels.get(PortRef(source.id, "out")))
    assert seen == [rules[1], rules[0], None]
    patch.redo()
    assert list(patch.sentinels.values()) == [rules[0]]


SENTINELS = st.builds(
    Sentinel,
    nan=st.just(True),
    infinity=st.booleans(),
    minimum=st.none() | st.floats(-1e300, 0),
    maximum=st.none() | st.floats(0, 1e300),
    action=st.sampled_from(SentinelAction),
)


def with_sentinels(*chosen: Sentinel | None) -> Patch:
    """Return a chain in which each connection has a sentinel, or none does."""
    patch, nodes = chain(len(chosen) + 1)
    for node, sentinel in zip(nodes, chosen, strict=False):
        if sentinel is not None:
            patch.restore([SentinelChanged(PortRef(node.id, "out"), sentinel, None)])
    return patch


@given(st.lists(st.none() | SENTINELS, max_size=4))
def test_files_hold_them(chosen: list[Sentinel | None]) -> None:
    """Sentinels survive saving and loading, and are saved as the same text again."""
    patch = with_sentinels(*chosen)
    text = dump_patch(patch)
    loaded = parse_patch(text)
    assert loaded.sentinels == patch.sentinels and dump_patch(loaded) == text
    assert ('"sentinels"' in text) is bool(patch.sentinels)
    assert [entry["port"] for entry in json.loads(text).get("sentinels", [])] == sorted(map(str, patch.sentinels))


@given(st.lists(st.none() | SENTINELS, min_size=3, max_size=3), st.lists(st.none() | SENTINELS, min_size=1, max_size=5))
def test_a_difference_leads_from_one_patch_to_the_other(before: list[Sentinel | None], after: list[Any]) -> None:
    """The difference leads to the other patch, and its inverse back; the description mentions different sentinels."""
    one, two = with_sentinels(*before), with_sentinels(*after)
    steps = difference(one, two)
    start = dict(one.sentinels)
    one.become(two, "Become")
    assert one.sentinels == two.sentinels and not describe_difference(one, two)
    one.undo()
    assert one.sentinels == start
    one.restore(steps)
    one.restore([inverse(step) for step in reversed(steps)])
    assert one.sentinels == start
    if len(before) == len(after):
        words = {line for line in describe_difference(one, two) if "checked" in line}
        assert bool(words) is (start != two.sentinels)


def test_copies_take_along_what_they_hold(tmp_path: Path) -> None:
    """A copied connection keeps its sentinel under the new ids; an output without a copied reader has none."""
    patch, (source, first, last) = chain()
    patch.set_sentinel(source["out"], maximum=5)
    kept = patch.set_sentinel(first["out"], minimum=-5, action="freeze")
    part = patch.excerpt([first.id, last.id])
    assert part.sentinels == {PortRef(first.id, "out"): kept}
    assert patch.excerpt([source.id, last.id]).sentinels == {}
    ids = patch.insert(part)
    assert patch.sentinels[PortRef(ids[first.id], "out")] == kept
    patch.undo()
    assert len(patch.sentinels) == 2
    save_patch(patch, tmp_path / "checked.loom")
    assert load_patch(tmp_path / "checked.loom").sentinels == patch.sentinels


@pytest.mark.parametrize(
    ("entry", "rule"),
    [
        (
            {"port": "array.out", "range": 1},
            "fields must be port, nan, infinity, minimum, maximum, action, got 'range'",
        ),
        ({"port": "array.out", "nan": None}, r"\(array.out\): nan must be True or False, got None"),
        ({"port": "array.out", "maximum": "1"}, r"\(array.out\): maximum must be a finite number"),
        ({"port": "array.out", "action": 3}, "action must be one of mark, freeze, got 3"),
        (
            {"port": "scale_offset.out"},
            "must be an output with a connection, checked once, got scale_offset.out, which feeds",
        ),
        ({"port": "nobody.out"}, "port must name a node of the patch, got 'nobody'"),
        ({"port": "array"}, '"port" must be "node.port", got \'array\''),
        ({}, '"port" must be "node.port", got None'),
        (7, "must be an object, got int"),
    ],
)
def test_a_file_with_a_mistake_says_where_it_is(entry: Any, rule: str) -> None:
    """A wrong sentinel in a file is an error with the file, the entry and the rule."""
    document = json.loads(dump_patch(chain(2)[0]))
    assert not parse_patch(json.dumps(document)).sentinels
    document["sentinels"] = [entry]
    with pytest.raises(PatchError, match=rf"^mine\.loom: sentinels\[0\].*{rule}"):
        parse_patch(json.dumps(document), "mine.loom")
    document["sentinels"] = [{"port": "array.out"}] * 2
    with pytest.raises(PatchError, match=r"sentinels\[1\]: .* got array.out, a second time"):
        parse_patch(json.dumps(document))


def test_changes_of_one_output_merge_and_those_of_two_do_not() -> None:
    """Changes to the sentinel of one output merge, as the values of one parameter do."""
    here, there = PortRef("a", "x"), PortRef("a", "y")
    one, two = Sentinel(maximum=1.0), Sentinel(maximum=2.0)
    elsewhere = SentinelChanged(there, two, None)
    edit = Edit("check", [SentinelChanged(here, one, None), SentinelChanged(here, two, one), elsewhere])
    edit.merge()
    assert edit.changes == [SentinelChanged(here, two, None), elsewhere]
    assert Connection(here, there).source is here


@pytest.mark.parametrize(
    ("sentinel", "text"),
    [
        (Sentinel(), "finite"),
        (Sentinel(infinity=False), "no NaN"),
        (Sentinel(nan=False), "not infinite"),
        (Sentinel(minimum=0.0, maximum=1.0), "finite and from 0 to 1"),
        (Sentinel(nan=False, infinity=False, minimum=-2.5), "at least -2.5"),
        (Sentinel(infinity=False, maximum=1e6), "no NaN and at most 1000000"),
    ],
)
def test_a_rule_in_words(sentinel: Sentinel, text: str) -> None:
    """Each rule is described in words, as in diagnostics and tooltips."""
    assert sentinel.rule_text == text
