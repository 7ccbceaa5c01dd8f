"""Random edits of a whole patch, of every kind with a cost, each with the levels that it may cost."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.runtime.update.update_kinds import (
    CODE,
    COLD,
    HOT,
    LIVE,
    NONE,
    RESIZED,
    SAME,
    SIZES,
    STRUCTURE,
    UNARY,
    WARM,
    WIDER,
    Levels,
)
from tests.runtime.update.update_support import Sources
from warploom import Patch, ProfilingLevel
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.changes import Change, Connection, PortRef
from warploom.engine.patch.document import NodeRef
from warploom.engine.patch.editing.history import History
from warploom.engine.patch.regions import scope_text
from warploom.engine.protocol.messages import BufferReport, Message, Reset, SetProfiling


@dataclass
class Done:
    """An edit: its kind, the levels it may cost, and its messages."""

    name: str
    levels: Levels
    messages: list[Message] = field(default_factory=list)


class Editor:
    """Edits a patch as a person might who sees the contents of ports; some edits leave it unable to run."""

    def __init__(self, seed: int, sources: Sources, lent: list[object]) -> None:
        self.chance = random.Random(seed)
        self.patch = Patch()
        self.patch.history = History(limit=1 << 20)  # undo always leads back to a patch that could run
        self.profiling = ProfilingLevel.PER_BLOCK
        self._sources = sources
        self._lent = lent
        self._made = self._changes = 0
        self._undoable: list[Levels] = []
        self._redoable: list[Levels] = []
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._wider = False
        for kind in ("test_small.make", "test_run.count", "buffer.constant", "io.array", "io.external"):
            self._source_block(kind)
        for kind in UNARY:
            # A buffer that is changed in place has no other reader at first, so that the order allows the change.
            source = "constant3" if kind == "test_small.bump" else self.chance.choice(("make1", "count2", "array4"))
            self.patch.connect(PortRef(source, "out"), self._add(kind)["x"])
        self._add("control.every", period=2)
        self.patch.subscribe(self._count)
        self.edit(("add_region",))

    def take_back(self) -> None:
        """Undo one edit, since the patch can't run; there must be one."""
        assert self._undoable and self.patch.history.undo_name, "the patch must be able to run at first"
        self.edit(("undo",))

    def _count(self, _: Change) -> None:
        self._changes += 1

    def see(self, buffers: Mapping[str, BufferReport]) -> None:
        """Note the shapes of all ports."""
        self._shapes = {port: buffer.shape for port, buffer in buffers.items()}

    def edit(self, kinds: tuple[str, ...]) -> Done:
        """Do one edit of one of these kinds; an edit that the patch refuses changes nothing."""
        kind, before = self.chance.choice(kinds), self._changes
        try:
            with self.patch.edit(kind):
                done: Done = getattr(self, kind)()
        except PatchError:
            return Done(kind, frozenset({NONE}))
        if kind not in ("undo", "redo") and self._changes > before:
            self._undoable.append(done.levels)
            self._redoable.clear()
        return done

    # Values

    def live(self) -> Done:
        """Move a slider."""
        node = self._one_of(*LIVE)
        name = self.chance.choice(LIVE[self.patch.nodes[node].type])
        old = self.patch.value(node, name)
        value = self.chance.choice([v for v in (1, 2, 3, 4, -2, 0) if v != old])
        if self.patch.nodes[node].type in ("control.for", "control.every"):
            value = self.chance.choice([v for v in (1, 2, 3, 4) if v != old])
        self.patch.set(node, **{name: value})
        return Done(f"live {node}.{name}", frozenset({HOT}))

    def size(self) -> Done:
        """Make a source larger or smaller."""
        node = self._one_of("test_small.make", "test_run.count", "buffer.constant", "io.array")
        size = self.chance.choice(SIZES)
        self.patch.set(node, **self._sized(self.patch.nodes[node].type, size))
        return Done(f"size {node} {size}", RESIZED)

    def array(self) -> Done:
        """Give an array other numbers of the same shape."""
        node = self._one_of("io.array")
        size = self.patch.value(node, "data").size
        self.patch.set(node, data=self._numbers(size))
        return Done(f"array {node}", frozenset({NONE, WARM}))

    def rebind(self) -> Done:
        """Use another one of the user's arrays; one of another size costs more."""
        node = self._one_of("io.external")
        self.patch.set(node, array=self.chance.choice(self._lent))
        return Done(f"rebind {node}", RESIZED)

    def cut(self) -> Done:
        """Move a slice, possibly outside of its input."""
        node = self._one_of("buffer.slice")
        self.patch.set(node, start=self.chance.choice((0, 0, 1, 2)))
        return Done(f"cut {node}", RESIZED)

    # Structure

    def grow(self) -> Done:
        """Add a block that reads an existing output."""
        kind = self.chance.choice((*UNARY, "math.saxpy", "math.add", "buffer.assign", "test_small.make", "io.external"))
        if kind in ("test_small.make", "io.external"):
            self._source_block(kind)
        elif kind in UNARY:
            self._unary(kind)
        else:
            first, second = ("target", "value") if kind == "buffer.assign" else ("x", "y")
            x = self._any_port()
            y = self._any_port(like=x)
            node = self._add(kind)
            self.patch.connect(x, node[first])
            self.patch.connect(y, node[second])
        return Done(f"grow {kind}", STRUCTURE)

    def open(self) -> Done:
        """Place a block without connections."""
        node = self._add(self.chance.choice(("test_run.scale", "math.add")))
        return Done(f"open {node.id}", STRUCTURE)

    def rewire(self) -> Done:
        """Connect an input to another source."""
        old = self._any_connection()
        self.patch.connect(self._any_port(like=old.source), old.target)
        return Done(f"rewire {old.target}", STRUCTURE)

    def unplug(self) -> Done:
        """Remove a connection; its target may need it."""
        old = self._any_connection()
        self.patch.disconnect(old)
        return Done(f"unplug {old}", STRUCTURE)

    def _any_connection(self) -> Connection:
        if not self.patch.connections:
            raise PatchError("patch must have a connection to take, got none")
        return self.chance.choice(sorted(self.patch.connections, key=str))

    def remove(self) -> Done:
        """Delete a block that feeds nothing, or a region around others."""
        feeding = {connection.source.node for connection in self.patch.connections}
        keep = (
            "control.every",
            "io.array",
            "io.external",
            "buffer.slice",
            "test_run.scale",
            "test_run.count",
            "test_small.make",
        )
        left = [n.id for n in self.patch.nodes.values() if n.id not in feeding and n.type not in keep]
        if left and len(self.patch.nodes) > 12:
            self.patch.remove(self.chance.choice(sorted(left)))
        return Done("remove", STRUCTURE)

    def add_region(self) -> Done:
        """Put one or two blocks into a new region."""
        kind = self.chance.choice(("control.for", "control.if", "control.if_else", "control.switch"))
        region = self._add(kind, **({"count": 2} if kind == "control.for" else {}))
        if kind != "control.for":
            port = "index" if kind == "control.switch" else "condition"
            self.patch.connect(PortRef(self._one_of("control.every"), "due"), region[port])
        self._move_to(region.id)
        return Done(f"add {kind}", STRUCTURE)

    def move(self) -> Done:
        """Move a block into a region or out of one."""
        regions = [
            n.id for n in self.patch.nodes.values() if n.type.startswith("control.") and n.type != "control.every"
        ]
        scopes = ["", *(scope for region in regions for scope in self._scopes(region))]
        self._move_to(self.chance.choice(sorted(scopes)))
        return Done("move", STRUCTURE)

    def _scopes(self, region: str) -> list[str]:
        block_type = self.patch.block_type(region)
        return [scope_text(region, branch) for branch in block_type.regions] if block_type is not None else []

    def order(self) -> Done:
        """Let a block run before another one, or remove the order of two."""
        first, then = self.chance.sample(sorted(self.patch.nodes), 2)
        if (first, then) in self.patch.orders:
            self.patch.remove_order(first, then)
        else:
            self.patch.order(first, then)
        return Done(f"order {first} {then}", STRUCTURE)

    def _move_to(self, scope: str) -> None:
        # A delay's contents belong to the iterations of its scope.
        fixed = ("buffer.frame_delay", "control.every")
        movable = sorted(n.id for n in self.patch.nodes.values() if n.type not in fixed)
        self.patch.move_into(self.chance.sample(movable, self.chance.choice((1, 1, 2))), scope)

    # History

    def undo(self) -> Done:
        """Undo the last edit."""
        if not self._undoable:
            return Done("undo", frozenset({NONE}))
        levels = self._undoable.pop()
        self._redoable.append(levels)
        return Done(f"undo {self.patch.undo()}", levels | {NONE})

    def redo(self) -> Done:
        """Redo an edit."""
        if not self._redoable:
            return Done("redo", frozenset({NONE}))
        levels = self._redoable.pop()
        self._undoable.append(levels)
        return Done(f"redo {self.patch.redo()}", levels | {NONE})

    # The engine

    def save_kernel(self) -> Done:
        """Save a kernel file with other code and the same parameters."""
        name = self.chance.choice(sorted(SAME))
        was_wider = self._wider and name == "scale.cu"
        text = self.chance.choice([t for t in SAME[name] if t != self._sources.text(name)])
        self._wider = self._wider and not was_wider
        return Done(f"save {name}", frozenset({COLD if was_wider else CODE}), [self._sources.save(name, text)])

    def save_wider(self) -> Done:
        """Save a kernel file whose parameters have other offsets."""
        if self._wider or "scale.cu" in self._sources.broken:
            return Done("save", frozenset({NONE}))
        self._wider = True
        return Done("save wider", frozenset({COLD}), [self._sources.save("scale.cu", WIDER)])

    def save_broken(self) -> Done:
        """Save a kernel file that does not compile."""
        name = self.chance.choice(sorted(SAME))
        return Done(f"break {name}", frozenset({NONE}), [self._sources.save(name, "broken", compiles=False)])

    def profile(self) -> Done:
        """Choose another profiling level."""
        levels = [level for level in ProfilingLevel if level is not self.profiling]
        self.profiling = self.chance.choice(levels)
        return Done(f"profile {self.profiling.name}", frozenset({NONE}), [SetProfiling(self.profiling)])

    def reset(self) -> Done:
        """Reset the engine."""
        return Done("reset", frozenset({NONE}), [Reset()])

    # Helpers

    def _one_of(self, *types: str) -> str:
        """Return a node of one of these types; PatchError if there is none."""
        nodes = sorted(node.id for node in self.patch.nodes.values() if node.type in types)
        if not nodes:
            raise PatchError(f"patch must have a node of {', '.join(types)}, got none")
        return self.chance.choice(nodes)

    def _sized(self, kind: str, size: int) -> dict[str, Any]:
        """Return the parameters that make a source of this many elements."""
        if kind == "io.array":
            return {"data": self._numbers(size)}
        if kind == "buffer.constant":
            return {"shape": str(size)}
        return {"size" if kind == "test_run.count" else "count": size}

    def _source_block(self, kind: str) -> NodeRef:
        if kind == "io.external":
            return self._add(kind, array=self.chance.choice(self._lent))
        return self._add(kind, **self._sized(kind, self.chance.choice(SIZES)))

    def _unary(self, kind: str) -> None:
        source = self._any_port()
        self.patch.connect(source, self._add(kind)["x"])

    def _numbers(self, size: int) -> np.ndarray[Any, Any]:
        return np.array([self.chance.randrange(-8, 9) for _ in range(size)], np.float32)

    def _add(self, type_id: str, **values: Any) -> NodeRef:
        self._made += 1
        return self.patch.add(type_id, node_id=f"{type_id.rpartition('.')[2]}{self._made}", **values)

    def _any_port(self, like: PortRef | None = None) -> PortRef:
        """Return an output of numbers, mostly of the same shape as `like`."""
        other = ("control.every", "control.for", "control.if", "control.if_else", "control.switch")
        ports = [PortRef(node.id, "out") for _, node in sorted(self.patch.nodes.items()) if node.type not in other]
        if like is not None and self.chance.random() < 0.9:
            shape = self._shapes.get(str(like))
            ports = [port for port in ports if self._shapes.get(str(port)) == shape] or ports
        return self.chance.choice(ports)
