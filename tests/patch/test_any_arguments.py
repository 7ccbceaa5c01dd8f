"""Whatever edits a patch accepts, it can be saved and loaded as an equal patch; a refusal is one message."""

import inspect
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict

from tests.fuzzing import many, seeds
from warploom.engine.blocktypes.parameters import UserArray
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.animation.keys import Key
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.patch.changes import Connection, PortRef, SentinelAction
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, load_patch, parse_patch, save_patch
from warploom.engine.patch.organise.annotations import Bookmark, Dots, Frame, PinnedViewer, Preset
from warploom.engine.patch.organise.osc import Osc, OscOut
from warploom.engine.patch.organise.pins import Pin
from warploom.engine.types.bits import same

#: Values of all kinds that a script may pass by mistake.
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    3,
    2**63,
    2**64,
    -(2**63) - 1,
    10**400,
    10**5000,
    0.0,
    -0.0,
    1.5,
    1e308,
    -1e308,
    5e-324,
    999_999_999.999,
    float("nan"),
    float("inf"),
    -float("inf"),
    "",
    "a",
    "n.out",
    "a/b",
    "1.5",
    "\0",
    "line\nbreak",
    "\ud800",
    "\ud83d\ude00",
    "😀",
    "\u202e",
    "x" * 100_000,
    b"bytes",
    (),
    (1, 2),
    (1.005, 2.675),
    ("1", "2"),
    "12",
    (True, False),
    (1e308, 0),
    (999_999_999.999, 0),
    (1e9, 0),
    (10**400, 0),
    (float("nan"), 0),
    (1, 2, 3),
    [0.1, np.float32(0.1)],
    [],
    [[]],
    {},
    {"a": 1},
    {1: 2},
    {"a": float("nan")},
    {"a": (1, 2)},
    {"nodes": [], "connections": []},
    {"nodes": [{"id": "x", "type": "op.input"}], "connections": []},
    set(),
    object(),
    Patch,
    Path("a"),
    Path("\udcff"),
    np.int8(-3),
    np.uint64(2**64 - 1),
    np.float16(0.1),
    np.float32("nan"),
    np.longdouble("0.1"),
    np.bool_(True),
    np.str_("text"),
    np.zeros(3, np.float32),
    np.zeros((2, 0)),
    np.array([2, 1], np.uint8).view(np.bool_),
    np.array([1, 2], np.longdouble),
    np.array(5, ">i2"),
    np.array(["a"]),
    np.array([None]),
    UserArray(),
    PortRef("array", "out"),
    PortRef(3, []),  # type: ignore[arg-type]
    PortRef("\ud800", "x" * 100_000),
    Connection(3, []),  # type: ignore[arg-type]
    SentinelAction.FREEZE,
)


def deep(levels: int) -> dict[str, Any]:
    """Return objects that are nested to this depth."""
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {"a": made}
    return made


ODD += (deep(98), deep(99), deep(100), deep(600))

#: Methods to call. `restore` applies changes unchecked, as its docstring says, and `edit` has a test of its own.
METHODS = sorted(
    name
    for name, value in inspect.getmembers(Patch, inspect.isfunction)
    if not name.startswith("_") and name not in ("restore", "edit", "shelve", "subscribe")
)
TYPES = (
    "io.array",
    "math.saxpy",
    "kernel.graph",
    "kernel.file",
    "kernel.expression",
    "control.if_else",
    "control.switch",
    "value.lfo",
    "io.load_image",
    "io.save_image",
    "control.for",
)


def start() -> Patch:
    """Return a patch with blocks of many kinds, a region, connections, a value, a sentinel, and an undo history."""
    patch = Patch()
    array = patch.add("io.array", data=np.arange(4, dtype=np.float32))
    saxpy = patch.add("math.saxpy", position=(3, 4), title="Übung")
    patch.connect(array["out"], saxpy["x"])
    patch.set_sentinel(array["out"], maximum=3)
    for type_id in TYPES[2:]:
        if patch.catalogue.get(type_id) is not None:
            patch.add(type_id)
    patch.group(["saxpy", "expression"] if "expression" in patch.nodes else ["saxpy"])
    patch.rename(saxpy, "")
    patch.undo()
    return patch


def contents(patch: Patch) -> dict[str, object]:
    """Return everything that a file stores of a patch, except user memory."""
    nodes = {
        node.id: (
            (node.type, node.version, node.title, node.region, node.mode, *node.position),
            {name: value for name, value in node.parameters.items() if not isinstance(value, UserArray)},
            dict(sorted(node.curves.items())),
        )
        for node in patch.nodes.values()
    }
    return {
        "nodes": dict(sorted(nodes.items())),
        "connections": sorted(map(str, patch.connections)),
        "annotations": {key: asdict(note) for key, note in sorted(patch.annotations.items())},
        "sentinels": {str(port): sentinel for port, sentinel in sorted(patch.sentinels.items(), key=str)},
    }


def equal(one: Any, other: Any) -> bool:
    """Compare by value, arrays by their bits; a number may be 1 in one patch and 1.0 in the other."""
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(equal(one[k], other[k]) for k in one)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, np.ndarray):
        return same(one, other)
    return bool(one == other)


def argument(draw: random.Random, patch: Patch, name: str) -> Any:
    """Return a value that fits a parameter of this name, or any value."""
    node = draw.choice([*patch.nodes, "gone"])
    ports = [PortRef(node, port) for port in ("out", "x", "y", "a", "value", "image", "gone", "+")]
    with_ports = [patch[n][p] for n, p in (("array", "out"), ("saxpy", "x")) if n in patch.nodes]
    fitting: dict[str, list[Any]] = {
        "type_id": list(TYPES),
        "node_id": [None, "fresh", node, "x" * 200, "x" * 201],
        "node": [node, *([patch[node]] if node in patch.nodes else [])],
        "nodes": [list(patch.nodes)[:2], node],
        "node_ids": [list(patch.nodes)[:2]],
        "region": ["", node, f"{node}.else"],
        "position": [(1, 2), (0.125, -7e8)],
        "positions": [{node: (1, 2)}, {node: draw.choice(ODD)}],
        "offset": [(1, 2), (9e8, 9e8)],
        "other": [patch, start()],
        "source": [*ports, *with_ports],
        "target": [*ports, *with_ports],
        "port": [*ports, *with_ports, *patch.connections],
        "start": [*ports, *with_ports],
        "ref": ports,
        "group": [*(n for n in patch.nodes if patch.is_group(n)), node],
        "connection": [*patch.connections, *ports],
        "parameter": ["a", "data", "graph"],
        "name": ["a", "data", "Do"],
        "keys": [
            [],
            [(1, 2.0), (0.5, -3)],
            [Key(0.0, 1.0), Key(1 / 3, draw.choice(ODD), after=2.0)],
            [(0, 1, "hold"), (draw.choice(ODD), draw.choice(ODD), "smooth", draw.choice(ODD), draw.choice(ODD))],
        ],
        "title": ["Title", "x" * 1000, "x" * 1001],
        "change": [],
        "mode": ["bypassed", "disabled", ""],
        "key": [*patch.annotations],
        "kind": [Frame, Bookmark],
        "frames": [["f"], []],
        "note": [
            Frame(id="f", title="Ä", colour="blue"),
            Frame(id="g", size=(0, draw.choice(ODD))),
            *(Dots(node=c.target.node, port=c.target.port, points=((1, 2.5),)) for c in patch.connections),
            Dots(node=draw.choice(ODD), port="x", points=draw.choice(ODD)),
            Timeline(rate=24, length=draw.choice([48, *ODD]), last=draw.choice([None, 3, *ODD])),
            Bookmark(number=draw.choice([1, 2, *ODD]), zoom=draw.choice([1, 0.5, *ODD])),
            Pin(node=node, port=draw.choice(["out", "x"]), dtype="<f4", shape=(1,), values=(draw.choice([1.5, *ODD]),)),
            PinnedViewer(node=draw.choice([node, *ODD]), port=draw.choice(["out", *ODD])),
            Osc(port=draw.choice([9000, *ODD]), host=draw.choice(["0.0.0.0", *ODD])),
            Osc(to=draw.choice(["127.0.0.1:9001", *ODD])),
            OscOut(node=node, port="out", address=draw.choice(["/a/b", *ODD]), to=draw.choice(["", *ODD])),
            Preset(type="math.saxpy", name="soft", parameters={"a": draw.choice(ODD), "b": np.arange(3)}),
        ],
    }
    return draw.choice(ODD if draw.random() < 0.4 else fitting.get(name) or ODD)


def call(draw: random.Random, patch: Patch, method: str) -> Callable[[], Any]:
    """Return a call of a method with random arguments."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in list(inspect.signature(getattr(patch, method)).parameters.values()):
        if parameter.kind is parameter.VAR_KEYWORD:
            first = positional[0] if positional and isinstance(positional[0], str) else ""
            known = patch.catalogue.get(patch.nodes[first].type if first in patch.nodes else first)
            names = [*(known.parameters if known is not None else ()), "a", "data"]
            if method == "set_timeline":
                names = [field for field in Timeline.__struct_fields__ if field != "extra"]
                named |= {name: draw.choice((1, 2, 24, True)) for name in names if draw.random() < 0.3}
            for name in draw.sample(names, min(len(names), draw.randrange(3))):
                named[name] = draw.choice(ODD)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if draw.random() < 0.4:
                named[parameter.name] = argument(draw, patch, parameter.name)
        elif parameter.default is parameter.empty or draw.random() < 0.5:
            positional.append(argument(draw, patch, parameter.name))
    return lambda: getattr(patch, method)(*positional, **named)


@pytest.mark.parametrize("seed", seeds(6))
def test_an_edit_can_be_saved_or_is_refused_whole(seed: int, tmp_path: Path) -> None:
    """With any arguments, an edit leaves a patch that can be saved and loaded, or is refused and changes nothing."""
    draw = random.Random(seed)
    patch = start()
    for turn in range(many(150)):
        if turn % 30 == 0 or len(patch.nodes) > 40:
            patch = start()
        method = draw.choice(METHODS)
        before, history = contents(patch), (patch.history.names, patch.history.redo_name)
        asked = call(draw, patch, method)
        try:
            asked()
        except PatchError as problem:
            assert " must " in str(problem) or " takes " in str(problem), f"{method}: {problem}"
            assert len(str(problem)) < 2000, method
            assert equal(contents(patch), before), method
            assert (patch.history.names, patch.history.redo_name) == history, method
            continue
        except Exception as problem:
            raise AssertionError(f"{method} raised {problem!r}") from problem
        save_patch(patch, tmp_path / "p.loom")
        patch.path = None
        assert equal(contents(load_patch(tmp_path / "p.loom")), contents(patch)), method


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_an_edit_block_and_a_listener_refuse_what_they_cannot_use(value: Any) -> None:
    """A name of an edit that is no text, and a listener that is no function, are refused."""
    patch = start()
    if not isinstance(value, str):
        with pytest.raises(PatchError, match="name of an edit must be a text"), patch.edit(value):
            pass
    if not callable(value):
        with pytest.raises(PatchError, match="listener must be a function"):
            patch.subscribe(value)
        with pytest.raises(PatchError, match="edit must be a function of a patch"):
            patch.shelve(value)


def test_a_shelved_edit_is_only_redone() -> None:
    """A shelved edit has no effect until redo; an empty or refused one leaves the history unchanged."""
    patch = start()
    before, names, heard = contents(patch), patch.history.names, []
    patch.subscribe(heard.append)
    patch.shelve(lambda patch: patch.set("saxpy", a=2.0 if patch.value("saxpy", "a") != 2.0 else 3.0))
    assert equal(contents(patch), before) and not heard and patch.history.names == names
    redone = patch.history.redo_name
    patch.shelve(lambda patch: None)
    with pytest.raises(PatchError):
        patch.shelve(lambda patch: patch.set("saxpy", a="much"))
    assert (patch.history.names, patch.history.redo_name) == (names, redone)
    patch.redo()
    assert len(heard) == 1 and not equal(contents(patch), before)


def test_what_the_issue_names() -> None:
    """A title, a position and a patch of a wrong type or size are each refused in one message."""
    patch = Patch()
    node = patch.add("io.array")
    with pytest.raises(PatchError, match="title must be a text of at most 1000 characters, got 3"):
        patch.rename(node, 3)  # type: ignore[arg-type]
    with pytest.raises(PatchError, match=r"position must be two numbers from -1e9 to 1e9, got \(1e\+308, 0\)"):
        patch.move(node, (1e308, 0))
    with pytest.raises(PatchError, match="patch must be a Patch, got 3"):
        save_patch(3, "p.loom")  # type: ignore[arg-type]
    assert len(patch.history.names) == 1


def nested(levels: int) -> str:
    """Return the JSON of nested op graphs."""
    return '{"nodes": [{"id": "n", "type": "kernel.graph", "parameters": {"graph": ' * levels + "3" + "}}]}" * levels


@pytest.mark.parametrize("levels", [600, 6000])
def test_op_graphs_too_deep_in_each_other_are_refused_before_anything_is_replaced(levels: int) -> None:
    """Op graphs that are nested too deeply are refused in one message, in a file or an edit, and nothing changes."""
    patch = start()
    before = contents(patch)
    graph = nested(levels)
    text = f'{{"schema": 1, "nodes": [{{"id": "n", "type": "kernel.graph", "parameters": {{"graph": {graph}}}}}]}}'
    with pytest.raises(PatchError, match="must be a patch, got JSON nested too deeply"):
        parse_patch(text)
    with pytest.raises(PatchError, match="parameter graph must be a JSON object of at most 100 levels"):
        patch.set("graph", graph=deep(levels))
    assert equal(contents(patch), before)


def mutated(draw: random.Random, value: Any) -> Any:
    """Return JSON in which some parts are replaced, dropped, or nested in many lists."""
    if draw.random() < 0.03:
        wild: list[Any] = [None, True, -1, 1e308, 10**30, "\ud800", [], {}, "x" * 5000, "@1", "@25", "@600"]
        return draw.choice(wild)
    if isinstance(value, dict):
        return {key: mutated(draw, item) for key, item in value.items() if draw.random() > 0.02}
    if isinstance(value, list):
        found = [mutated(draw, item) for item in value if draw.random() > 0.02]
        return found * draw.choice([1] * 30 + [2, 50])
    return value


@pytest.mark.parametrize("seed", seeds(12))
def test_a_mutated_file_gives_a_patch_or_one_error(seed: int) -> None:
    """A mutated file is refused with one error, or gives a patch that is dumped and loaded as an equal patch."""
    draw = random.Random(seed)
    document = json.loads(dump_patch(start()))
    for _ in range(many(15)):
        text = json.dumps(mutated(draw, document))
        for levels in (1, 25, 600):  # levels of nested op graphs; `dumps` could not write the last one
            text = text.replace(f'"@{levels}"', nested(levels))
        if draw.random() < 0.2:
            cut = draw.randrange(len(text))
            text = text[:cut] + draw.choice(["", "[" * 5000, "9" * 5000, '"\\ud800"', "\0", "NaN"]) + text[cut + 1 :]
        try:
            patch = parse_patch(text)
        except PatchError as problem:
            assert str(problem).startswith("patch:") and len(str(problem)) < 2000
            continue
        assert equal(contents(parse_patch(dump_patch(patch))), contents(patch))
        for node in patch.nodes:
            patch.title(node)
            for name in itertools.islice(patch.nodes[node].parameters, 3):
                patch.value(node, name)


def test_a_title_of_megabytes_is_cut_where_it_is_shown_and_kept_where_it_is_saved() -> None:
    """A title of megabytes is cut when shown and kept whole in the file; a type name of that length is refused."""
    text = json.dumps({"schema": 1, "nodes": [{"id": "n", "type": "math.saxpy", "title": "x" * 5_000_000}]})
    patch = parse_patch(text)
    assert patch.title("n") == "x" * 200 + "…"
    assert parse_patch(dump_patch(patch)).nodes["n"].title == "x" * 5_000_000
    with pytest.raises(PatchError, match=r"nodes\[0\]: \"type\" must be a name, got"):
        parse_patch(json.dumps({"schema": 1, "nodes": [{"id": "n", "type": "x" * 201}]}))
