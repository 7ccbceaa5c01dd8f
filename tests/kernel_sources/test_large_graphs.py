"""Large op graphs are compiled in a worker process, to the same code and within the limits of compiles."""

import pytest

from warploom.engine.diagnostics import CompilerCrash
from warploom.engine.kernel_sources import op_graphs
from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import OpError, OpGraphBuilder
from warploom.engine.ops.graph import MOST_OPS
from warploom.engine.processes.limits import Limits


def graph(count: int, op: str = "op.add", **settings: float) -> OpGraphSource:
    """Return a chain of ops."""
    g = OpGraphBuilder()
    value = g.add("op.input", "x")["value"]
    for _ in range(count):
        value = g.add(op, **({"x": value} if "noise" in op else {"a": value, "b": value}), **settings)["out"]
    g.add("op.output", "out", value=value)
    return OpGraphSource.of(g.graph())


def test_a_graph_has_the_same_kernel_wherever_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker process makes the same kernel and PTX, and a wrong graph is the same error."""
    here = op_graphs.kernel(graph(5))
    op_graphs.kernel.cache_clear()
    monkeypatch.setattr(op_graphs, "_MOST_HERE", 0)
    there = op_graphs.kernel(graph(5))
    assert (there.llvm_ir, there.arguments, there.ops, there.ptx) == (
        here.llvm_ir,
        here.arguments,
        here.ops,
        here.ptx,
    )
    with pytest.raises(OpError) as problem:
        op_graphs.kernel(graph(1, "op.none"))
    assert [item.node for item in problem.value.errors] == ["none2"]
    op_graphs.kernel.cache_clear()


def test_a_graph_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph of hundreds of noises is stopped at the limit of compiles."""
    monkeypatch.setattr(Limits, "chosen", lambda: Limits(computing_s=0.1))
    with pytest.raises(CompilerCrash, match=r"kernel must compile within 0.1 s and 2 GB, got more time"):
        op_graphs.kernel(graph(400, "op.simplex_noise"))


def test_a_graph_has_a_limited_number_of_ops() -> None:
    """A graph with more ops than a person would draw is refused before it is looked at."""
    with pytest.raises(OpError, match="op graph must have at most 50,000 ops, got 50,001"):
        op_graphs.analysis(graph(MOST_OPS - 1))
