"""A patch as a Python script that builds and runs it.

The calls are made on a patch here while they are written, and the result is compared with the patch. So a script is
written only if it builds this patch.
"""

from __future__ import annotations

import builtins
import json
import keyword
import os
import re
import unicodedata
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from warploom.engine.descriptions.checks import shown
from warploom.engine.diagnostics import PatchError
from warploom.engine.export.source import Bracketed, Expression, Word, call, lines, literal, text
from warploom.engine.ops.graph import OTHERWISE
from warploom.engine.patch.animation.keys import dump_curve
from warploom.engine.patch.animation.timeline import Timeline
from warploom.engine.patch.changes import Node, PortRef, Sentinel
from warploom.engine.patch.contents import NodeRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch
from warploom.engine.patch.groups.flat import ENDS, HIDDEN, INPUTS, OUTPUTS
from warploom.engine.patch.groups.functions import instances
from warploom.engine.patch.groups.types import PORTS
from warploom.engine.patch.organise.annotations import COLOURS, KINDS, Annotation
from warploom.engine.patch.regions import branch_of, region_of, scope_text

#: Parameters with these names can't be given to `Patch.add`, which has arguments of the same names.
_ARGUMENTS = ("self", "type_id", "node_id", "position", "title", "region")
#: Names in a script that no variable may take.
_NAMES = (
    "argparse",
    "base64",
    "np",
    "patch",
    "build",
    "main",
    "run",
    "FOLDER",
    "Path",
    "Engine",
    "Patch",
    "Frozen",
    "WarploomError",
)
_MAIN = '''

def main() -> int:
    """Read the options, run the patch, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default={frames})
    parser.add_argument("--device", default="auto", help="auto, host or cuda:0")
    parser.add_argument("--out", type=Path, help="folder for all outputs")
    options = parser.parse_args()
    try:
        return run(options.frames, options.device, options.out)
    except WarploomError as problem:
        print(f"error: {{problem}}", file=sys.stderr)
        return 1


def run(frames: int, device: str, out: Path | None) -> int:
    """Run frames of the patch, save its outputs, and return the exit status."""
    with Engine(build(), device=device) as engine:
        for _ in range(frames):
            report = engine.step()
            errors = [item for item in report.diagnostics if item.severity == "error"]
            if errors:
                print(*errors, sep="\\n", file=sys.stderr)
                return 1
            if any(isinstance(event, Frozen) for event in engine.take_events()):
                print(f"frame {{report.frame}} is frozen", file=sys.stderr)
                break
        for saved in engine.save_outputs(out):
            place = saved.path or "not saved, without --out"
            print(f"{{saved.node}}.{{saved.port}}: {{place}}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''


def python_script(patch: Patch, script: Path) -> str:
    """Return the text of a script, to be written to `script`, that builds a patch and runs it as `warploom run` does.

    Raise PatchError that names the node if a script can't build it.
    """
    writer = _Writer(patch)
    body = writer.write(script)
    used = {name for name in ("base64", "np") if re.search(rf"\b{name}\.", body)}
    notes = {type(note) for note in patch.annotations.values()} - {Timeline}
    imports = ["import argparse", *(["import base64"] if "base64" in used else []), "import sys"]
    imports += ["from pathlib import Path", ""]
    imports += ["import numpy as np", ""] if "np" in used else []
    imports += ["from warploom import Engine, Patch, WarploomError"]
    imports += sorted(f"from {kind.__module__} import {kind.__name__}" for kind in notes)
    imports += ["from warploom.engine.protocol.messages import Frozen"]
    timeline = patch.timeline
    return "\n".join(
        [
            '"""Builds a patch and runs it. Written by `warploom export`."""',
            "",
            *imports,
            "",
            "FOLDER = Path(__file__).resolve().parent",
            "",
            "",
            "def build() -> Patch:",
            '    """Return the patch."""',
            body,
            _MAIN.format(frames=timeline.end + 1 if timeline is not None else 60),
        ]
    )


class _Writer:
    """Makes a copy of a patch by calls of `Patch`, and keeps the calls."""

    def __init__(self, patch: Patch) -> None:
        self.patch = patch
        self.copy = Patch(patch.catalogue)
        self.statements: list[tuple[str, Expression]] = []
        self.made: dict[str, NodeRef] = {}
        self._variables: dict[str, str] = {}
        self._used: set[str] = set()

    def write(self, script: Path) -> str:
        """Return the body of the function that builds the patch."""
        patch, copy = self.patch, self.copy
        copy.path, copy.trusted, copy.extra = patch.path, patch.trusted, patch.extra
        self._begin(script)
        blocks = [node for node in patch.nodes.values() if node.type not in HIDDEN]
        for node in self._regions_first(blocks):
            with self._of(node.id):
                self._add(node)
        for group in sorted((n for n in patch.nodes if patch.is_group(n)), key=lambda n: -len(patch.groups_around(n))):
            with self._of(group):
                self._group(patch.nodes[group])
        for node in patch.nodes.values():
            with self._of(node.id):
                self._animate(node)
        for connection in patch.connections:
            with self._of(connection.target.node):
                ends = connection.source, connection.target
                copy.connect(*(self.made[end.node][end.port] for end in ends))
                self._do("patch.connect", *map(self._port, ends))
        for node in (patch.nodes[off] for off in sorted(patch.off)):
            with self._of(node.id):
                copy.set_mode(self.made[node.id], node.mode)
                self._do("patch.set_mode", self._name(node.id), text(node.mode))
        for node in patch.nodes.values():
            with self._of(node.id):
                self._mark(node)
        for port, sentinel in patch.sentinels.items():
            with self._of(port.node):
                self._sentinel(port, sentinel)
        for note in patch.annotations.values():
            self._annotate(note)
        for name, groups in instances(patch).items():
            with self._of(groups[-1]):
                if len(groups) > 1:
                    raise PatchError(
                        f"function {name} must have one group, got {', '.join(groups)}; clear it in the others"
                    )
                copy.set(self.made[groups[0]], function=name)
                self._do("patch.set", self._name(groups[0]), function=literal(name))
        self._compare()
        found = []
        for variable, expression in self.statements:
            name, _, _ = variable.partition(" = ")
            prefix = "" if name in self._variables.values() and name not in self._used else variable
            found += lines(prefix, expression, indent=4)
        return "\n".join([*found, "    return patch"])

    def _begin(self, script: Path) -> None:
        self.statements.append(("patch = ", call("Patch")))
        if self.patch.path is not None:
            path, folder = self.patch.path.resolve(), script.resolve().parent
            try:
                relative = os.path.relpath(path, folder)
            except ValueError:  # on another drive of Windows
                relative = str(path)
            place = call("Path", Word("FOLDER"), text(Path(relative).as_posix()))
            self.statements.append(("patch.path = ", place))
        if not self.patch.trusted:
            self.statements.append(("patch.trusted = ", Word("False")))
        if self.patch.extra:
            self.statements.append(("patch.extra = ", literal(self.patch.extra)))

    def _regions_first(self, nodes: Collection[Node]) -> Iterator[Node]:
        """Yield nodes in the order of the patch, but each after the region that it lies in."""
        known = {node.id: node for node in nodes}
        done: set[str] = set()
        for node in nodes:
            chain = [node]
            while (around := region_of(self._scope(chain[-1]))) and around not in done:
                chain.append(known[around])
            for each in reversed(chain):
                if each.id not in done:
                    done.add(each.id)
                    yield each

    def _branch(self, region: NodeRef, branch: str) -> str:
        """Return the attribute of a region's handle for one of its branches."""
        if branch in ("", OTHERWISE):
            return ".otherwise" if branch else ""
        block_type = self.copy.block_type(region.id)
        assert block_type is not None
        return f".branch({block_type.regions.index(branch)})"

    def _scope(self, node: Node) -> str:
        """Return the scope of a node without groups."""
        scope = node.region
        while scope and self.patch.is_group(region_of(scope)):
            scope = self.patch.nodes[region_of(scope)].region
        return scope

    def _add(self, node: Node) -> None:
        scope = self._scope(node)
        given: dict[str, Any] = {"node_id": node.id}
        if node.position != (0, 0):
            given["position"] = node.position
        named: dict[str, Expression] = {name: literal(value) for name, value in given.items()}
        if node.title:
            given["title"], named["title"] = node.title, text(node.title)
        if scope:
            owner = self.made[region_of(scope)]
            given["region"] = scope_text(owner.id, branch_of(scope))
            named["region"] = Word(self._name(region_of(scope)).text + self._branch(owner, branch_of(scope)))
        held = {name: value for name, value in node.parameters.items() if name not in _ARGUMENTS}
        ref = self.made[node.id] = self.copy.add(node.type, **given, **held)
        expression = Bracketed("patch.add(", [("", text(node.type)), *_named(named), *_parameters(held)])
        self._make(node.id, expression)
        for name in set(self.copy.nodes[ref.id].parameters) - set(node.parameters):  # a seed that is new in each patch
            self.copy.reset(ref, name)
            self._do("patch.reset", self._name(node.id), text(name))
        if rest := {name: value for name, value in node.parameters.items() if name in _ARGUMENTS}:
            self.copy.set(ref, **rest)
            self.statements.append(("", Bracketed("patch.set(", [("", self._name(node.id)), *_parameters(rest)])))

    def _group(self, node: Node) -> None:
        """Make a group of blocks that are not connected yet, and give its ends the ports."""
        inside = [member for member in self.patch.members(node.id) if not self.patch.is_end(member)]
        ref = self.made[node.id] = self.copy.group([self.made[member] for member in inside], node.title)
        members: list[tuple[str, Expression]] = [("", self._name(member)) for member in inside]
        titled = [text(node.title)] if node.title else []
        self._make(node.id, call("patch.group", Bracketed("[", members), *titled))
        self._place(node, ref)
        for kind in ENDS:
            end = self.patch.nodes[self.patch.end_of(node.id, kind)]
            made = self.made[end.id] = self.copy[self.copy.end_of(ref, kind)]
            named = [] if kind == INPUTS else [text(OUTPUTS)]
            place = call("patch.end_of", self._name(node.id), *named)
            self._make(end.id, Word(f"patch[{place.flat}]"))
            if ports := end.parameters.get(PORTS):
                self.copy.set(made, ports=ports)
                self._do("patch.set", self._name(end.id), ports=literal(ports))
            self._place(end, made)
            if end.title:
                self.copy.rename(made, end.title)
                self._do("patch.rename", self._name(end.id), text(end.title))

    def _place(self, node: Node, ref: NodeRef) -> None:
        self.copy.move(ref, node.position)
        self._do("patch.move", self._name(node.id), literal(node.position))

    def _animate(self, node: Node) -> None:
        for name, curve in node.curves.items():
            keys = list(map(tuple, dump_curve(curve)))
            self.copy.animate(self.made[node.id], name, keys)
            self._do("patch.animate", self._name(node.id), text(name), literal(keys))

    def _mark(self, node: Node) -> None:
        if node.colour in COLOURS:  # others are those of a newer version
            self.copy.set_colour(self.made[node.id], node.colour)
            self._do("patch.set_colour", self._name(node.id), text(node.colour))
        if node.comment:
            self.copy.set_comment(self.made[node.id], node.comment)
            self._do("patch.set_comment", self._name(node.id), text(node.comment))

    def _sentinel(self, port: PortRef, sentinel: Sentinel) -> None:
        usual = Sentinel()
        fields = {n: v for n, v in msgspec.structs.asdict(sentinel).items() if v != getattr(usual, n)}
        self.copy.set_sentinel(self.made[port.node][port.port], **fields)
        self._do("patch.set_sentinel", self._port(port), **{name: literal(value) for name, value in fields.items()})

    def _annotate(self, note: Annotation) -> None:
        fields = msgspec.structs.fields(note)
        given = {f.name: getattr(note, f.name) for f in fields}
        given = {f.name: given[f.name] for f in fields if f.required or given[f.name] != _default(f)}
        if isinstance(note, Timeline):
            self.copy.set_timeline(**given)
            self._do("patch.set_timeline", **{name: literal(value) for name, value in given.items()})
            return
        named = {name: literal(value) for name, value in given.items()}
        for name in ("node", "group"):  # the nodes of groups may have other ids
            ref = self.made.get(given.get(name, ""))
            if ref is not None and ref.id != given[name]:
                named[name], given[name] = Word(f"{self._name(given[name]).text}.id"), ref.id
        self.copy.annotate(type(note)(**given))
        self._do("patch.annotate", call(type(note).__name__, **named))

    def _compare(self) -> None:
        """Raise PatchError unless the copy has the same file, but for ids of groups and the versions of blocks."""
        ids = {node: ref.id for node, ref in self.made.items()}
        wanted, made = (json.loads(dump_patch(patch)) for patch in (self.patch, self.copy))
        _rename(wanted, ids)
        known = {node["id"]: node for node in made.pop("nodes")}
        origin = {new: old for old, new in ids.items()}
        for node in wanted.pop("nodes"):
            other = known.get(node["id"], {})
            if node.get("colour") not in COLOURS:  # which no call can set
                node.pop("colour", None)
            for field in sorted((node.keys() | other.keys()) - {"version"}):
                if node.get(field) != other.get(field):
                    raise PatchError(
                        f"node {origin[node['id']]} must be made by calls of Patch to become a script, "
                        f"got {field} {shown(node.get(field))}"
                    )
        for field in sorted((wanted.keys() | made.keys()) - {"schema"}):
            one, other = (
                sorted(d.get(field, []), key=str) if isinstance(d.get(field), list) else d.get(field)
                for d in (wanted, made)
            )
            if one != other:
                raise PatchError(f"patch must be made by calls of Patch to become a script, got other {field}")

    @contextmanager
    def _of(self, node: str) -> Iterator[None]:
        """Name the node that a call failed for."""
        try:
            yield
        except PatchError as problem:
            raise PatchError(f"node {node} can't be written as Python: {problem}") from problem

    def _make(self, node: str, expression: Expression) -> None:
        name = unicodedata.normalize("NFKC", re.sub(r"\W", "_", node))
        if not name.isidentifier() or keyword.iskeyword(name):
            name = f"node_{name}"
        taken = {*self._variables.values(), *_NAMES, *vars(builtins), *(k.__name__ for k in KINDS)}
        stem, number = name, 2
        while name in taken:
            name, number = f"{stem}_{number}", number + 1
        self._variables[node] = name
        self.statements.append((f"{name} = ", expression))

    def _name(self, node: str) -> Word:
        self._used.add(self._variables[node])
        return Word(self._variables[node])

    def _port(self, port: PortRef) -> Word:
        return Word(f"{self._name(port.node).text}[{text(port.port).text}]")

    def _do(self, function: str, /, *arguments: Expression, **named: Expression) -> None:
        self.statements.append(("", call(function, *arguments, **named)))


def _named(named: dict[str, Expression]) -> list[tuple[str, Expression]]:
    return [(f"{name}=", value) for name, value in named.items()]


def _parameters(values: dict[str, Any]) -> list[tuple[str, Expression]]:
    """Return values as arguments; a parameter of a kernel may have a name that is none of Python's."""
    plain = {name: value for name, value in values.items() if name.isidentifier() and not keyword.iskeyword(name)}
    odd = {name: value for name, value in values.items() if name not in plain and name not in _ARGUMENTS}
    items = _named({name: literal(value) for name, value in plain.items()})
    return [*items, ("**", literal(odd))] if odd else items


def _default(field: msgspec.structs.FieldInfo) -> Any:
    made = field.default_factory
    return field.default if made is msgspec.NODEFAULT else made()


def _rename(document: dict[str, Any], ids: dict[str, str]) -> None:
    """Replace the ids of nodes in a patch's document."""

    def port(ref: str) -> str:
        node, dot, name = ref.partition(".")
        return ids.get(node, node) + dot + name

    for node in document["nodes"]:
        node["id"] = ids[node["id"]]
        if "region" in node:
            node["region"] = port(node["region"])
    for name, fields in (("connections", ("source", "target")), ("sentinels", ("port",)), ("dots", ("target",))):
        for item in document.get(name, []):
            item.update({field: port(item[field]) for field in fields})
    for items in document.values():
        for item in items if isinstance(items, list) else ():
            for field in ("node", "group"):
                if isinstance(item, dict) and item.get(field) in ids:
                    item[field] = ids[item[field]]
