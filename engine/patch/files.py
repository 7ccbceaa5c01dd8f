"""The `.loom` file: JSON with a schema version, sorted so that a diff shows what changed.

::

    {"schema": 1,
     "nodes": [{"id": "blur", "type": "image.gaussian_blur", "version": 1, "position": [0, 0], "parameters": {...}}],
     "connections": [{"source": "load.image", "target": "blur.image"}],
     "sentinels": [{"port": "load.image", "nan": true, "infinity": true, "maximum": 1.0, "action": "freeze"}]}

A node in a region has a "region": a region block's id, "id.else" or "id.2" for its other branches. A "mode" is
"bypassed" or "disabled". A node in a group of a function may have the "key" of its counterparts. A "colour" is one of
those of frames, and a "comment" a note for people. "curves" has the keys of animated parameters, such as
{"sigma": [[0.0, 1.0], [2.5, 8.0, "hold"]]}. A relative path starts at the patch's folder and has forward slashes
(`beside.file_paths`). An array of more than 4 KB is in a file beside the patch (`beside.array_files`). "sentinels" may
be missing, and so may annotations (`organise.annotation_files`). `schemas.py` has the versions. Unknown block types and
unknown fields are kept as they are. A file is written completely and then moved into place.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import logging
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np
from msgspec import structs

from warploom.engine.arguments import checked
from warploom.engine.blocktypes.parameters import MOST_DEPTH, UserArray, check_depth
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError, cut
from warploom.engine.figures import plural
from warploom.engine.patch import rules
from warploom.engine.patch.animation.keys import Curve, Ease, checked_curve, dump_curve
from warploom.engine.patch.animation.timeline import TIMELINE
from warploom.engine.patch.beside.array_files import ArrayFiles, load_array
from warploom.engine.patch.beside.file_paths import move_history, moved_paths, pin_files
from warploom.engine.patch.changes import (
    AnnotationChanged,
    Change,
    Connected,
    Connection,
    Mode,
    Node,
    NodeAdded,
    PortRef,
    Sentinel,
    SentinelChanged,
    dump_sentinel,
    inverse,
    parse_sentinel,
)
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.annotation_files import LISTS, dump_annotations, parse_annotations
from warploom.engine.patch.organise.annotations import Annotation, RunOrder
from warploom.engine.patch.positions import checked_position
from warploom.engine.patch.regions import DEEPEST_IN_FILE, TOP, RegionRefused, Scopes, region_of
from warploom.engine.patch.schemas import NEWEST, schema_for, upgraded
from warploom.engine.platforms.file_locks import lock
from warploom.engine.platforms.files import keep_permissions, move_over
from warploom.engine.platforms.paths import reachable, why_refused
from warploom.engine.processes.scope import check_cancelled
from warploom.engine.readings import read_bytes

_log = logging.getLogger(__name__)
SUFFIX = ".loom"
#: The most bytes of a file, most of which may be arrays, and the most nodes.
MOST_BYTES = 1 << 30
MOST_NODES = 100_000
#: The most bytes that are written at once; between two of these, writing can be cancelled.
_PIECE = 8 << 20
#: Warploom's example patches; runs and edits never change them.
EXAMPLES_FOLDER = Path(__file__).resolve().parents[2] / "resources" / "examples"
_NODE_FIELDS = set(Node.__struct_fields__) - {"extra"}
# A pair of numbers on four lines, as `json` indents it. No JSON string looks like this, since strings hold no line
# breaks.
_SPREAD_PAIR = re.compile(r"\[\n\s+(-?[\d.e+-]+),\n\s+(-?[\d.e+-]+)\n\s+\]")
# A key of a curve in the same form, with what follows its value.
_SPREAD_KEY = re.compile(
    rf'\[\n\s+-?[\d.e+-]+,\n\s+-?[\d.e+-]+,\n\s+"(?:{"|".join(Ease)})"(?:,\n\s+(?:null|-?[\d.e+-]+)){{0,2}}\n\s+\]'
)
_PATCH_FIELDS = {"schema", "nodes", "connections", "sentinels", *LISTS}
#: The optional fields of a node: their defaults, which also have the required types, and these types in words.
_OPTIONAL: tuple[tuple[str, Any, str], ...] = (
    ("version", 1, "a whole number"),
    ("title", "", "text"),
    ("region", TOP, "text"),
    ("key", "", "text"),
    ("colour", "", "text"),  # perhaps one of a newer version
    ("parameters", {}, "an object"),
    ("curves", {}, "an object"),
)


@checked(PatchError)
def save_patch(patch: Patch, path: Path | str) -> None:
    """Write the patch, and its large arrays to files beside it; `path` becomes the patch's file.

    In another folder, relative paths of files that the patch reads change so that they lead to the same files, also
    where undo leads. This is not an undo step. If a file can't be written, raise PatchError; the old file and the patch
    stay as they are.
    """
    before = patch.folder
    save_with(patch, Path(path), partial(moved_paths, patch))
    if Path(path).is_file():
        move_history(patch, before)


def save_with(patch: Patch, path: Path, moves: Callable[[Path], list[Change]]) -> None:
    """Write the patch as `save_patch` does, with the changes that `moves` returns for the folder."""
    before = patch.path
    moved: list[Change] = []
    try:
        if path.is_file() or not path.exists():  # a pipe has no folder
            folder = Path(os.path.realpath(path)).parent
            moved, files = moves(folder), pin_files(patch, folder)
            patch.path = path  # first, since engines look for files from there
            patch.restore(moved)
            arrays = ArrayFiles(path.stem, dump_value)
            data = dump_patch(patch, arrays.dump).encode()
            for file, contents in (files | arrays.missing_in(folder)).items():
                write_atomically(file, contents)
        else:
            data = dump_patch(patch).encode()
        write_atomically(path, data)
    except BaseException as problem:
        patch.path = before
        patch.restore([inverse(change) for change in moved])
        if not isinstance(problem, OSError | ValueError):
            raise
        reason = getattr(problem, "strerror", None) or problem  # ValueError for a NUL in the path
        if isinstance(problem, FileNotFoundError) and not path.parent.exists():
            reason = f"its folder {cut(str(path.parent), 300)} must exist; make it first"
        raise PatchError(f"patch must be writable: {cut(str(path), 300)}: {reason}") from problem
    _log.info("wrote %s", path)
    patch.path, patch.file_digest = path, file_version(data)
    patch.history.mark_saved()


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that its path always holds either the old or the new contents, even after a crash.

    The file keeps its permissions. If `path` is a symbolic link, its target is written. The new contents are in
    `.NAME.part` until they are complete; if a process is killed meanwhile, the next save overwrites that file. A pipe
    or a device, such as /dev/stdout, is written directly. Work in a `CancelScope` that is cancelled leaves the old
    contents.
    """
    if why := why_refused(path.name):
        raise OSError(errno.EINVAL, why)
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    path = Path(reachable(os.path.realpath(path)))
    part = path.with_name(f".{path.name}.part")
    while not _move_new(data, part, path):
        continue


def _move_new(data: bytes, part: Path, path: Path) -> bool:
    """Write `part` and move it to `path`. Return False if another save has moved or removed the same file first."""
    with part.open("ab") as file:
        with suppress(OSError):  # some network file systems have no locks
            lock(file.fileno())
        try:
            if not os.path.samestat(part.stat(), os.fstat(file.fileno())):
                return False
        except FileNotFoundError:
            return False
        try:
            file.truncate(0)
            if path.exists():
                keep_permissions(file.fileno(), path)
            for at in range(0, len(data), _PIECE):
                check_cancelled()
                file.write(memoryview(data)[at : at + _PIECE])
            file.flush()
            os.fsync(file.fileno())
            check_cancelled()
            return move_over(file, part, path)
        except BaseException:
            with suppress(OSError):  # Windows removes no open file
                part.unlink(missing_ok=True)
            raise


@checked(PatchError)
def load_patch(path: Path | str, catalogue: Catalogue | None = None, *, trust: bool = False) -> Patch:
    """Read a patch. A PatchError names the file, the place in it and the remedy.

    With `trust`, the patch may write files outside its folder and listen to the network (`engine.patch.trust`).
    """
    path = Path(path)
    try:
        data = read_bytes(path, MOST_BYTES)
    except OSError as problem:
        raise PatchError(f"patch must be readable: {cut(str(path), 300)}: {problem.strerror or problem}") from problem
    patch = read_patch(data, path, catalogue, trust=trust)
    _log.info("read %s: %s, %s", path, plural(len(patch.nodes), "node"), plural(len(patch.connections), "connection"))
    return patch


def read_patch(data: bytes, path: Path, catalogue: Catalogue | None = None, *, trust: bool = False) -> Patch:
    """Return the patch in `data`, the contents of the file at `path`."""
    try:
        text = data.decode("utf-8-sig")  # some editors write a byte order mark
    except UnicodeDecodeError as problem:
        raise PatchError(f"{path} must be a patch (UTF-8 JSON), got other data") from problem
    patch = Patch(catalogue)
    patch.path, patch.file_digest, patch.trusted = path, file_version(data), trust  # its kernels may include files
    _fill_from(patch, text, str(path), Path(os.path.realpath(path)).parent)
    return patch


def file_version(data: bytes) -> bytes:
    """Return a key that differs between versions of a file."""
    return hashlib.sha256(data).digest()


class FrozenPatch(msgspec.Struct, frozen=True):
    """A patch at one moment, in the form that files store. Another thread may dump it, since nodes never change."""

    nodes: dict[str, Node]
    connections: list[Connection]
    sentinels: dict[PortRef, Sentinel]
    annotations: dict[str, Annotation]
    extra: dict[str, Any]

    @classmethod
    def of(cls, patch: Patch) -> FrozenPatch:
        """Return a snapshot of the patch."""
        return cls(dict(patch.nodes), patch.connections, dict(patch.sentinels), dict(patch.annotations), patch.extra)


def dump_patch(patch: Patch | FrozenPatch, dump: Callable[[Any], Any] | None = None) -> str:
    """Return the patch as the text of a file; `dump` returns a parameter's value as JSON, with arrays in the text."""
    nodes = [dump_node(node, dump or dump_value) for _, node in sorted(patch.nodes.items())]
    pairs = sorted((str(c.target), str(c.source)) for c in patch.connections)
    document = {
        **patch.extra,
        "schema": schema_for(
            nodes,
            has_timeline=TIMELINE in patch.annotations,
            has_orders=any(isinstance(note, RunOrder) for note in patch.annotations.values()),
        ),
        "nodes": nodes,
        "connections": [{"source": source, "target": target} for target, source in pairs],
    }
    if patch.sentinels:
        checks = sorted(patch.sentinels.items(), key=lambda check: str(check[0]))
        document["sentinels"] = [{"port": str(port), **dump_sentinel(sentinel)} for port, sentinel in checks]
    document |= dump_annotations(patch.annotations, {target for target, _ in pairs}, dump_value)
    # `dumps` with an indent is Python code, which takes five times as long.
    data = msgspec.json.format(json.dumps(document, ensure_ascii=False).encode(errors="surrogatepass"), indent=2)
    # Half a surrogate pair can't be encoded; it is written as the escape sequence that a file may hold.
    text = _SPREAD_PAIR.sub(r"[\1, \2]", data.decode(errors="surrogatepass"))
    text = _SPREAD_KEY.sub(lambda found: f"[{' '.join(found[0][1:-1].split())}]", text)
    return text.encode(errors="backslashreplace").decode() + "\n"


def parse_patch(text: str, name: str = "patch", catalogue: Catalogue | None = None) -> Patch:
    """Return the patch in `text`, which is not trusted; `name` is its name in messages."""
    patch = Patch(catalogue)
    patch.trusted = False
    _fill_from(patch, text, name)
    return patch


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def _fill_from(patch: Patch, text: str, name: str, folder: Path | None = None) -> None:
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
        check_depth(document, MOST_DEPTH + 4)  # the parameter's value is in a node of the list of an object
    except json.JSONDecodeError as problem:
        raise PatchError(f"{name}:{problem.lineno}: must be JSON: {problem.msg}") from problem
    except RecursionError as problem:
        raise PatchError(f"{name}: must be a patch, got JSON nested too deeply") from problem
    except ValueError as problem:  # a number of thousands of digits
        raise PatchError(f"{name}: must be a patch, got JSON that can't be read: {problem}") from problem
    if not isinstance(document, dict) or "schema" not in document:
        raise PatchError(f'{name}: must be a patch: an object with "schema", "nodes" and "connections"')
    schema = document["schema"]
    if type(schema) is not int or not 1 <= schema <= NEWEST:
        hint = "; a newer Warploom may read it" if type(schema) is int and schema > NEWEST else ""
        raise PatchError(f"{name}: schema must be from 1 to {NEWEST}, got {json.dumps(schema)[:80]}{hint}")
    fill_patch(patch, upgraded(document, schema), name, folder)


def fill_patch(patch: Patch, document: dict[str, Any], name: str, folder: Path | None = None) -> None:
    """Fill an empty patch with the nodes and connections of a JSON object; `name` is its name in messages.

    Large arrays are in files of `folder`.
    """
    patch.extra = {key: value for key, value in document.items() if key not in _PATCH_FIELDS}
    listed = _list(document, "nodes", name)
    if len(listed) > MOST_NODES:
        raise PatchError(f"{name}: patch must have at most {MOST_NODES:,} nodes, got {len(listed):,}")
    nodes = [_parse_node(item, f"{name}: nodes[{i}]", folder) for i, item in enumerate(listed)]
    changes: list[Change] = []
    known: set[str] = set()
    for node in nodes:
        if node.id in known:
            raise PatchError(f"{name}: node ids must differ, got {node.id!r} twice")
        known.add(node.id)
        changes.append(NodeAdded(_converted(node, patch)))
    _check_regions(nodes, name)
    targets: set[PortRef] = set()
    for index, item in enumerate(_list(document, "connections", name)):
        where = f"{name}: connections[{index}]"
        connection = Connection(*(_parse_port(item, key, where, known) for key in ("source", "target")))
        if connection.target in targets:
            raise PatchError(f"{name}: input {connection.target} must have one connection, got two")
        targets.add(connection.target)
        changes.append(Connected(connection))
    feeding, checked = {change.connection.source for change in changes if isinstance(change, Connected)}, set()
    for index, item in enumerate(_list(document, "sentinels", name)):
        where = f"{name}: sentinels[{index}]"
        if not isinstance(item, dict):
            raise PatchError(f"{where} must be an object, got {type(item).__name__}")
        port = _parse_port(item, "port", where, known)
        if port not in feeding or port in checked:
            what = "which feeds nothing" if port not in feeding else "a second time"
            raise PatchError(f"{where}: port must be an output with a connection, checked once, got {port}, {what}")
        checked.add(port)
        sentinel = parse_sentinel({key: value for key, value in item.items() if key != "port"}, f"{where} ({port})")
        changes.append(SentinelChanged(port, sentinel, None))
    made = parse_annotations(document, name, set(map(str, targets)), _parse_value)
    changes += [AnnotationChanged(item.key, item, None) for item in made]
    patch.restore(changes)


def _list(document: dict[str, Any], key: str, name: str) -> list[Any]:
    items = document.get(key, [])
    if not isinstance(items, list):
        raise PatchError(f'{name}: "{key}" must be a list, got {type(items).__name__}')
    return items


def dump_node(node: Node, dump: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Return a node as a JSON object; `dump` is that of `dump_patch`."""
    dump = dump or dump_value
    fields: dict[str, Any] = {**node.extra, "id": node.id, "type": node.type, "version": node.version}
    if node.title:
        fields["title"] = node.title
    if node.region:
        fields["region"] = node.region
    fields["position"] = list(node.position)
    if node.mode:
        fields["mode"] = str(node.mode)
    for name in ("key", "colour", "comment"):
        if value := getattr(node, name):
            fields[name] = value
    fields["parameters"] = {
        name: dump(value)
        for name, value in sorted(node.parameters.items())
        if not isinstance(value, UserArray)  # files can't hold the user's memory
    }
    if node.curves:
        fields["curves"] = {name: dump_curve(curve) for name, curve in sorted(node.curves.items())}
    return fields


def patch_digest(patch: Patch) -> str:
    """Return a key of what an engine runs of a patch, and of its rate."""
    plain = (structs.replace(node, title="", colour="", comment="") for _, node in sorted(patch.nodes.items()))
    nodes = [{**dump_node(node), "title": "", "position": ""} for node in plain]
    connections = sorted(map(str, patch.connections))
    rate = patch.timeline.rate if patch.timeline is not None else None
    return hashlib.sha256(json.dumps([nodes, connections, rate]).encode()).hexdigest()


def dump_value(value: Any) -> Any:
    """Return a parameter's value as JSON."""
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "base64": data}
    return value


def _parse_node(item: Any, where: str, folder: Path | None) -> Node:
    if not isinstance(item, dict):
        raise PatchError(f"{where} must be an object, got {type(item).__name__}")
    try:
        rules.check_node_id(item.get("id"))
    except PatchError as problem:
        raise PatchError(f"{where}: {problem}") from None
    if not isinstance(item.get("type"), str) or not 0 < len(item["type"]) <= rules.LONGEST_NAME:
        raise PatchError(f'{where}: "type" must be a name, got {shown(item.get("type"))}')
    fields: dict[str, Any] = {}
    try:
        fields["position"] = checked_position(item.get("position", [0, 0]))
        comment = item.get("comment", "")
        fields["comment"] = rules.checked_comment(_whole_text(comment) if isinstance(comment, str) else comment)
    except PatchError as problem:
        raise PatchError(f"{where} ({item['id']}): {problem}") from None
    for key, default, rule in _OPTIONAL:
        fields[key] = value = item.get(key, default)
        if not isinstance(value, type(default)):
            found = shown(value) if key not in ("parameters", "curves") else type(value).__name__
            raise PatchError(f"{where} ({item['id']}): {key} must be {rule}, got {found}")
        if isinstance(value, str):
            fields[key] = _whole_text(value)
    if (mode := item.get("mode", "")) not in list(Mode):
        raise PatchError(f"{where} ({item['id']}): mode must be bypassed or disabled, got {shown(mode)}")
    fields["mode"] = Mode(mode)
    fields["parameters"] = {
        key: _parse_value(value, f"{where} ({item['id']}.{key})", folder) for key, value in fields["parameters"].items()
    }
    fields["curves"] = {
        key: _parse_curve(keys, f"{where} ({item['id']}.{key})") for key, keys in fields["curves"].items()
    }
    return Node(
        id=item["id"],
        type=item["type"],
        **fields,
        extra={key: value for key, value in item.items() if key not in _NODE_FIELDS},
    )


def _whole_text(text: str) -> str:
    """Return a text with the sign U+FFFD for each half of a surrogate pair, which can't be sent to an engine."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _parse_value(value: Any, where: str, folder: Path | None = None) -> Any:
    if isinstance(value, dict) and "npy" in value:
        return load_array(value, folder, where)
    if isinstance(value, dict) and "base64" in value:
        try:
            data = base64.b64decode(value["base64"], validate=True)
            if not re.fullmatch(r"[<>|=]?([iuf]\d|b1|c8|c16)", value["dtype"]):
                raise ValueError(f"dtype must be numeric, such as '<f4', got {shown(value['dtype'])}")
            if value["dtype"].endswith("b1") and max(data, default=0) > 1:
                raise ValueError(f"booleans must be bytes 0 or 1, got {max(data)}")
            return np.frombuffer(data, np.dtype(value["dtype"])).reshape(value["shape"]).copy()
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise PatchError(f"{where} must be an array (dtype, shape, base64): {problem}") from problem
    return value


def _parse_curve(keys: Any, where: str) -> Curve:
    """Return the keys in a list; whether they fit the parameter is left to the engine, as for values."""
    try:
        return checked_curve(keys)
    except PatchError as problem:
        raise PatchError(f"{where}: {problem}") from None


def _converted(node: Node, patch: Patch) -> Node:
    """Convert parameter values to their declared types. Numbers keep their form, 1 or 1.0, when they are saved.

    A value that the type refuses is kept, like the values of a placeholder. Block types change, and a patch must open
    so that a person can fix it; the engine reports the value on the node.
    """
    block_type = patch.type_of(node)
    specs = block_type.parameters if block_type is not None else {}
    for key, value in node.parameters.items():
        if key in specs and type(value) not in (int, float):
            with suppress(PatchError):
                node.parameters[key] = specs[key].coerce(value)
    return node


def _check_regions(nodes: list[Node], name: str) -> None:
    """Raise an error unless every region is a node of the file, and none lies inside itself or extremely deep.

    Whether that node's type is a region is left to the compiler, so that a faulty patch can be opened and fixed.
    """
    scopes = Scopes({node.id: node.region for node in nodes if node.region})
    known = {node.id for node in nodes}
    for node in nodes:
        if node.region and region_of(node.region) not in known:
            raise PatchError(f"{name}: region of {node.id} must name a node of the patch, got {shown(node.region)}")
        try:
            if len(scopes.chain(node.region)) > DEEPEST_IN_FILE:
                raise RegionRefused(f"regions must be at most {DEEPEST_IN_FILE} deep, got more")
        except RegionRefused as problem:
            raise PatchError(f"{name}: node {node.id}: {problem}") from None


def _parse_port(item: Any, key: str, where: str, nodes: set[str]) -> PortRef:
    text = item.get(key) if isinstance(item, dict) else None
    node, dot, port = text.partition(".") if isinstance(text, str) else ("", "", "")
    if not dot or not port:
        raise PatchError(f'{where}: "{key}" must be "node.port", got {shown(text)}')
    if node not in nodes:
        raise PatchError(f"{where}: {key} must name a node of the patch, got {shown(node)}")
    return PortRef(node, port)
