"""Library calls in a plan: layouts, scratch memory, dependencies, and which calls are captured again."""

import pytest
from msgspec import structs
from msgspec.structs import replace

from tests.compiler.support.descriptions import graph, i, node, o, source
from warploom.blocks.linalg.multiply import Multiply
from warploom.engine.blocktypes.describing import describe
from warploom.engine.compiler.description import BlockNode, GraphDescription
from warploom.engine.compiler.difference import plan_difference
from warploom.engine.compiler.executable.adjust import operations_in_place
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.compiler.verifying.touches import Reach
from warploom.engine.compiler.verifying.verify import verify
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.descriptions.entries import BufferArgument, CapturedCall, CaptureEntry, InternalBuffer
from warploom.engine.diagnostics import GraphValidationError
from warploom.engine.libraries.blas import Gemm
from warploom.engine.libraries.call import LibraryError
from warploom.engine.patch.changes import PortRef
from warploom.engine.types import any_type, u8


def product(*, transposed: bool = False) -> BlockDescription:
    """Return the description of a Matrix Multiply."""
    return describe(Multiply("", {"transpose_b": transposed}))


@pytest.fixture(autouse=True)
def makes_sound_plans() -> None:
    """Replace the fixture that verifies every plan: some plans here are broken on purpose."""


#: Kernels and library calls alternate; the last kernel overwrites a buffer that calls read.
CHAIN = graph(
    source("s", 7, 7),
    BlockNode("first", product()),
    node("between", i("x"), o(shape="same(x)")),
    BlockNode("second", product()),
    node("change", i("x"), o(inplace="x")),
    wires=[
        *("s.out first.a", "s.out first.b", "first.out between.x", "between.out second.a", "first.out second.b"),
        "first.out change.x",
    ],
)


def planned(description: GraphDescription = CHAIN, previous: Plan | None = None) -> Plan:
    return make_plan(description, previous=previous, workspace_of=lambda call, layouts: 1000)


def test_an_output_has_the_layout_that_the_call_gives() -> None:
    """An output's shape follows from its call, and the scratch buffer's size from the device."""
    plan = planned()
    assert plan.layouts[PortRef("second", "out")].shape == (7, 7)
    assert plan.layouts[PortRef("second", "workspace0")].size_bytes == 1000


def test_every_dependency_of_a_library_call_matters() -> None:
    """Calls and kernels wait for each other: without such a dependency a plan is broken, unless others imply it."""
    plan = planned()
    assert verify(plan) == []
    captured = {index for index, o in enumerate(plan.operations) if isinstance(o.entry, CaptureEntry)}
    missed = set()
    for index, operation in enumerate(plan.operations):
        for earlier in operation.after:
            less = structs.replace(operation, after=tuple(other for other in operation.after if other != earlier))
            operations = (*plan.operations[:index], less, *plan.operations[index + 1 :])
            broken = replace(plan, schedule=plan.schedule._replace(operations=operations))
            implied = Reach(broken.operations, broken.scopes).before(earlier, index)
            assert implied == (verify(broken) == []), (earlier, index)
            if not implied:
                missed.add((earlier in captured, index in captured))
    assert {(True, False), (False, True)} <= missed


def test_another_option_is_captured_again_in_place() -> None:
    """Another option of a call changes only that call in the plan."""
    nodes = [BlockNode("second", product(transposed=True)) if n.id == "second" else n for n in CHAIN.nodes]
    before = planned()
    changes = plan_difference(before, planned(GraphDescription(tuple(nodes), CHAIN.connections), before))
    indices = operations_in_place(changes)
    assert indices and {changes.now.operations[index].node for index in indices} == {"second"}


def test_what_a_library_refuses_is_a_mistake_at_the_block() -> None:
    """A library's refusal is an error of the block, with the library's message and remedy."""

    def refuse(call: object, layouts: object) -> int:
        raise LibraryError("gemm must be small, got 8 rows", "make it smaller")

    description = graph(source("s", 8, 8), BlockNode("m", product()), wires=["s.out m.a", "s.out m.b"])
    with pytest.raises(GraphValidationError) as refused:
        make_plan(description, workspace_of=refuse)
    (problem,) = refused.value.errors
    assert (problem.node, problem.message, problem.remedy) == ("m", "gemm must be small, got 8 rows", "make it smaller")


def test_calls_that_read_what_nobody_has_filled_are_mistakes_of_the_block() -> None:
    """Calls that read their own output, outputs without a call, and calls with an unconnected input are refused."""
    ports = (i("x", any_type, optional=True), o(dtype=any_type, shape="captured", dtype_rule="captured"))
    x, out, space = (BufferArgument(*given) for given in (("x", True, False), ("out", False, True), ("w", True, True)))
    buffers = (InternalBuffer("w", u8, "[1]"),)
    for a, wires, words in (
        (
            replace(out, reads=True, writes=False),
            ["s.out m.x"],
            "must not read its own result, got 'out'",
        ),
        (x, [], "input must be connected for the call"),
        (None, ["s.out m.x"], "must provide a library call for this output"),
    ):
        operands = (("a", a), ("b", a), ("out", out))
        entries = [] if a is None else [CaptureEntry((CapturedCall(Gemm(), operands),), space)]
        description = graph(source("s", 4, 4), node("m", *ports, entries=entries, buffers=buffers), wires=wires)
        with pytest.raises(GraphValidationError) as refused:
            make_plan(description)
        assert any(words in problem.message and problem.node == "m" for problem in refused.value.errors)
