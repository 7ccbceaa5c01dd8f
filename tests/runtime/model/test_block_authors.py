"""Any error in a block's code marks only that block; the engine and all other blocks keep running."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from tests.runtime.model.authors import HARMFUL, NOTHING, THINGS, Action, Running, fine, own, try_block
from warploom.api import (
    BlockBuilder,
    Kernel,
    OpGraph,
    OpGraphBuilder,
    ReinterpretView,
    ReshapeView,
    SliceView,
    Struct,
    TransposeView,
    blas,
    describe_for,
    describe_if,
    describe_switch,
    describe_while,
    f32,
    u8,
    u32,
)
from warploom.engine.descriptions.entries import ServedParts, StatusKind

X, OUT, COUNT, FREE = map(own, ("x", "out", "count", "free"))


def _size(block: Any, build: BlockBuilder) -> object:
    return block.x.size


def _word(block: Any, build: BlockBuilder) -> object:
    return build.buffer(f"word{len(build.commit().buffers)}", u32, "[1]")


def _halved() -> OpGraph:
    """Return a graph that writes half of x to out."""
    g = OpGraphBuilder()
    half = g.add("op.multiply", a=g.add("op.input", "x")["value"], b=0.5)
    g.add("op.output", "out", value=half["out"])
    return g.graph()


class _One(Struct):
    a: f32


#: Good arguments of every call that an author can make.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Action]]] = {
    "launch": (
        BlockBuilder.launch,
        {
            "kernel": fine(Kernel(str(NOTHING), "nothing")),
            "num_threads": _size,
            "args": lambda b, _: (b.x, b.out, b.a, b.x.size),
            "thread_block": fine(32),
            "shared_bytes": fine(16),
            "count": fine(None),
            "needs": fine(None),
        },
    ),
    "compute": (
        BlockBuilder.compute,
        {"graph": fine(_halved()), "over": X, "thread_blocks": fine(None), "buffers": fine(None)},
    ),
    "capture": (
        lambda build, calls: build.capture(calls),
        {"calls": lambda b, _: blas.Geam().on(a=b.x, out=b.out, alpha=b.a)},
    ),
    "on": (
        lambda build, **operands: build.capture(blas.Geam().on(**operands)),
        {"a": X, "b": X, "out": OUT, "alpha": lambda b, _: b.a, "beta": fine(1.0)},
    ),
    "count_for": (BlockBuilder.count_for, {"count": fine(1), "work": fine(ServedParts(("a",)))}),
    "fill": (BlockBuilder.fill, {"target": OUT, "value": fine(1), "width": fine(4)}),
    "copy": (BlockBuilder.copy, {"target": OUT, "source": X}),
    "buffer": (
        BlockBuilder.buffer,
        {
            "name": fine("mine"),
            "dtype": fine(f32),
            "shape": fine("same(x)"),
            "state": fine(True),
            "initial": fine(None),
        },
    ),
    "seen_as": (BlockBuilder.seen_as, {"source": X, "shape": fine("[x.size]")}),
    "number": (BlockBuilder.number, {}),
    "provide": (BlockBuilder.provide, {"port": OUT, "array": fine(np.ones(3, np.float32))}),
    "name_columns": (BlockBuilder.name_columns, {"port": OUT, "names": fine(("a", "b"))}),
    "keep_columns": (
        lambda build, port, inputs: build.keep_columns(port, inputs),
        {"port": OUT, "inputs": X},
    ),
    "view": (BlockBuilder.view, {"target": OUT, "source": X, "transform": fine(SliceView(0))}),
    "adopt": (BlockBuilder.adopt, {"port": OUT, "array": fine(np.ones(3, np.float32))}),
    "delay": (BlockBuilder.delay, {"target": OUT, "source": X, "initial": fine(1.0)}),
    "define": (BlockBuilder.define, {"port": FREE, "dtype": fine(f32), "shape": fine("[2]")}),
    "element_type": (BlockBuilder.element_type, {"port": X}),
    "feed": (BlockBuilder.feed, {"buffer": OUT}),
    "watch": (BlockBuilder.watch, {"buffer": X}),
    "value": (BlockBuilder.value, {"name": lambda b, build: f"value{build.number()}"}),
    "require": (BlockBuilder.require, {"extent": _size, "message": fine("must have a size"), "port": X}),
    "cover": (BlockBuilder.cover, {"port": X, "rank": fine(2)}),
    "report": (
        BlockBuilder.report,
        {"word": _word, "kind": fine(StatusKind.STOPPED), "port": OUT, "capacity": lambda b, _: b.a},
    ),
    "control": (BlockBuilder.control, {"control": fine(None)}),
    "compose": (BlockBuilder.compose, {"composition": fine(None)}),
    "show": (BlockBuilder.show, {"pixels": X}),
    "save": (
        BlockBuilder.save,
        {
            "buffer": X,
            "path": fine("a.npy"),
            "depth": fine("usual"),
            "encode": fine(None),
            "options": fine(()),
            "with_columns": fine(True),
        },
    ),
    "argument": (BlockBuilder.argument, {"value": X}),
    "struct": (
        lambda build, struct, fields: build.struct(struct, **fields),
        {"struct": fine(_One), "fields": lambda b, _: {"a": b.a}},
    ),
    "commit": (BlockBuilder.commit, {}),
    "describe_if": (describe_if, {"condition": X, "element": fine(0), "otherwise": fine(False)}),
    "describe_switch": (describe_switch, {"index": X, "element": fine(0), "branches": fine(2)}),
    "describe_while": (
        describe_while,
        {"condition": X, "element": fine(0), "turns": COUNT, "limit": lambda b, _: b.a},
    ),
    "describe_for": (
        describe_for,
        {"count": lambda b, _: b.a, "counts": X, "index": COUNT, "limit": lambda b, _: b.a},
    ),
    "dim": (lambda build, handle, axis: handle.dim(axis), {"handle": X, "axis": fine(0)}),
    "stride": (lambda build, handle, axis: handle.stride(axis), {"handle": X, "axis": fine(0)}),
    "last": (lambda build, handle, axis: handle.last(axis), {"handle": X, "axis": fine(0)}),
    "last_stride": (lambda build, handle, axis: handle.last_stride(axis), {"handle": X, "axis": fine(0)}),
    "plus": (lambda build, a, b: build.require(a + b, "sum"), {"a": _size, "b": fine(1)}),
    "times": (lambda build, a, b: build.require(a * b // 3 % 7, "product"), {"a": _size, "b": _size}),
    "Kernel": (lambda build, file, entry: Kernel(file, entry), {"file": fine("a.cu"), "entry": fine("a")}),
    "SliceView": (
        lambda build, **given: build.view(given.pop("target"), given.pop("source"), SliceView(**given)),
        {"target": OUT, "source": X, "axis": fine(0), "start": fine(0), "stop": fine(None), "step": fine(1)},
    ),
    "ReshapeView": (lambda build, t, s, v: build.view(t, s, ReshapeView(v)), {"t": OUT, "s": X, "v": fine((-1,))}),
    "TransposeView": (lambda build, t, s, v: build.view(t, s, TransposeView(v)), {"t": OUT, "s": X, "v": fine((0,))}),
    "ReinterpretView": (
        lambda build, t, s, v: build.view(t, s, ReinterpretView(v)),
        {"t": FREE, "s": X, "v": fine(u8)},
    ),
}


def test_every_public_call_is_tried() -> None:
    """The table has every argument of every call."""
    public = {name: call for name, call in inspect.getmembers(BlockBuilder, callable) if not name.startswith("_")}
    for name, call in {**public, "describe_if": describe_if, "describe_switch": describe_switch}.items():
        assert set(inspect.signature(call).parameters) - {"self", "build"} == set(CALLS[name][1]), name


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """Draw a call, and for some of its arguments the value that replaces the good one."""
    name = draw(st.sampled_from(sorted(CALLS)))
    names = sorted(CALLS[name][1])
    wrong = draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) if names else []
    return name, {argument: draw(st.integers(0, len(THINGS) - 1)) for argument in wrong}


def _act(asked: list[tuple[str, dict[str, int]]]) -> Action:
    def act(block: Any, build: BlockBuilder) -> None:
        for name, wrong in asked:
            call, good = CALLS[name]
            given = {key: (THINGS[wrong[key]] if key in wrong else make)(block, build) for key, make in good.items()}
            call(build, **given)

    return act


def test_no_call_of_the_builder_does_more_than_mark_its_block(running: Running) -> None:
    """With any arguments, a call of the builder marks at most its own block, and the engine runs as before."""

    @settings(max_examples=many(60))
    @given(st.lists(calls(), min_size=1, max_size=3))
    def law(asked: list[tuple[str, dict[str, int]]]) -> None:
        try:
            try_block(running, _act(asked))
        except BaseException:
            running.engine.close()
            running.begin()
            raise

    for name in ("describe_if", "describe_switch", "describe_while", "describe_for"):
        for argument in CALLS[name][1]:
            for thing in HARMFUL:
                law = example([(name, {argument: THINGS.index(thing)})])(law)
    law()
