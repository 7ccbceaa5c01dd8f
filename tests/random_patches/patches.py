"""A random patch, and random edits of it, which are the same for the same seed on every device."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from tests.random_patches.materials import NUMBERS, Materials, dtype_called, numbers
from tests.random_patches.recipes import RECIPES, Chooser, Recipe, Want, _alike
from warploom import Patch
from warploom.engine.blocktypes.block import Block
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.diagnostics import GraphValidationError, PatchError, Severity
from warploom.engine.ops import OpError
from warploom.engine.patch import changes
from warploom.engine.patch.changes import Change, Connection, PortRef
from warploom.engine.patch.composite import Composite, CompositeBuilder
from warploom.engine.patch.document import NodeRef
from warploom.engine.patch.regions import TOP
from warploom.engine.protocol.messages import Message, SetInput
from warploom.engine.runtime.model.block_registry import BlockRegistry
from warploom.engine.runtime.model.describe_patch import PlacedNode, describe_patch
from warploom.engine.runtime.model.parameters import ParameterStore
from warploom.engine.types.layout import Layout
from warploom.engine.user_code.runner import CodeRunner

default_catalogue()  # registers the block types of the composites


class Twice(Composite, id="test_random.twice"):
    """Scales numbers, and adds a copy of the result to them."""

    def compose(self, build: CompositeBuilder) -> None:
        scale, copy = build.add_child("math.scale_offset"), build.add_child("buffer.copy")
        total = build.add_child("math.add")
        build.connect_children(scale["out"], copy["x"])
        build.connect_children(copy["out"], total["y"])
        build.expose_input("x", scale["x"])
        build.connect_children(scale["out"], total["x"])
        build.expose_output("out", total["out"], doc="The sum.")
        build.expose_parameter("gain", scale, "scale")


class Repeated(Composite, id="test_random.repeated"):
    """Scales numbers several times."""

    def compose(self, build: CompositeBuilder) -> None:
        copy, loop = build.add_child("buffer.copy"), build.add_child("control.for", count=2, limit=8)
        scale = build.add_child("math.scale_offset", region=loop, offset=0.5)
        keep = build.add_child("buffer.assign", region=loop)
        build.connect_children(copy["out"], scale["x"])
        build.connect_children(copy["out"], keep["target"])
        build.connect_children(scale["out"], keep["value"])
        build.expose_input("x", copy["x"])
        build.expose_output("out", keep["out"], doc="The numbers after the last turn.")
        build.expose_parameter("turns", loop, "count")


TYPES = {**RECIPES, Twice.id: _alike(("f32",), "x"), Repeated.id: _alike(("f32",), "x")}
VALUES = sorted(t for t in RECIPES if t.startswith("value."))
REGIONS = ("control.for", "control.if", "control.if_else", "control.switch", "control.while")
#: The highest values of parameters whose extremes would only cost time or memory.
_CAPS = {
    "limit": 8,
    "octaves": 8,
    "steps": 8,
    "most": 100,
    "count": 4,
    "jets": 24,
    "sigma": 20,
    "radius": 20,
    "rate": 1e4,
}
#: Switches that must fit other values. A sparse matrix that isn't checked may read anything.
_KEPT = ("checked", "transpose", "transpose_a", "transpose_b")


class RandomPatch(Chooser):
    """A patch of blocks that are chosen at random, with the inputs that they need."""

    def __init__(
        self, seed: int, materials: Materials, *, wanted: Iterable[str] = (), types: Sequence[str] = tuple(TYPES)
    ) -> None:
        """Place at least one block of each `wanted` type, as far as possible, and others of these `types`."""
        super().__init__(seed, materials)
        self.patch = Patch()
        self.layouts: dict[PortRef, Layout] = {}
        #: How often each block type was placed, and why blocks and edits were refused.
        self.placed: Counter[str] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()
        self._code = CodeRunner()
        self._plan: Plan | None = None
        #: Nodes as they were described, until they change.
        self._described: dict[str, PlacedNode] = {}
        self.is_sound = True
        self._edits, self._chosen = 0, types
        self.patch.subscribe(self._follow)
        todo = list(wanted) + [self.any_of(types) for _ in range(self.any_of((2, 3, 5, 7, 9, 14)))]
        self.chance.shuffle(todo)
        for _ in range(self.any_of((0, 0, 1, 1, 2, 3))):
            todo.insert(0, self.any_of(REGIONS))
        for type_id in todo:
            self.grow(type_id)

    def close(self) -> None:
        """End the thread on which blocks describe themselves."""
        self._code.close()

    # Growing

    def grow(self, type_id: str) -> NodeRef | None:
        """Place a block with all that it needs; None if the patch or the compiler refuses it, which is counted."""
        name = f"grow {type_id}"

        def place() -> NodeRef:
            if type_id == "control.while" and self.maybe(0.8):
                return self._while()
            return self._place(type_id, self._any_scope(), TYPES[type_id](self))

        return self._attempt(name, type_id, place, sound=self.maybe(0.95))

    def _attempt(self, name: str, about: str, act: Callable[[], Any], *, sound: bool) -> Any:
        """Do an edit; undo it if it is refused or, if it must be `sound`, if the patch then can't run."""
        was_sound, before = self.is_sound, self._edits
        try:
            with self.patch.edit(name):
                done = act()
        except (PatchError, OpError) as problem:
            self._count_refused(about, str(problem))
            self._learn()
            return None
        problem = self._learn()
        if problem and sound and was_sound:
            self._count_refused(about, problem)
            if self._edits > before:
                self.patch.undo()
            self._learn()
            return None
        return done

    def _follow(self, change: Change) -> None:
        self._edits += 1
        match change:
            case changes.NodeAdded(node) | changes.NodeRemoved(node):
                self._described.pop(node.id, None)
            case changes.ParameterChanged() | changes.NodeRegionChanged():
                self._described.pop(change.node, None)

    def _count_refused(self, about: str, problem: str) -> None:
        self.refused[about, _without_numbers(problem)] += 1

    def _learn(self) -> str:
        """Note the layout of every port; return the first reason why the whole patch can't run."""
        patch = self.patch
        parameters = ParameterStore(lambda: patch.folder)
        registry = BlockRegistry(patch.catalogue, parameters, lambda: patch.folder, self._code)
        for node in patch.nodes.values():
            registry.register(node)
        wires = [c for c in patch.connections if not patch.is_value_connection(c)]
        asked = registry.snapshot(wires, patch.sentinels)
        asked = replace(asked, nodes=tuple(self._described.get(node.id, node) for node in asked.nodes))
        described = describe_patch(asked, self._code)
        self._described = {node.id: node for node in described.nodes if node.block is not None}
        problems = [item for item in described.problems if item.severity is Severity.ERROR]
        values = registry.value_blocks
        description = described.inlined.description
        try:
            runs = description.without(description.dependents(described.undescribed - values.keys()))
            plan = make_plan(runs, previous=self._plan, fuses=False)
        except GraphValidationError as refused:
            problems += refused.errors
        else:
            self._plan = plan
            self.layouts = {}
            for node, block_type in self._types():
                for spec in block_type.outputs():
                    port = PortRef(node, spec.name)
                    inner = described.inlined.output(port)
                    if inner in plan.layouts:
                        self.layouts[port] = plan.layouts[inner]
        self.is_sound = not problems
        return problems[0].message if problems else ""

    def _types(self) -> list[tuple[str, type[Block]]]:
        found = ((node, self.patch.block_type(node)) for node in self.patch.nodes)
        return [(node, block_type) for node, block_type in found if block_type is not None]

    def _add(self, type_id: str, scope: str, parameters: dict[str, Any]) -> NodeRef:
        node = self.patch.add(type_id, region=scope, **parameters)
        self.placed[type_id] += 1
        return node

    def _place(self, type_id: str, scope: str, recipe: Recipe) -> NodeRef:
        sources: dict[str, PortRef] = {}
        if recipe.fed_by is not None:
            feeding, parameters, ports = recipe.fed_by
            before = self._add(feeding, scope, self._parameters(feeding, parameters))
            sources = {name: before[port] for name, port in ports.items()}
        for name, want in recipe.inputs.items():
            if name not in sources:
                sources[name] = self._source(want, scope, type_id)
        node = self._add(type_id, scope, self._parameters(type_id, recipe.parameters))
        block_type = self.patch.block_type(node.id)
        assert block_type is not None
        changed = {spec.inplace for spec in block_type.outputs() if spec.inplace}
        for name, source in sources.items():
            if name in changed and self.maybe(0.6):
                copy = self._add("buffer.copy", self.patch.nodes[node.id].region, {})
                self.patch.connect(source, copy["x"])
                source = copy["out"]
            self.patch.connect(source, node[name])
        if block_type.has_values or self.maybe(0.1):
            self._drive(node.id)
        return node

    def _while(self) -> NodeRef:
        """Place a While that counts its input down to 0."""
        scope = self._any_scope()
        going = self._add("buffer.constant", scope, {"value": float(self.chance.randrange(5))})
        loop = self._add("control.while", scope, {"limit": self.any_of((1, 6, 6))})
        less = self._add("math.scale_offset", loop.id, {"offset": -1.0})
        keep = self._add("buffer.assign", loop.id, {})
        self.patch.connect(going["out"], loop["condition"])
        self.patch.connect(going["out"], less["x"])
        self.patch.connect(going["out"], keep["target"])
        self.patch.connect(less["out"], keep["value"])
        return loop

    def _any_scope(self) -> str:
        scopes = [TOP]
        for node, block_type in self._types():
            scopes += [node if not branch else f"{node}.{branch}" for branch in block_type.regions]
        return self.any_of(scopes) if self.maybe(0.6) else TOP

    # Sources

    def _source(self, want: Want, scope: str, reader: str) -> PortRef:
        """Return an output that fits a want: an existing one, one that is made from another, or a new one."""
        if want.data is not None:
            return self._add("io.array", TOP, {"data": want.data})["out"]
        fitting = [port for port, layout in self.layouts.items() if _fits(layout, want)]
        if fitting and self.maybe(0.75):
            return self.any_of(fitting)
        if want.dtype in NUMBERS and self.maybe(0.35):
            others = [port for port, layout in self.layouts.items() if self._is_number(port, layout, want.shape)]
            if others:
                return self._adapted(self.any_of(others), want, scope)
        return self._made(want, scope if self.maybe(0.5) else TOP)

    def _is_number(self, port: PortRef, layout: Layout, shape: tuple[int, ...]) -> bool:
        return layout.dtype.__name__ in NUMBERS and layout.strides is None and _size(layout.shape) >= _size(shape)

    def _adapted(self, port: PortRef, want: Want, scope: str) -> PortRef:
        """Return the first elements of a port, converted to the wanted type and shape."""
        layout = self.layouts[port]
        steps: list[tuple[str, dict[str, Any]]] = []
        if layout.dtype.__name__ != want.dtype:
            steps.append(("buffer.convert", {"dtype": want.dtype}))
        if layout.shape != want.shape:
            if len(layout.shape) > 1:
                steps.append(("buffer.reshape", {"shape": "-1"}))
            if _size(layout.shape) > _size(want.shape):
                steps.append(("buffer.slice", {"stop": _size(want.shape)}))
            if len(want.shape) > 1:
                steps.append(("buffer.reshape", {"shape": ", ".join(map(str, want.shape))}))
        for type_id, parameters in steps:
            node = self._add(type_id, scope, parameters)
            self.patch.connect(port, node["x"])
            port = node["out"]
        return port

    def _made(self, want: Want, scope: str) -> PortRef:
        """Return the output of new blocks that fits a want."""
        shape, text = want.shape, ", ".join(map(str, want.shape))
        dtype = None if want.dtype == "Particle" else dtype_called(want.dtype)
        if dtype is None:
            node = self._add("particles.emitter", scope, self._parameters("particles.emitter", {"count": shape[0]}))
            if self.maybe(0.7):
                self.patch.set(node, rate=self.any_of((100.0, 5000.0)))
            return node["particles"]
        if self.maybe(0.1):
            return self._add("buffer.state", scope, {"shape": text, "dtype": want.dtype})["out"]
        if want.dtype in NUMBERS and self.maybe(0.12):
            value = self.any_of((0.0, 1.0, 1.0, 2.5, -3.0, 300.0))
            return self._add("buffer.constant", scope, {"shape": text, "dtype": want.dtype, "value": value})["out"]
        if want.dtype == "f32" and self.maybe(0.15):
            given = {"shape": text, "changing": self.maybe()}
            return self._add(self.any_of(("random.uniform", "random.normal")), scope, given)["out"]
        if want.dtype == "float4" and len(shape) == 2:
            if self.maybe(0.4):
                kind = self.any_of(("image.noise", "image.checkerboard", "image.gradient"))
                given = self._parameters(kind, {"height": shape[0], "width": shape[1]})
                return self._add(kind, scope, given)["out"]
            pixels = numbers(self.chance, np.dtype("f4"), (*shape, self.any_of((3, 4))))
            return self._add("io.image_array", scope, {"data": pixels})["out"]
        base = dtype.of if dtype.of is not None else dtype
        if want.dtype == "bf16":
            source = self._add("io.array", scope, {"data": numbers(self.chance, np.dtype("f4"), shape)})
            made = self._add("buffer.convert", scope, {"dtype": "bf16"})
        else:
            several = (*shape[:-1], shape[-1] * (dtype.components if dtype.of is not None else 1))
            data = numbers(self.chance, base.numpy, several)
            if dtype.of is None:
                if self.maybe(0.1) and data.dtype.kind != "c":
                    return self._add("io.external", scope, {"array": self.materials.lend(data)})["out"]
                return self._add("io.array", scope, {"data": data})["out"]
            source = self._add("io.array", scope, {"data": data})
            made = self._add("buffer.reinterpret", scope, {"dtype": want.dtype})
        self.patch.connect(source["out"], made["x"])
        return made["out"]

    # Parameters

    def _parameters(self, type_id: str, fixed: dict[str, Any]) -> dict[str, Any]:
        """Return parameters for a new block; the others keep their defaults."""
        block_type = self.patch.catalogue.require(type_id)
        found: dict[str, Any] = {}
        for name, spec in block_type.parameters.items():
            if name in fixed:
                value = fixed[name]
                if isinstance(value, Want):
                    data = numbers(self.chance, dtype_called(value.dtype).numpy, value.shape)
                    value = data if spec.type == "array" else self.materials.lend(data)
                found[name] = value
            elif self.maybe(0.4) and (value := self._value(spec, type_id)) is not None:
                found[name] = value
        return found

    def _value(self, spec: Any, type_id: str) -> Any:
        """Return a random value of a parameter; None if its value must fit other values."""
        if spec.choices:
            return self.any_of(spec.choices)
        if spec.type == "bool":
            return None if spec.structural and spec.name in _KEPT else self.maybe()
        if spec.type not in ("float", "int") or (spec.structural and spec.type == "int" and spec.name != "seed"):
            return None
        low, high = spec.minimum, spec.maximum
        if low is None or high is None:
            low, high = -4.0, 4.0
        cap = _CAPS.get(spec.name)
        if cap is not None and not type_id.startswith("value."):
            high = min(high, cap)
        near_low, near_high = max(low, -8.0), min(high, 8.0)
        if near_low > near_high:
            near_low, near_high = low, high
        if spec.type == "int":
            return int(
                self.any_of((low, high, *(self.chance.randint(int(near_low), int(near_high)) for _ in range(8))))
            )
        return float(self.any_of((low, high, *(self.chance.uniform(near_low, near_high) for _ in range(8)))))

    def _live(self) -> list[tuple[str, Any]]:
        """Return the live numbers of all nodes."""
        return [
            (node, spec)
            for node, block_type in self._types()
            for spec in block_type.parameters.values()
            if not spec.structural and spec.type in ("float", "int", "bool") and spec.name != "limit"
        ]

    def _drive(self, node: str) -> None:
        """Connect a value to a parameter: a value block drives others, and any other block is driven."""
        block_type = self.patch.block_type(node)
        assert block_type is not None
        targets = self._live()
        if block_type.values_out:
            sources = [PortRef(node, spec.name) for spec in block_type.value_outputs()]
            targets = [item for item in targets if item[0] != node]
        else:
            found = (pair for pair in self._types() if pair[1].values_out)
            sources = [PortRef(n, spec.name) for n, b in found for spec in b.value_outputs()]
            targets = [item for item in targets if item[0] == node]
        if sources and targets:
            target, spec = self.any_of(targets)
            self.patch.connect(self.any_of(sources), PortRef(target, spec.name))

    # Edits

    def edit(self) -> tuple[str, list[Message]]:
        """Do one random edit; return its kind, and messages for the engine."""
        kinds = {
            self._set_live: 6,
            self._set_structure: 2,
            self._set_data: 3,
            self._rewire: 3,
            self._unplug: 1,
            self._remove: 2,
            self._more: 3,
            self._move: 2,
            self._undo: 3,
            self._redo: 1,
            self._watch: 1,
        }
        act = self.chance.choices(list(kinds), list(kinds.values()))[0]
        name = act.__name__.strip("_")
        if act in (self._undo, self._redo):
            act()
            self._learn()
        elif act is self._more:
            self.grow(self.any_of(self._chosen))
        else:
            self._attempt(name, name, act, sound=self.maybe(0.85))
        said: list[Message] = []
        if self.maybe(0.3):
            said.append(
                SetInput(self.any_of(("key.a", "key.b", "mouse.x", "mouse.y", "mouse.left")), float(self.maybe()))
            )
        return name, said

    def _set_live(self) -> None:
        found = self._live()
        if found:
            node, spec = self.any_of(found)
            value = self._value(spec, self.patch.nodes[node].type)
            if spec.name == "count" and self.patch.nodes[node].type == "control.for":
                value = self.chance.randrange(5)
            self.patch.set(node, **{spec.name: value})

    def _set_structure(self) -> None:
        """Give a block the parameters of another recipe of its type."""
        chosen = [node for node, _ in self._types() if self.patch.nodes[node].type in TYPES]
        if chosen:
            node = self.any_of(chosen)
            type_id = self.patch.nodes[node].type
            self.patch.set(node, **self._parameters(type_id, TYPES[type_id](self).parameters))

    def _set_data(self) -> None:
        """Give an array other numbers, mostly of the same shape."""
        found = [n for n, b in self._types() if b.id in ("io.array", "io.image_array", "io.external")]
        if not found:
            return
        node = self.any_of(found)
        kind = self.patch.nodes[node].type
        if kind == "io.external":
            layout = self.layouts.get(PortRef(node, "out"))
            if layout is not None:
                self.patch.set(node, array=self.materials.lend(numbers(self.chance, layout.dtype.numpy, layout.shape)))
            return
        old = self.patch.value(node, "data")
        shape = old.shape if self.maybe(0.8) else (*old.shape[:-2], *(self.edge() for _ in old.shape[-2:]))
        if kind == "io.image_array":
            shape = (*shape[:2], old.shape[-1])
        self.patch.set(node, data=numbers(self.chance, old.dtype, shape))

    def _connections(self) -> list[Connection]:
        return sorted(self.patch.connections, key=str)

    def _rewire(self) -> None:
        if not self._connections():
            return
        old = self.any_of(self._connections())
        layout = self.layouts.get(old.source)
        others = [port for port, other in self.layouts.items() if layout is not None and _same(layout, other)]
        if not others or self.maybe(0.1):
            others = list(self.layouts)
        if others and not self.patch.is_value_connection(old):
            self.patch.connect(self.any_of(others), old.target)

    def _unplug(self) -> None:
        if self._connections():
            self.patch.disconnect(self.any_of(self._connections()))

    def _remove(self) -> None:
        if len(self.patch.nodes) > 2:
            self.patch.remove(self.any_of(list(self.patch.nodes)))

    def _more(self) -> None:
        """Do nothing: only the name of this method is used."""

    def _move(self) -> None:
        movable = [node for node in self.patch.nodes if not self.patch.block_type(node).is_value]  # type: ignore[union-attr]
        if movable:
            chosen = self.chance.sample(movable, min(len(movable), self.any_of((1, 1, 2))))
            self.patch.move_into(chosen, self._any_scope())

    def _undo(self) -> None:
        for _ in range(self.any_of((1, 1, 2, 3))):
            self.patch.undo()

    def _redo(self) -> None:
        self.patch.redo()

    def _watch(self) -> None:
        """Add or remove a sentinel of a connection."""
        if self.patch.sentinels and self.maybe(0.4):
            self.patch.remove_sentinel(self.any_of(sorted(self.patch.sentinels, key=str)))
            return
        wires = [c for c in self._connections() if not self.patch.is_value_connection(c)]
        if wires:
            self.patch.set_sentinel(self.any_of(wires), minimum=self.any_of((None, -1.0)))


def _same(one: Layout, other: Layout) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape


def _fits(layout: Layout, want: Want) -> bool:
    return layout.dtype.__name__ == want.dtype and layout.shape == want.shape and layout.strides is None


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))


def _without_numbers(text: str) -> str:
    """Return a message without its numbers, so that it can be counted."""
    return re.sub(r"\b[a-z_]+[0-9_]*\.[a-z_0-9.]+\b", "PORT", re.sub(r"\d+", "N", text))[:110]
