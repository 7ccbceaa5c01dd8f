"""Random edits of patches of library blocks, with f32 numbers of every kind."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tests.runtime.small_blocks  # defines block types
import tests.runtime.values.value_blocks  # noqa: F401
from warploom import Patch
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.editing.history import History
from warploom.engine.types import Array

#: Zeros (often, since they decide conditions), the smallest and largest denormals and normals, infinities, and NaNs
#: that are quiet, signalling or negative.
BITS = (0, 0x80000000) * 4 + (1, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000)
BITS += (0xFF800000, 0x7FC00000, 0xFFC00000, 0x7FC12345, 0x7F800001, 0xFF812345, 0x3F800000, 0xBF800000, 0x3DCCCCCD)
SPECIAL = np.array(BITS, np.uint32).view(np.float32)
#: Values of live parameters, without infinities and NaNs.
FINITE = (0.0, -0.0, 1.0, -1.0, 0.1, 3.0, -7.5, 1e-45, -1e-45, 1.17e-38, 5e-324, 1e-30, 3.4e38, -3e38, 1e9, -1e9)
SHAPES = ((1,), (2,), (5,), (64,), (257,), (1, 1), (3, 4), (4, 3), (2, 31))
REGIONS = ("control.if", "control.if_else", "control.for", "control.while")
#: Live parameters by block type.
LIVE: Mapping[str, tuple[str, ...]] = {
    "math.saxpy": ("a",),
    "math.scale_offset": ("scale", "offset"),
    "math.compare": ("value",),
    "test_small.bump": ("amount",),
    "test_values.keep": ("least",),
    "buffer.constant": ("value",),
    "control.every": ("period",),
    "control.for": ("count", "limit"),
    "control.while": ("limit",),
}
#: Blocks with their inputs in order, and whether all inputs must have the shape of the first one.
TAKES: Mapping[str, tuple[tuple[str, ...], bool]] = {
    "math.add": (("x", "y"), True),
    "math.multiply": (("x", "y"), True),
    "math.saxpy": (("x", "y"), True),
    "math.scale_offset": (("x",), False),
    "math.compare": (("x",), False),
    "buffer.copy": (("x",), False),
    "buffer.slice": (("x",), False),
    "buffer.reshape": (("x",), False),
    "buffer.transpose": (("x",), False),
    "buffer.assign": (("target", "value"), True),
    "buffer.frame_delay": (("x", "like"), True),
    "control.select": (("a", "b"), True),
    "reduce.sum": (("x",), False),
    "reduce.largest": (("x",), False),
    "reduce.smallest": (("x",), False),
    "reduce.count": (("x",), False),
    "test_small.bump": (("x",), False),
    "test_values.keep": (("x",), False),
    "test_values.negate": (("x",), False),
}
SOURCES = ("io.array", "io.array", "buffer.constant", "buffer.state", "control.every")
EDITS = ("live",) * 5 + ("contents",) * 3 + ("grow",) * 4 + ("rewire",) * 3 + ("region",) * 2
EDITS += ("move", "move", "remove", "element", "cut", "cut", "feed_back", "undo", "undo", "redo")


class Editor:
    """Edits a patch as a person might who sees the contents of ports; some edits leave it unable to run."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.patch = Patch()
        self.patch.history = History(limit=1 << 20)  # undo always leads back to a patch that could run
        self._numbers = np.random.default_rng(seed)
        self._made = 0
        self._arrays: Callable[[PortRef], Array] | None = None
        for kind in SOURCES:
            self._source(kind)

    def see(self, arrays: Callable[[PortRef], Array]) -> None:
        """Note the contents of all ports."""
        self._arrays = arrays

    def grow(self) -> None:
        """Add a block or a region."""
        self.edit("region" if self.chance.random() < 0.3 else "grow")

    def edit(self, kind: str = "") -> str:
        """Do one edit and return its name; an edit that the patch refuses changes nothing."""
        kind = kind or self.chance.choice(EDITS)
        try:
            if kind in ("undo", "redo"):
                getattr(self.patch, kind)()
            else:
                with self.patch.edit(kind):
                    getattr(self, f"_{kind}")()
        except PatchError:
            return f"no {kind}"
        return kind

    # Values

    def _live(self) -> None:
        """Move a slider."""
        node = self._one_of(*LIVE)
        kind = self.patch.nodes[node].type
        name = self.chance.choice(LIVE[kind])
        if kind.startswith("control."):
            self.patch.set(node, **{name: self.chance.choice((1, 2, 3))})
        else:
            self.patch.set(node, **{name: self.chance.choice(FINITE)})

    def _contents(self) -> None:
        """Give a source other numbers, mostly of the same shape."""
        node = self._one_of("io.array", "buffer.constant")
        kind = self.patch.nodes[node].type
        if kind == "io.array" and self.chance.random() < 0.7:
            self.patch.set(node, data=self._array(self.patch.value(node, "data").shape))
        else:
            self.patch.set(node, **self._values_of(kind))

    def _element(self) -> None:
        """Choose another element as the condition."""
        self.patch.set(self._one_of("control.if", "control.if_else", "control.while"), element=self.chance.randrange(3))

    def _cut(self) -> None:
        """Move a slice, possibly outside of its input."""
        self.patch.set(self._one_of("buffer.slice"), start=self.chance.randrange(3), step=self.chance.choice((1, 2)))

    # Structure

    def _grow(self) -> None:
        """Add a block, in any scope, that reads existing outputs."""
        kind = self.chance.choice((*TAKES, *TAKES, *sorted(set(SOURCES))))
        if kind in SOURCES:
            self._source(kind)
            return
        inputs, alike = TAKES[kind]
        first = self._any_port(*(["f4"] if kind.startswith(("math.", "test_")) and kind != "math.compare" else []))
        node = self._add(kind, **self._values_of(kind), region=self.chance.choice(self._scopes()))
        for name in inputs:
            source = first if name == inputs[0] or not alike else self._any_port(like=first)
            self.patch.connect(source, PortRef(node, name))
        if kind == "control.select":
            self._decide(node)
        if kind == "test_values.keep":
            digest = self._add("test_values.digest", region=self.patch.nodes[node].region)
            self.patch.connect(PortRef(node, "out"), PortRef(digest, "x"))
            self.patch.connect(PortRef(node, "out_count"), PortRef(digest, "count"))

    def _region(self) -> None:
        """Put some blocks into a new region, whose condition may be a view."""
        kind = self.chance.choice(REGIONS)
        region = self._add(kind, **self._values_of(kind), region=self.chance.choice(self._scopes()))
        if kind != "control.for":
            self._decide(region)
        elif self.chance.random() < 0.5:
            self.patch.connect(self._any_port(), PortRef(region, "counts"))
        self._move_to(region)

    def _feed_back(self) -> None:
        """Connect a delay to another source of its shape, possibly one that depends on the delay."""
        delay = PortRef(self._one_of("buffer.frame_delay"), "x")
        self.patch.connect(self._any_port(like=PortRef(delay.node, "out")), delay)

    def _rewire(self) -> None:
        """Connect an input to another source."""
        free = sorted((c for c in self.patch.connections if c.target.node.split("_")[0] != "digest"), key=str)
        if not free:
            raise PatchError("patch must have a connection, got none")
        old = self.chance.choice(free)
        self.patch.connect(self._any_port(like=old.source), old.target)

    def _remove(self) -> None:
        """Delete a block that feeds nothing, or a region around others."""
        feeding = {connection.source.node for connection in self.patch.connections}
        around = {node.region.split(".")[0] for node in self.patch.nodes.values() if node.type == "buffer.frame_delay"}
        left = sorted(self.patch.nodes.keys() - feeding - around)
        if left and len(self.patch.nodes) > 8:
            self.patch.remove(self.chance.choice(left))

    def _move(self) -> None:
        """Move blocks into a region or out of one."""
        self._move_to(self.chance.choice(self._scopes()))

    def _move_to(self, scope: str) -> None:
        # The contents of a delay belong to the iterations of its scope.
        fixed = ("buffer.frame_delay", "control.every")
        movable = sorted(node.id for node in self.patch.nodes.values() if node.type not in fixed)
        self.patch.move_into(self.chance.sample(movable, self.chance.choice((1, 1, 2, 3))), scope)

    # Helpers

    def _source(self, kind: str) -> None:
        self._add(kind, **self._values_of(kind))

    def _values_of(self, kind: str) -> dict[str, Any]:
        shape = self.chance.choice(SHAPES)
        match kind:
            case "io.array":
                return {"data": self._array(shape)}
            case "buffer.constant":
                return {"shape": ", ".join(map(str, shape)), "value": self.chance.choice(FINITE[:12])}
            case "buffer.state":
                return {"shape": ", ".join(map(str, shape))}
            case "buffer.slice":
                start, step = self.chance.randrange(3), self.chance.choice((1, 2))
                return {"axis": self.chance.choice((0, -1)), "start": start, "step": step}
            case "buffer.frame_delay":
                return {"initial": self.chance.choice(FINITE[:12])}
            case "math.compare":
                from_all = ("less", "less or equal", "equal", "not equal", "greater or equal", "greater")
                return {"operation": self.chance.choice(from_all), "value": self.chance.choice(FINITE[:12])}
            case "control.every":
                return {"period": 2}
            case "control.for":
                return {"count": 2, "limit": 3}
            case "control.while":
                return {"limit": self.chance.randrange(4), "element": self.chance.choice((0, 0, 1))}
            case "control.if" | "control.if_else":
                return {"element": self.chance.choice((0, 0, 1, 2))}
        return {}

    def _array(self, shape: tuple[int, ...]) -> Array:
        ordinary = self._numbers.normal(size=shape).astype(np.float32)
        special = SPECIAL[self._numbers.integers(0, SPECIAL.size, shape)]
        return np.where(self._numbers.random(shape) < 0.6, special, ordinary)

    def _decide(self, node: str) -> None:
        """Connect a condition, mostly a view of floats."""
        source = self._any_port()
        if self.chance.random() < 0.5:
            view = self._add("buffer.slice", **self._values_of("buffer.slice"))
            self.patch.connect(source, PortRef(view, "x"))
            source = PortRef(view, "out")
        self.patch.connect(source, PortRef(node, "condition"))

    def _add(self, kind: str, **values: Any) -> str:
        self._made += 1
        return self.patch.add(kind, node_id=f"{kind.rpartition('.')[2]}_{self._made}", **values).id

    def _one_of(self, *kinds: str) -> str:
        nodes = sorted(node.id for node in self.patch.nodes.values() if node.type in kinds)
        if not nodes:
            raise PatchError(f"patch must have a node of {', '.join(kinds)}, got none")
        return self.chance.choice(nodes)

    def _scopes(self) -> list[str]:
        regions = [node for node in self.patch.nodes.values() if node.type in REGIONS]
        return sorted(
            [*[""] * 3, *(r.id for r in regions), *(f"{r.id}.else" for r in regions if r.type == "control.if_else")]
        )

    def _any_port(self, *dtypes: str, like: PortRef | None = None) -> PortRef:
        """Return an output of these types, or of another port's type and mostly its shape."""
        ports = [
            PortRef(node.id, spec.name)
            for _, node in sorted(self.patch.nodes.items())
            if (block := self.patch.block_type(node.id)) is not None and node.type != "test_values.keep"
            for spec in block.outputs()
        ]
        if self._arrays is None or (like is not None and self.chance.random() < 0.05):
            return self.chance.choice(ports)
        held = {port: self._arrays(port) for port in ports if self._is_seen(port)}
        wanted = self._arrays(like) if like is not None and self._is_seen(like) else None
        fitting = [
            port
            for port, array in held.items()
            if (not dtypes or array.dtype in dtypes)
            and (wanted is None or (array.dtype, array.shape) == (wanted.dtype, wanted.shape))
        ]
        return self.chance.choice(fitting[-6:] if fitting and self.chance.random() < 0.5 else fitting or ports)

    def _is_seen(self, port: PortRef) -> bool:
        assert self._arrays is not None
        try:
            return self._arrays(port) is not None
        except KeyError:  # the node was placed after `see`
            return False
