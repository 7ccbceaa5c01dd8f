"""Blocks whose code is set by a test, and an engine to run them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.runtime.small_blocks import bump
from warploom import Engine, Patch
from warploom.api import (
    Block,
    BlockBuilder,
    Kernel,
    ReinterpretView,
    ReshapeView,
    SliceView,
    TransposeView,
    any_type,
    f32,
    u8,
    u32,
)
from warploom.engine.descriptions.entries import StatusKind
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.diagnostics import Diagnostic, Severity
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import NodeState
from warploom.engine.runtime.check.check_patch import check_patch
from warploom.engine.user_code.limits import TimeLimits

NOTHING = Path(__file__).parent / "nothing.cu"


Action = Callable[[Any, BlockBuilder], object]


#: The current `describe` of the block under test.
action: list[Action] = [lambda block, build: None]


class Evil:
    """An object whose special methods all fail."""

    def fail(self, *_: object) -> Any:
        raise ZeroDivisionError("evil")

    __repr__ = __str__ = __index__ = __float__ = __len__ = __iter__ = __eq__ = __bool__ = fail
    __hash__ = __add__ = __radd__ = __getitem__ = fail  # type: ignore[assignment]


class Whole(int):
    """An integer that is never equal to another."""

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError("whole")

    __hash__ = int.__hash__


#: Values that an author may pass, as functions of the block and its builder.
THINGS: list[Action] = [
    *[
        (lambda block, build, value=value: value)  # type: ignore[misc]
        for value in (
            *(None, True, False, -1, 0, 1, 2, 3, 300, 2**50, 2**63, 10**30, Whole(2), Evil()),
            *(
                0.5,
                4.0,
                -0.0,
                float("nan"),
                float("inf"),
                1j,
                np.float32(2),
                np.int64(3),
                np.uint8(200),
                np.bool_(True),
            ),
            *("", "x", "out", "[1]", "[n]", "[q]", "same(x)", "[x.size * 2]", "[2 ** 40]", "[5000, 5000, 5000]"),
            *("scalar", "data", "view", "\0", "\ud800", "a\nb", "[" * 300, "x" * 9000, b"bytes", "ünïcode", "[0]"),
            *((), (1,), [2, 3], (32.0,), (1, 2, 3, 4), (-1, 4), {}, {1}, range(3), "[1 // 0]"),
            *(float, int, f32, u8, u32, any_type),
            *(Extent("out.size"), Extent("out.dim7"), Extent("nobody"), Extent("1 // 0")),
            *(Extent(5), Extent("(" * 250), Kernel("nowhere.cu", "no"), Kernel(str(NOTHING), "no"), object(), print),  # type: ignore[arg-type]
            *(np.ones(3, np.float32), np.ones((0, 2)), np.array([object()]), np.ones(2, "f2"), np.array("text")),
            np.ma.array([1.0, 2.0, 3.0], "f4", mask=[False, True, False]),
            *(SliceView(0, 1), ReshapeView((-1,)), ReshapeView((-7, 0)), TransposeView((0,)), ReinterpretView(u8)),
            *(StatusKind.APPENDED, "appended", Path("a/b"), Kernel(str(NOTHING), "nothing"), Kernel("k" * 300, "x")),
            *(Block, BlockBuilder.frame),
        )
    ],
    *(lambda block, build: block.x, lambda block, build: block.out, lambda block, build: block.a),
    *(lambda block, build: block.n, lambda block, build: block.free),
    *(lambda block, build: block.count, lambda block, build: build, lambda block, build: block),
    *(lambda block, build: block.x.size, lambda block, build: block.out.dim(0) // 2, lambda block, build: block.n / 2),
    *(lambda block, build: build.element_type(block.x), lambda block, build: block.x.size * 10**15),
    *(lambda block, build: block.other.last(2) + 1, lambda block, build: block.x.size % (block.x.size - 3)),
]


def fine(value: object) -> Action:
    """Return a function of block and builder that returns a fixed value."""
    return lambda block, build: value


def own(name: str) -> Action:
    """Return a function that returns one of the block's own handles."""
    return lambda block, build: getattr(block, name)


#: Values that are likely to do harm: huge sizes, and numbers below 0.
HARMFUL: list[Action] = [own("other"), fine(-1), fine(Extent("x.size - 99"))]
THINGS += HARMFUL


class Running:
    """An engine with a good graph, beside which a test's block is placed, run and removed."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Open an engine."""
        self.patch = Patch()
        self.state = bump(self.patch, self.patch.add("buffer.state", shape="3", dtype="f32"))
        self.engine = Engine(self.patch, device="host")
        self.frames = 0
        self.check()

    def hurry(self) -> None:
        """Abandon code early, so that a test of code that does not return is short."""
        for code in (self.engine.core.context.code, self.engine.core.context.services.code):
            code.limits = TimeLimits(0.2, 2.0)

    def check(self) -> dict[str, list[Diagnostic]]:
        """Run a frame, in which the good graph continues; return the errors by node."""
        report = self.engine.step()
        self.frames += 1
        assert self.engine.read(self.state["out"]).tolist() == [self.frames] * 3
        found: dict[str, list[Diagnostic]] = {}
        for item in report.diagnostics:
            if item.severity is Severity.ERROR:
                found.setdefault(str(item.node), []).append(item)
        for node, (first, *_) in found.items():
            assert report.nodes[node].state in (NodeState.ERROR, NodeState.INCOMPLETE) and first.remedy, first
        return found

    def place(self) -> NodeRef:
        """Place the block under test, with an input."""
        node = self.patch.add("test_authors.wild")
        self.patch.connect(self.state["out"], node["x"])
        return node


def try_block(running: Running, act: Action) -> Diagnostic | None:
    """Place a block with this `describe`, run it, check it and remove it; return its error, if any."""
    action[0] = act
    node = running.place()
    try:
        found = running.check()
        assert set(found) <= {node.id}, found
        assert check_patch(running.patch) is not None
        running.check()
    finally:
        running.patch.remove(node)
    assert not running.check()
    return found[node.id][0] if found else None
