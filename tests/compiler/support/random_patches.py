"""Random patches: nested regions, blocks that work in place, views, fan-out, state, delays and append buffers."""

import random
from dataclasses import dataclass, field

import numpy as np

from tests.compiler.support import patch_blocks as blocks
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import ReshapeView, SliceView, TransposeView
from warploom.engine.patch.changes import Connection, PortRef

_MOST_DEPTH = 3


@dataclass(eq=False)
class Output:
    """An output that a later block may read: its shape, whether it is contiguous, and which block made its memory."""

    port: PortRef
    shape: tuple[int, int]
    maker: str
    contiguous: bool = True
    provided: bool = False


@dataclass
class RandomPatch:
    """A description, with the values of its blocks' parameters."""

    description: GraphDescription
    values: dict[str, dict[str, int]] = field(default_factory=dict)


def random_patch(seed: int, size: int, *, plain: bool = False) -> RandomPatch:
    """Return a patch of about `size` blocks, determined by the seed. Some of its blocks may conflict.

    A `plain` one has no regions, no delays and no composites.
    """
    return _Maker(random.Random(seed), plain=plain).make(size)


class _Maker:
    def __init__(self, chance: random.Random, *, plain: bool) -> None:
        self._chance = chance
        self._plain_only = plain
        self._nodes: list[BlockNode] = []
        self._connections: list[Connection] = []
        self._values: dict[str, dict[str, int]] = {}
        self._scope = ""
        #: Composites that should become child graphs where possible.
        self._groups = chance.choice((("",), ("", "", "", "one"), ("one", "two", "three"))) if not plain else ("",)
        #: Whether blocks have state. A buffer that depends on state doesn't share memory.
        self._lasting = chance.random() < 0.6
        #: How often an output is still read after it was changed in place, which may be a conflict.
        self._careless = chance.choice((0.0, 0.0, 0.1, 0.4))

    def make(self, size: int) -> RandomPatch:
        seen: list[Output] = []
        for _ in range(2):
            self._source("", seen)
        self._blocks("", seen, size - 2, 0)
        self._chance.shuffle(self._nodes)
        self._chance.shuffle(self._connections)
        return RandomPatch(GraphDescription(tuple(self._nodes), tuple(self._connections)), self._values)

    def _add(self, scope: str, description: BlockDescription, **inputs: Output) -> str:
        # Names are random, because the compiler orders blocks of one level by name.
        name = f"n{self._chance.randrange(10**6):06}_{len(self._nodes)}"
        group = self._chance.choice(self._groups) if not scope else ""
        self._nodes.append(BlockNode(name, description, scope, group))
        for port, output in inputs.items():
            self._connections.append(Connection(output.port, PortRef(name, port)))
        return name

    def _blocks(self, scope: str, seen: list[Output], size: int, depth: int) -> None:
        """Add blocks to a scope. They may read the outputs in `seen`, to which their own outputs are added."""
        delays: list[tuple[str, Output]] = []
        here = len(seen)
        left = size
        while left > 0:
            self._scope = scope
            kinds = [self._source, self._plain, self._plain, self._plain, self._in_place, self._in_place, self._view]
            kinds += [self._small, self._small]
            if self._lasting:
                kinds += [self._state, self._append]
            if self._lasting and not self._plain_only and self._chance.random() < 0.12:
                self._delay(scope, seen, delays)
                left -= 1
            elif not self._plain_only and depth < _MOST_DEPTH and left > 3 and self._chance.random() < 0.2:
                inside = self._chance.randint(1, min(left - 1, 12))
                self._region(scope, seen, inside, depth)
                left -= inside + 1
            else:
                self._chance.choice(kinds)(scope, seen)
                left -= 1
        for name, like in delays:
            near = seen[here:] if self._chance.random() < 0.7 else seen
            fitting = [o for o in near if o.contiguous and o.shape == like.shape]
            source = self._chance.choice(fitting or [like])
            self._connections.append(Connection(source.port, PortRef(name, "x")))

    # Choosing

    def _any(self, seen: list[Output], *, contiguous: bool = False) -> Output:
        fitting = [output for output in seen if output.contiguous or not contiguous]
        if not fitting:
            return self._fresh_one(self._scope, seen)
        # The latest output makes chains; now and then any output makes fan-out.
        return self._chance.choice(fitting[-4:] if self._chance.random() < 0.6 else fitting)

    def _out(self, seen: list[Output], name: str, shape: tuple[int, int], port: str = "out") -> Output:
        output = Output(PortRef(name, port), shape, name)
        seen.append(output)
        return output

    def _parameter(self, name: str, **values: int) -> None:
        self._values[name] = values

    def _default(self) -> float:
        return self._chance.choice((0.0, 0.0, 1.0, 7.0))

    # Blocks

    def _source(self, scope: str, seen: list[Output]) -> None:
        shape = (self._chance.randint(1, 5), self._chance.choice((1, 2, 3, 8, 31, 64)))
        if self._chance.random() < 0.3:
            contents = np.random.default_rng(self._chance.randrange(1000)).integers(0, 2**32, shape, np.uint32)
            name = self._add(scope, blocks.array(contents))
            self._out(seen, name, shape).provided = True
        else:
            self._out(seen, self._add(scope, blocks.fresh(*shape, self._chance.randrange(99), self._default())), shape)

    def _plain(self, scope: str, seen: list[Output]) -> None:
        kind = self._chance.randrange(4)
        if kind < 2:
            x = self._any(seen)
            name = self._add(scope, blocks.blend(self._default()), x=x, y=self._any(seen))
            self._parameter(name, a=self._chance.randrange(1, 2**32))
        elif kind == 2:
            x = self._any(seen, contiguous=True)
            name = self._add(scope, blocks.mix(), x=x)
        else:
            x = self._any(seen, contiguous=True)
            name = self._add(scope, blocks.copy(), x=x)
        self._out(seen, name, x.shape)

    def _in_place(self, scope: str, seen: list[Output]) -> None:
        fitting = [o for o in seen[-12:] if not o.provided]
        if not fitting:
            return self._plain(scope, seen)
        x = self._chance.choice(fitting)
        others = [o for o in seen if o.maker != x.maker]
        kind = self._chance.randrange(4)
        if kind == 0 and others:
            name = self._add(scope, blocks.absorb(), x=x, y=self._any(others))
        elif kind == 1 and x.contiguous:
            name = self._add(scope, blocks.clear(self._chance.randrange(256)), x=x)
        elif kind == 2 and x.contiguous:
            name = self._add(scope, blocks.count_down(), x=x)
        else:
            name = self._add(scope, blocks.scale(), x=x)
            self._parameter(name, a=self._chance.randrange(1, 2**32))
        if self._chance.random() >= self._careless:
            seen[:] = [o for o in seen if o.maker != x.maker]
        seen.append(Output(PortRef(name, "out"), x.shape, x.maker, x.contiguous))
        return None

    def _view(self, scope: str, seen: list[Output]) -> None:
        x = self._any(seen)
        rows, columns = x.shape
        kind = self._chance.randrange(3)
        if kind == 0 and x.contiguous:
            shape = self._chance.choice(((columns, rows), (1, rows * columns), (rows * columns, 1)))
            name = self._add(scope, blocks.view(ReshapeView(shape)), x=x)
            seen.append(Output(PortRef(name, "out"), shape, x.maker, True, x.provided))
        elif kind == 1:
            name = self._add(scope, blocks.view(TransposeView((1, 0))), x=x)
            flat = 1 in x.shape and x.contiguous
            seen.append(Output(PortRef(name, "out"), (columns, rows), x.maker, flat, x.provided))
        else:
            axis = self._chance.randrange(2)
            size = x.shape[axis]
            start = self._chance.randrange(size)
            stop = self._chance.randint(start + 1, size)
            step = self._chance.choice((1, 1, 2))
            length = len(range(start, stop, step))
            shape = (length, columns) if axis == 0 else (rows, length)
            name = self._add(scope, blocks.view(SliceView(axis, start, stop, step)), x=x)
            whole = x.contiguous and ((axis == 0 and (step == 1 or length == 1)) or shape == x.shape or shape == (1, 1))
            seen.append(Output(PortRef(name, "out"), shape, x.maker, whole, x.provided))

    def _small(self, scope: str, seen: list[Output]) -> None:
        if self._chance.random() < 0.5:
            name = self._add(scope, blocks.total(self._default()), x=self._any(seen))
        else:
            name = self._add(scope, blocks.is_rare(self._chance.randint(1, 4)), x=self._any(seen, contiguous=True))
        self._out(seen, name, (1, 1))

    def _state(self, scope: str, seen: list[Output]) -> None:
        x = self._any(seen, contiguous=True)
        self._out(seen, self._add(scope, blocks.keep(), x=x), x.shape)

    def _append(self, scope: str, seen: list[Output]) -> None:
        x = self._any(seen, contiguous=True)
        modulus = self._chance.randint(1, 4)
        if self._chance.random() < 0.5:  # there may be too many elements, so only the count is deterministic
            name = self._add(scope, blocks.choose(modulus, self._chance.randint(1, 9)), x=x)
            self._out(seen, name, (1, 1), "out_count")
            return
        name = self._add(scope, blocks.choose(modulus, None), x=x)
        data, count = Output(PortRef(name, "out"), x.shape, name), Output(PortRef(name, "out_count"), (1, 1), name)
        self._out(seen, self._add(scope, blocks.sum_first(), x=data, count=count), (1, 1))

    def _delay(self, scope: str, seen: list[Output], delays: list[tuple[str, Output]]) -> None:
        like = self._any(seen, contiguous=True)
        name = self._add(scope, blocks.delay(self._chance.randrange(100)), like=like)
        self._out(seen, name, like.shape)
        delays.append((name, like))

    def _region(self, scope: str, seen: list[Output], size: int, depth: int) -> None:
        kind = self._chance.choice(("if", "if_else", "switch", "while", "for"))
        if kind in ("if", "if_else", "switch"):
            x = self._any(seen, contiguous=True)
            element = self._chance.randrange(x.shape[0] * x.shape[1])
            others = {"if": (), "if_else": ("else",)}.get(kind, ("1", "2", "3")[: self._chance.randint(1, 3)])
            made = blocks.when(element, otherwise=bool(others))
            if kind == "switch":
                made = blocks.switch(element, ("", *others))
            name = self._add(scope, made, condition=x)
            before = list(seen)
            self._blocks(name, seen, size, depth + 1)
            for branch in others:  # branches may change the same memory, since only one runs
                other = list(before)
                self._blocks(f"{name}.{branch}", other, self._chance.randint(1, size), depth + 1)
                seen[:] = [o for o in seen if o in other or o not in before] + [o for o in other if o not in before]
        elif kind == "while":
            fitting = [o for o in seen if o.contiguous and not o.provided] or [self._fresh_one(scope, seen)]
            x = self._chance.choice(fitting[-5:])
            name = self._add(scope, blocks.loop_while(0), condition=x)
            self._parameter(name, limit=self._chance.randint(0, 4))
            counted = self._add(name, blocks.count_down(), x=x)
            if self._chance.random() >= self._careless:
                seen[:] = [o for o in seen if o.maker != x.maker]
            seen += [Output(PortRef(counted, "out"), x.shape, x.maker), Output(PortRef(name, "turns"), (1, 1), name)]
            self._blocks(name, seen, size, depth + 1)
        else:
            counted = {"counts": self._any(seen, contiguous=True)} if self._chance.random() < 0.3 else {}
            name = self._add(scope, blocks.loop_for(), **counted)
            self._parameter(name, count=self._chance.randint(-1, 4), limit=self._chance.randint(1, 5))
            index = Output(PortRef(name, "index"), (1, 1), name, provided=True)
            seen.append(index)
            self._blocks(name, seen, size, depth + 1)

    def _fresh_one(self, scope: str, seen: list[Output]) -> Output:
        return self._out(seen, self._add(scope, blocks.fresh(1, 3, self._chance.randrange(99))), (1, 3))
