"""Patch files: a loaded patch equals the saved one, and errors of a bad file name the place."""

import base64
import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tests.fuzzing import many
from warploom.engine.blocktypes.parameters import MOST_TEXT
from warploom.engine.diagnostics import PatchError, Severity
from warploom.engine.patch import files
from warploom.engine.patch.changes import Node, NodeAdded, PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import (
    EXAMPLES_FOLDER,
    dump_patch,
    load_patch,
    parse_patch,
    save_patch,
    write_atomically,
)
from warploom.engine.processes.scope import Cancelled, CancelScope
from warploom.engine.runtime.check.check_patch import check_patch


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and bool(a == b)


def node(kind: str = "math.saxpy", **fields: Any) -> dict[str, Any]:
    return {"id": "n", "type": kind, **fields}


def document(*nodes: Any, connections: Any = (), **fields: Any) -> str:
    return json.dumps({"schema": 1, "nodes": list(nodes), "connections": list(connections), **fields})


numeric = st.one_of(
    npst.integer_dtypes(endianness="<"),
    npst.unsigned_integer_dtypes(endianness="<"),
    npst.floating_dtypes(endianness="<", sizes=(16, 32, 64)),
)
arrays = npst.arrays(numeric, npst.array_shapes(min_dims=0, max_dims=3, max_side=4))


@given(arrays)
def test_arrays_are_loaded_bit_by_bit_as_they_were_saved(array: np.ndarray[Any, Any]) -> None:
    """Element type, shape and every bit of an array are saved, NaN and infinities included."""
    patch = Patch()
    patch.add("io.array", data=array)
    loaded = parse_patch(dump_patch(patch))
    assert same(loaded.value("array", "data"), patch.value("array", "data"))
    assert same(np.asarray(array), loaded.value("array", "data"))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
).filter(lambda v: not (isinstance(v, dict) and "base64" in v))
names = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)
fields = st.dictionaries(names.map(lambda n: "x_" + n), json_values, max_size=3)


@given(
    types=st.dictionaries(names, names.map(lambda n: "gone." + n), min_size=1, max_size=4),
    parameters=st.dictionaries(names, json_values, max_size=3),
    extra=fields,
    patch_extra=fields,
    title=st.text(),
)
def test_unknown_types_and_fields_survive_load_and_save(
    types: dict[str, str],
    parameters: dict[str, Any],
    extra: dict[str, Any],
    patch_extra: dict[str, Any],
    title: str,
) -> None:
    """A patch of a newer Warploom is saved with all that it contains."""
    patch = Patch()
    patch.extra = patch_extra
    patch.restore(
        [NodeAdded(Node(id=i, type=t, title=title, parameters=parameters, extra=extra)) for i, t in types.items()]
    )
    text = dump_patch(patch)
    loaded = parse_patch(text)
    assert dump_patch(loaded) == text
    assert loaded.extra == patch_extra
    for i, kind in types.items():
        assert (loaded.nodes[i].type, loaded.nodes[i].title) == (kind, title)
        assert loaded.nodes[i].parameters == parameters
        assert loaded.nodes[i].extra == extra


@given(st.floats(-10, 10), st.tuples(st.integers(-9999, 9999), st.integers(-9999, 9999)), st.text(max_size=20))
def test_load_inverts_save(a: float, position: tuple[int, int], title: str) -> None:
    """Parameters, positions, titles and connections are loaded as they were saved."""
    patch = Patch()
    x = patch.add("io.array")
    saxpy = patch.add("math.saxpy", a=a, position=(float(position[0]), float(position[1])), title=title)
    patch.connect(x["out"], saxpy["y"])
    patch.connect(x["out"], saxpy["x"])
    loaded = parse_patch(dump_patch(patch))
    assert loaded.nodes["saxpy"] == patch.nodes["saxpy"]
    assert set(loaded.connections) == set(patch.connections)
    assert dump_patch(loaded) == dump_patch(patch)


whole = st.integers(-10, 10)


@given(whole | whole.map(float), st.tuples(whole | st.sampled_from([-0.0, 136.0, 0.25])))
def test_what_nobody_touches_is_saved_as_it_was_written(number: float, position: tuple[float]) -> None:
    """A number stays 136 or 136.0 as a file has it, whatever the parameter's type; an equal value is no edit."""
    lines = [node(version=1, position=[*position, 136], parameters={"a": number})]
    patch = parse_patch(document(*lines))
    assert json.dumps(json.loads(dump_patch(patch))["nodes"]) == json.dumps(lines)
    assert type(patch.value("n", "a")) is float
    patch.set("n", a=float(number))
    assert patch.history.is_saved
    patch.set("n", a=0.5)
    patch.move("n", (1.5, 2.5))
    patch.undo()
    patch.undo()
    assert json.dumps(json.loads(dump_patch(patch))["nodes"]) == json.dumps(lines)


def test_the_shipped_examples_are_saved_as_they_came() -> None:
    """Loading and saving an example gives the same bytes."""
    for path in EXAMPLES_FOLDER.glob("*.loom"):
        assert dump_patch(load_patch(path)) == path.read_text(encoding="utf-8")


def test_the_text_does_not_depend_on_the_order_of_edits() -> None:
    """Nodes, connections and parameters are sorted, so that a diff shows only real changes."""
    one, two = Patch(), Patch()
    for patch, order in ((one, ("b", "a")), (two, ("a", "b"))):
        for name in order:
            patch.add("math.scale_offset", node_id=name)
        patch.add("io.array", node_id="x")
        for name in order:
            patch.connect(patch["x"]["out"], patch[name]["x"])
            for parameter in ("scale", "offset") if name == order[0] else ("offset", "scale"):
                patch.set(name, **{parameter: 0.5})
    assert dump_patch(one) == dump_patch(two)
    assert [n["id"] for n in json.loads(dump_patch(one))["nodes"]] == ["a", "b", "x"]
    assert dump_patch(one).endswith("}\n")


def test_saving_and_loading_a_file(tmp_path: Path) -> None:
    """A saved patch is unmodified and knows its path, and the file is readable UTF-8 text."""
    patch = Patch()
    patch.add("math.saxpy", title="Größe Ω", a=0.1)
    path = tmp_path / "patch.loom"
    assert not patch.history.is_saved
    save_patch(patch, path)
    assert patch.history.is_saved
    assert "Größe Ω" in path.read_text("utf-8")
    loaded = load_patch(path)
    assert loaded.path == path
    assert loaded.folder == tmp_path.resolve()
    assert loaded.history.is_saved
    assert loaded.value("saxpy", "a") == 0.1
    assert [p.name for p in tmp_path.iterdir()] == ["patch.loom"]


def test_half_a_surrogate_pair_becomes_a_sign_that_can_be_sent(tmp_path: Path) -> None:
    """UTF-8 can't encode it, so no engine could get the node; whole pairs and all else stay."""
    texts = dict.fromkeys(("title", "colour", "comment"), "\ud800 x \U0001f98b \udc00")
    patch = parse_patch(document(node(**texts)))
    save_patch(patch, tmp_path / "p.loom")
    for known in (patch, load_patch(tmp_path / "p.loom")):
        found = known.nodes["n"]
        assert {found.title, found.colour, found.comment} == {"\ufffd x \U0001f98b \ufffd"}
        msgspec.msgpack.encode([found.title, found.colour, found.comment])


def test_a_save_that_fails_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk fails halfway, the old file is untouched and nothing of the new one is left."""
    patch = Patch()
    patch.add("io.array")
    path = tmp_path / "patch.loom"
    save_patch(patch, path)
    before = path.read_bytes()
    patch.add("math.saxpy")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PatchError) as refused:
        save_patch(patch, path)
    assert str(refused.value) == f"patch must be writable: {path}: No space left on device"
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["patch.loom"]
    assert not patch.history.is_saved


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """Errors of saving into a missing folder and of loading a missing file name the path."""
    path = tmp_path / "gone" / "patch.loom"
    with pytest.raises(PatchError, match=r"patch must be writable: .*: its folder .*gone must exist; make it first"):
        save_patch(Patch(), path)
    with pytest.raises(PatchError, match=r"patch must be readable: .*gone/patch\.loom: No such file or directory"):
        load_patch(path)


def test_a_saved_file_keeps_its_permissions(tmp_path: Path) -> None:
    """Replacing a file keeps its permissions; a new file follows the umask."""
    path = tmp_path / "patch.loom"
    mask = os.umask(0o027)
    try:
        save_patch(Patch(), path)
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    save_patch(Patch(), path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_save_writes_through_links_and_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    """A link stays a link, even if its target doesn't exist yet; leftovers of a killed save are removed."""
    target = tmp_path / "elsewhere" / "real.loom"
    target.parent.mkdir()
    link, second = tmp_path / "patch.loom", tmp_path / "second.loom"
    link.symlink_to("second.loom")
    second.symlink_to(target)
    patch = Patch()
    for name in ("a", "b"):
        (target.parent / ".real.loom.part").write_text("half")
        patch.add("math.saxpy", node_id=name)
        save_patch(patch, link)
        assert link.is_symlink() and second.is_symlink() and not target.is_symlink()
        assert target.read_text() == dump_patch(patch)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["elsewhere", "patch.loom", "real.loom", "second.loom"]


def test_threads_that_save_one_file_leave_one_whole_version(tmp_path: Path) -> None:
    """In any interleaving each save succeeds, the file is one whole version, and no other files are left."""
    path = tmp_path / "p"
    versions = [bytes([letter]) * 50_000 for letter in b"abcd"]
    with ThreadPoolExecutor(len(versions)) as threads:
        for _ in range(many(10)):
            list(threads.map(lambda data: write_atomically(path, data), versions))
            assert path.read_bytes() in versions
            assert list(tmp_path.iterdir()) == [path]


class Impatient(CancelScope):
    """Counts as cancelled after some checks."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Cancelled


def test_a_cancelled_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is written, the file has its old contents, and no other file is left."""
    monkeypatch.setattr(files, "_PIECE", 4)
    path = tmp_path / "p"
    path.write_bytes(b"old")
    for count in range(1, 6):
        with pytest.raises(Cancelled), Impatient(count).entered():
            write_atomically(path, bytes(16))
        assert [path.read_bytes(), *tmp_path.iterdir()] == [b"old", path]
    with Impatient(6).entered():
        write_atomically(path, bytes(16))
    assert path.read_bytes() == bytes(16)


BAD = [
    ("not JSON", "{", "p:1: must be JSON: Expecting property name enclosed in double quotes"),
    ("not JSON, line 3", '{\n"schema": 1,\n!}', "p:3: must be JSON: Expecting property name enclosed in double quotes"),
    ("a list", "[]", 'p: must be a patch: an object with "schema", "nodes" and "connections"'),
    ("no schema", "{}", 'p: must be a patch: an object with "schema", "nodes" and "connections"'),
    ("newer", '{"schema": 99}', "p: schema must be from 1 to 5, got 99; a newer Warploom may read it"),
    ("nodes no list", '{"schema": 1, "nodes": {}}', 'p: "nodes" must be a list, got dict'),
    ("node no object", document(3), "p: nodes[0] must be an object, got int"),
    ("no id", document({"type": "a.b"}), "p: nodes[0]: node id must be a text of 1 to 200 characters, got None"),
    (
        "id with a dot",
        document(node(id="a.b")),
        "p: nodes[0]: node id must not hold a dot, which separates node and port, got 'a.b'",
    ),
    ("no type", document({"id": "n"}), 'p: nodes[0]: "type" must be a name, got None'),
    ("same id", document(node(), node()), "p: node ids must differ, got 'n' twice"),
    (
        "position",
        document(node(position=[1])),
        "p: nodes[0] (n): position must be two numbers from -1e9 to 1e9, got [1]",
    ),
    (
        "huge position",
        document(node(position=[10**400, 0])),
        "p: nodes[0] (n): position must be two numbers from -1e9 to 1e9, got ",
    ),
    (
        "NaN position",
        document(node(position=[float("nan"), 0])),
        "p: must be a patch, got JSON that can't be read: JSON has no NaN",
    ),
    ("version", document(node(version="1")), "p: nodes[0] (n): version must be a whole number, got '1'"),
    ("title", document(node(title=None)), "p: nodes[0] (n): title must be text, got None"),
    ("parameters", document(node(parameters=[])), "p: nodes[0] (n): parameters must be an object, got list"),
    ("connections", document(connections=[1]), 'p: connections[0]: "source" must be "node.port", got None'),
    (
        "port",
        document(node(), connections=[{"source": "n", "target": "n.x"}]),
        'p: connections[0]: "source" must be "node.port", got \'n\'',
    ),
    (
        "unknown node",
        document(node(), connections=[{"source": "n.out", "target": "m.x"}]),
        "p: connections[0]: target must name a node of the patch, got 'm'",
    ),
    (
        "two sources",
        document(node(), node("io.array", id="a"), connections=[{"source": "a.out", "target": "n.x"}] * 2),
        "p: input n.x must have one connection, got two",
    ),
    ("nested", '{"schema": 1, "nodes": ' + "[" * 100_000, "p: must be a patch, got JSON nested too deeply"),
    ("digits", '{"schema": 1, "x": ' + "9" * 5000 + "}", "p: must be a patch, got JSON that can't be read: "),
]


@pytest.mark.parametrize(("text", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_bad_file_says_where_it_is_bad(text: str, message: str) -> None:
    """A mistake in a file gives one error that names the file and the place in it."""
    with pytest.raises(PatchError) as refused:
        parse_patch(text, "p")
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("value", "message"), [("x", "must be a finite number, got 'x'"), (11, "must be at most 10, got 11")]
)
def test_a_value_that_its_type_refuses_is_kept_and_reported(value: Any, message: str) -> None:
    """If a type now refuses a value, the patch opens with the default, keeps the value, and a check reports it."""
    patch = parse_patch(document(node(parameters={"a": value})), "p")
    assert patch.value("n", "a") == patch.catalogue.require("math.saxpy").parameters["a"].default
    assert json.loads(dump_patch(patch))["nodes"][0]["parameters"] == {"a": value}
    reported = [item for item in check_patch(patch) if item.message.startswith(f"parameter a {message}")]
    assert [(item.severity, item.node) for item in reported] == [(Severity.ERROR, "n")]


def encoded(**changed: Any) -> dict[str, Any]:
    return {"dtype": "<f4", "shape": [2], "base64": base64.b64encode(bytes(8)).decode(), **changed}


@pytest.mark.parametrize(
    "value",
    [
        encoded(dtype="bogus"),
        encoded(dtype="O"),
        encoded(dtype=5),
        encoded(dtype="("),
        encoded(dtype="f4,f4"),
        encoded(shape=[3]),
        encoded(shape="ab"),
        encoded(shape=[10**30]),
        encoded(base64="%%%"),
        encoded(base64=7),
        encoded(base64="ä"),
        encoded(base64="AAA="),
        {"base64": ""},
    ],
    ids=str,
)
def test_a_damaged_array_says_which_parameter_it_is(value: dict[str, Any]) -> None:
    """For each way of damaging an array, the error names node and parameter."""
    with pytest.raises(PatchError, match=r"p: nodes\[0\] \(n\.data\) must be an array \(dtype, shape, base64\): "):
        parse_patch(document(node("io.array", parameters={"data": value})), "p")


def test_a_file_of_other_data_is_refused(tmp_path: Path) -> None:
    """A file that is no patch, such as a picture, is refused."""
    path = tmp_path / "p.loom"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    with pytest.raises(PatchError, match=r"p\.loom must be a patch \(UTF-8 JSON\), got other data"):
        load_patch(path)


def test_placeholders_can_be_looked_at_moved_and_connected_but_not_set() -> None:
    """A node of an unknown type is kept and shown; edits that need its type report that the type is unknown."""
    patch = parse_patch(
        document(
            node("gone.type", parameters={"k": [1]}),
            node("io.array", id="a"),
            connections=[{"source": "a.out", "target": "n.in"}],
        )
    )
    assert patch.title("n") == "gone.type"
    assert patch.value("n", "k") == [1]
    assert patch.source_of(PortRef("n", "in")) == PortRef("a", "out")
    patch.move("n", (3.0, 4.0))
    with pytest.raises(PatchError, match=r"block type must be in the catalogue, got 'gone\.type'"):
        patch.set("n", k=2)
    patch.remove("n")
    patch.undo()
    assert patch.nodes["n"].parameters == {"k": [1]}


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda i: (
            st.lists(i, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    (
                        "id",
                        "type",
                        "schema",
                        "nodes",
                        "connections",
                        "source",
                        "target",
                        "parameters",
                        "position",
                        "base64",
                    )
                ),
                i,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_gives_a_patch_or_a_patch_error(value: Any) -> None:
    """Files with the right words in the wrong places raise no error but PatchError."""
    text = json.dumps({"schema": 1, **value} if isinstance(value, dict) else value)
    try:
        parse_patch(text)
    except PatchError as problem:
        assert str(problem).startswith("patch:")


@pytest.mark.parametrize("path", [None, 3, float("nan"), b"a.loom", [], "", "nul\0"])
def test_what_is_no_path_is_refused_in_one_message(path: Any) -> None:
    """Saving and loading refuse a value that is no path with a PatchError."""
    for call in (load_patch, partial(save_patch, Patch())):
        with pytest.raises(PatchError, match=r"path must be a Path or a text|patch must be (readable|writable)"):
            call(path)


def test_a_file_with_too_many_nodes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may have a limited number of nodes."""
    monkeypatch.setattr("warploom.engine.patch.files.MOST_NODES", 3)
    nodes = [{"id": f"n{at}", "type": "buffer.copy"} for at in range(4)]
    assert len(parse_patch(json.dumps({"schema": 1, "nodes": nodes[:3]})).nodes) == 3
    with pytest.raises(PatchError, match="p: patch must have at most 3 nodes, got 4"):
        parse_patch(json.dumps({"schema": 1, "nodes": nodes}), "p")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """A file of more than a gigabyte is refused before it is read."""
    with (tmp_path / "p.loom").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(PatchError, match=r"patch must be readable: .*: it has more than 1024 MB"):
        load_patch(tmp_path / "p.loom")


def test_a_text_that_is_too_long_is_told_at_its_block() -> None:
    """A patch with a text of megabytes opens with the default in its place, and the block says why."""
    text = "x" * (MOST_TEXT + 1)
    patch = parse_patch(
        json.dumps({"schema": 1, "nodes": [{"id": "k", "type": "kernel.cuda", "parameters": {"code": text}}]})
    )
    (told,) = [item for item in check_patch(patch) if "characters" in item.message]
    assert told.node == "k"
    assert "parameter code must be at most 1,000,000 characters long, got" in told.message
    assert json.loads(dump_patch(patch))["nodes"][0]["parameters"]["code"] == text
    with pytest.raises(PatchError, match="at most 1,000,000 characters long"):
        patch.set("k", code=text)
