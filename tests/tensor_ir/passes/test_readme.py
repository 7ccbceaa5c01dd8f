"""The README's table of passes is correct."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tensor_ir.networks.examples import seeds_example
from tests.tensor_ir.passes.pictures import leaf, picture
from warploom.engine.tensor_ir import passes
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode, TensorOperation
from warploom.engine.tensor_ir.networks.network import build_network
from warploom.engine.tensor_ir.operations.elementwise import Copy, Elementwise
from warploom.engine.tensor_ir.operations.fused import SparseAffineActivate
from warploom.engine.tensor_ir.operations.leaves import Constant
from warploom.engine.tensor_ir.operations.matrices import MatMul
from warploom.engine.tensor_ir.operations.rules import RULES
from warploom.engine.tensor_ir.operations.shaping import Concat, Slice, Transpose
from warploom.engine.tensor_ir.operations.sparse import SparseMatMul
from warploom.engine.tensor_ir.passes.pipeline import PASSES, optimise
from warploom.engine.tensor_ir.types import TensorType

README = (Path(passes.__file__).parent / "README.md").read_text()
ROWS = re.findall(r"^\| ([\w ]+) \| `(.*)` \| `(.*)` \|$", README, re.MULTILINE)
OPERATIONS: dict[str, TensorOperation] = {
    "Copy": Copy(),
    "Matmul": MatMul(),
    "Transpose": Transpose((1, 0)),
    "Concat": Concat(0),
    "Slice": Slice((0, 0), (3, 1), (1, 1)),
    "SparseMatMul": SparseMatMul(),
    "SparseAffineActivate": SparseAffineActivate("relu"),
}


def read(text: str) -> TensorNode:
    """Return the graph that a text shows."""
    graph = TensorGraph()

    def applied(operation: TensorOperation) -> Callable[..., TensorNode]:
        return lambda *given: graph.add(operation, [operand(each) for each in given])

    def operand(given: Any) -> TensorNode:
        return given if isinstance(given, TensorNode) else graph.add(Constant(float(given), TensorType(())))

    def elementwise(name: str) -> Callable[..., TensorNode]:
        arity = RULES[name].arity
        return lambda *given: applied(Elementwise(name, given[arity:]))(*given[:arity])

    names: dict[str, Any] = {name: leaf(graph, name) for name in "abc"}
    names |= {name: leaf(graph, name, (3, 3)) for name in "AB"}
    names |= {name: leaf(graph, name, (9, 1), batched=True, nnz=4, grad=False) for name in "xy"}
    names |= {"W": leaf(graph, "W", (3, 9))}
    names |= {"".join(word.capitalize() for word in name.split("_")): elementwise(name) for name in RULES}
    names |= {name: applied(operation) for name, operation in OPERATIONS.items()}
    found: TensorNode = eval(text, {"__builtins__": {}}, names)
    return found


@pytest.mark.parametrize(("name", "before", "expected"), ROWS, ids=[f"{row[0]} {i}" for i, row in enumerate(ROWS)])
def test_before_and_after(name: str, before: str, expected: str) -> None:
    """Each pass of the table turns the text before into the text after."""
    node = read(before)
    assert picture(node) == before
    (found,) = optimise([node], {name: PASSES[name]})
    assert picture(found) == expected


def test_the_network_before_and_after() -> None:
    """The README shows the text of the graph in `Network` before and after the passes."""
    network = build_network(seeds_example())
    assert f"\n{picture(network.built)}\n{picture(network.optimised)}\n" in README


def test_every_pass_is_shown() -> None:
    """The table shows every pass but common subexpressions, which the text of one expression can't show."""
    assert {row[0] for row in ROWS} == PASSES.keys() - {"common subexpressions"}
