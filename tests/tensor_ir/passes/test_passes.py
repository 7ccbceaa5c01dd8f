"""Each pass, before and after, and the cases in which it must change nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.tensor_ir.passes.pictures import after, leaf, picture
from warploom.engine.tensor_ir.errors import InvalidOperation, TopologicalSortFailed
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode, no_grad
from warploom.engine.tensor_ir.operations.fused import DualSparseAffineActivate, SparseAffineActivate
from warploom.engine.tensor_ir.operations.leaves import Constant
from warploom.engine.tensor_ir.operations.matrices import MatMul
from warploom.engine.tensor_ir.operations.reductions import BroadcastTo, broadcast_to
from warploom.engine.tensor_ir.operations.shaping import slice_of
from warploom.engine.tensor_ir.passes.affine import (
    fuse_clamps,
    fuse_dual_sparse_affine,
    fuse_errors,
    fuse_sparse_affine,
    hoist_past_concat,
)
from warploom.engine.tensor_ir.passes.constants import fold_constants
from warploom.engine.tensor_ir.passes.copies import remove_copies, share_common
from warploom.engine.tensor_ir.passes.pipeline import PASSES, optimise
from warploom.engine.tensor_ir.passes.verification import verify_nodes
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.types import f32, f64, s32


@pytest.fixture
def graph() -> TensorGraph:
    """An empty graph."""
    return TensorGraph()


def constant(graph: TensorGraph, value: float, *shape: int) -> TensorNode:
    """Return a constant."""
    return graph.add(Constant(value, TensorType(shape)))


class TestConstants:
    def test_what_is_computed_of_constants_is_one(self, graph: TensorGraph) -> None:
        """Element-wise operations, reductions, products and broadcasts of constants become one constant."""
        a, b = constant(graph, 2.0, 3, 4), constant(graph, 3.0, 4, 1)
        whole = (a @ b).exp().log().sum() * 2.0
        assert after(fold_constants, whole) == "144"
        assert after(fold_constants, broadcast_to(b + 1.0, TensorType((4, 5)))) == "4"

    def test_values_that_differ_are_left(self, graph: TensorGraph) -> None:
        """Constants with differing elements stay, and so do infinity and NaN, whose bits the device decides."""
        assert after(fold_constants, constant(graph, 0.0, 2, 1).log()) == "Log(0)"

    def test_large_arrays_are_not_computed_but_element_by_element(self, graph: TensorGraph) -> None:
        """A sum of a million elements is not computed, but an element-wise operation is."""
        assert after(fold_constants, constant(graph, 1.0, 1000, 1000).exp().log()) == "1"
        assert "ReduceSum" in after(fold_constants, constant(graph, 1.0, 1000, 1000).sum())

    def test_neutral_operands(self, graph: TensorGraph) -> None:
        """x + 0, x - 0, x * 1, x / 1 and x ** 1 are x, from both sides where the order doesn't matter."""
        x = leaf(graph, "x")
        for same in (x + 0.0, 0.0 + x, x - 0.0, x * 1.0, 1.0 * x, x / 1.0, x**1, x ** constant(graph, 1.0)):
            assert after(fold_constants, same) == "x"
        assert after(fold_constants, x**2) == "Square(x)"
        for other in (0.0 - x, 1.0 / x, x * 0.0, 1.0**x):
            assert "x" in after(fold_constants, other)
            assert after(fold_constants, other) != "x"

    def test_a_neutral_operand_that_broadcasts(self, graph: TensorGraph) -> None:
        """x + 0 with a zero of a larger shape becomes a broadcast of x."""
        assert after(fold_constants, leaf(graph, "x", (3, 1)) + constant(graph, 0.0, 3, 4)) == "BroadcastTo(x)"

    def test_where_nothing_is_differentiated(self, graph: TensorGraph) -> None:
        """x + 0 under no_grad doesn't become x, through which a gradient would pass."""
        x = leaf(graph, "x")
        with no_grad():
            same = x + 0.0
        (found,) = fold_constants([same * 2.0])
        assert not found.requires_grad


class TestCommonSubexpressions:
    def test_equal_nodes_become_one(self, graph: TensorGraph) -> None:
        """Equal nodes become one at any depth."""
        x = leaf(graph, "x")
        first, second = share_common([(x * 2.0).exp(), (x * 2.0).exp()])
        assert first is second

    def test_operands_in_another_order(self, graph: TensorGraph) -> None:
        """Sums and products of exchanged operands are one node; differences and quotients are not."""
        a, b = leaf(graph, "a"), leaf(graph, "b")
        first, second = share_common([(a + b) * b, b * (b + a)])
        assert first is second
        assert len(set(share_common([a - b, b - a, a / b, b / a]))) == 4

    def test_what_differs_in_a_number_or_a_gradient_stays(self, graph: TensorGraph) -> None:
        """Nodes that differ in a number, even 0.0 and -0.0, or in their gradient stay separate."""
        x = leaf(graph, "x")
        with no_grad():
            quiet = x.exp()
        found = share_common([x / 0.0, x / -0.0, x.abs_pow(2), x.abs_pow(3), x.exp(), quiet])
        assert len(set(found)) == 6

    def test_leaves_are_never_the_same(self, graph: TensorGraph) -> None:
        """Two leaves of one type stay separate, since their contents differ."""
        a, b = leaf(graph, "a"), leaf(graph, "b")
        assert share_common([a, b]) == [a, b]


class TestClamps:
    def test_clamps_are_activations(self, graph: TensorGraph) -> None:
        """Clamps to numbers from 0, or from 0 to 1 in either order, are relu and crelu, also in a sparse layer."""
        x = leaf(graph, "x")
        assert after(fuse_clamps, x.maximum(0.0)) == "Relu(x)"
        for clamped in (x.maximum(0.0).minimum(1.0), x.minimum(1.0).maximum(0.0)):
            assert after(fuse_clamps, clamped) == "Crelu(x)"
        weights, column = leaf(graph, "w", (3, 9)), leaf(graph, "i", (9, 1), nnz=4, grad=False)
        (found,) = optimise([((weights @ column) + x).maximum(0.0).minimum(1.0)], PASSES)
        assert found.operation == SparseAffineActivate("crelu")

    def test_other_clamps_stay(self, graph: TensorGraph) -> None:
        """Other bounds, clamps that broadcast, whole numbers, and clamps that are used elsewhere stay as they are."""
        x, whole = leaf(graph, "x"), leaf(graph, "i", dtype=s32, grad=False)
        assert after(fuse_clamps, x.maximum(0.5)) == "Maximum(x, 0.5)"
        assert after(fuse_clamps, x.minimum(1.0)) == "Minimum(x, 1)"
        assert after(fuse_clamps, whole.maximum(0)) == "Maximum(i, 0)"
        assert "Maximum" in after(fuse_clamps, x.maximum(constant(graph, 0.0, 3, 4)))
        above = x.maximum(0.0)
        assert [picture(node) for node in fuse_clamps([above, above.minimum(1.0)])] == [
            "Relu(x)",
            "Minimum(Relu(x), 1)",
        ]


class TestCopies:
    def test_copies_that_change_nothing(self, graph: TensorGraph) -> None:
        """Copies, reshapes to the same shape and broadcasts to the same type are removed."""
        x = leaf(graph, "x")
        same = graph.add(BroadcastTo(x.type), (x.copy().reshape(3).reshape(3, 1),))
        assert after(lambda wanted: optimise(wanted, {"copies": remove_copies}), same) == "x"
        assert after(remove_copies, x.cast(f64).cast(f32)) == "Cast(Cast(x))"  # the inner cast rounds

    def test_a_barrier_stays_until_nothing_is_differentiated(self, graph: TensorGraph) -> None:
        """stop_gradient of a weight stays, and stop_gradient of an input is removed."""
        assert after(remove_copies, leaf(graph, "w").stop_gradient()) == "StopGradient(w)"
        assert after(remove_copies, leaf(graph, "x", batched=True).stop_gradient()) == "x"

    def test_reshapes_are_joined(self, graph: TensorGraph) -> None:
        """Two reshapes become one."""
        x = leaf(graph, "x", (6, 1))
        assert after(remove_copies, x.reshape(2, 3).reshape(3, 2)) == "Reshape(x)"

    def test_what_is_broadcast_anyway(self, graph: TensorGraph) -> None:
        """A broadcast before an operation is removed, unless the result would have another shape."""
        x, b = leaf(graph, "x", batched=True), leaf(graph, "b", (1, 1))
        assert after(remove_copies, x + broadcast_to(b, x.type)) == "Add(x, b)"
        assert after(remove_copies, b + broadcast_to(b, x.type)) == "Add(b, BroadcastTo(b))"

    def test_transposed_matrices(self, graph: TensorGraph) -> None:
        """Transpositions become flags of their product; two of them become one, or none."""
        a, b = leaf(graph, "a", (2, 3, 4)), leaf(graph, "b", (2, 5, 4))
        (found,) = remove_copies([a @ b.transpose((1, 0))])
        assert (picture(found), found.operation) == ("Matmul(a, b)", MatMul(transpose_b=True))
        assert after(remove_copies, a.transpose((1, 0)).transpose((1, 0))) == "Transpose(a)"
        twice = optimise([a.transpose((1, 0)).transpose((1, 0))], {"copies": remove_copies})
        assert twice == [a]
        assert after(remove_copies, a.transpose((2, 0, 1)).transpose((2, 0, 1))) == "Transpose(a)"
        c = leaf(graph, "c", (3, 4, 5))
        assert after(remove_copies, a.transpose((1, 0, 2)) @ c) == "Matmul(Transpose(a), c)"

    def test_a_part_of_what_was_put_together(self, graph: TensorGraph) -> None:
        """A slice of a concatenation that is exactly one of the tensors becomes that tensor."""
        a, b = leaf(graph, "a", (2, 1)), leaf(graph, "b", (3, 1))
        joined = a.concat(b, axis=0)
        assert after(remove_copies, slice_of(joined, 0, 0, 2), slice_of(joined, 0, 2, 3)) == "a | b"
        assert after(remove_copies, slice_of(joined, 0, 1, 2)) == "Slice(Concat(a, b))"
        assert after(remove_copies, slice_of(joined, 0, 0, 5)) == "Concat(a, b)"


class TestElements:
    def test_the_power_of_a_difference(self, graph: TensorGraph) -> None:
        """The pass fuses a difference and its power; a square is the power 2."""
        a, b = leaf(graph, "a"), leaf(graph, "b")
        assert after(fuse_errors, (a - b).abs_pow(2.5)) == "AbsPowerError(a, b, 2.5)"
        assert after(fuse_errors, (a - b).square()) == "AbsPowerError(a, b, 2)"

    def test_a_difference_that_is_used_elsewhere(self, graph: TensorGraph) -> None:
        """A difference that another node uses, or that is wanted, isn't fused."""
        a, b = leaf(graph, "a"), leaf(graph, "b")
        difference = a - b
        assert after(fuse_errors, difference.square(), difference) == "Square(Sub(a, b)) | Sub(a, b)"
        assert after(fuse_errors, difference.square() * difference) == "Mul(Square(Sub(a, b)), Sub(a, b))"

    def test_through_a_barrier_nothing_is_fused(self, graph: TensorGraph) -> None:
        """A difference behind a barrier isn't fused, since a gradient would pass through the fused operation."""
        a, b = leaf(graph, "a"), leaf(graph, "b")
        with no_grad():
            difference = a - b
        assert after(fuse_errors, difference.square()) == "Square(Sub(a, b))"


def layers(wanted: Sequence[TensorNode]) -> Sequence[TensorNode]:
    """Run the passes for layers to a fixed point."""
    passes = {"sparse": fuse_sparse_affine, "hoist": hoist_past_concat, "dual": fuse_dual_sparse_affine}
    return optimise(wanted, passes)


class TestLayers:
    def test_a_part_that_is_needed(self, graph: TensorGraph) -> None:
        """A layer whose sum is wanted too is computed once, followed by its activation."""
        w, x = leaf(graph, "w", (3, 9)), leaf(graph, "x", (9, 1), batched=True, nnz=4, grad=False)
        b, each = leaf(graph, "b"), leaf(graph, "each", batched=True)
        total = w @ x + b
        layer = "SparseAffineActivate(w, x, b)"
        assert after(layers, total.relu(), total) == f"Relu({layer}) | {layer}"
        assert after(layers, w @ x + each) == "Add(SparseMatMul(w, x), each)"  # a bias for each example is a sum

    def test_sparse(self, graph: TensorGraph) -> None:
        """A sparse layer is fused with or without an activation."""
        w, x = leaf(graph, "w", (3, 9)), leaf(graph, "x", (9, 1), batched=True, nnz=4, grad=False)
        b = leaf(graph, "b")
        for activation in (None, "relu", "crelu", "screlu", "sqr_relu", "sigmoid", "tanh"):
            layer = w @ x + b
            (found,) = layers([layer.elementwise(activation) if activation else layer])
            assert picture(found) == "SparseAffineActivate(w, x, b)"
            assert found.operation == SparseAffineActivate(activation)
        assert after(layers, (w @ x).relu()) == "SparseAffineActivate(w, x)"
        assert after(layers, w @ x) == "SparseMatMul(w, x)"
        assert after(layers, (w @ x + b).softplus()) == "Softplus(SparseAffineActivate(w, x, b))"

    def test_two_sparse_layers_one_above_the_other(self, graph: TensorGraph) -> None:
        """Two sparse layers with the same weights become one, and an activation moves past their concatenation."""
        w, b = leaf(graph, "w", (3, 9)), leaf(graph, "b")
        x, y = (leaf(graph, name, (9, 1), batched=True, nnz=4, grad=False) for name in "xy")
        for activation in ("screlu", "relu"):
            joined = (w @ x + b).concat(w @ y + b, axis=0).elementwise(activation)
            (found,) = layers([joined])
            assert picture(found) == "DualSparseAffineActivate(w, x, y, b)"
            assert found.operation == DualSparseAffineActivate(activation)
        other = leaf(graph, "c")
        two = (w @ x + b).relu().concat((w @ y + other).relu(), axis=0)
        assert after(layers, two) == "Concat(SparseAffineActivate(w, x, b), SparseAffineActivate(w, y, c))"

    def test_an_activation_that_no_layer_takes_in(self, graph: TensorGraph) -> None:
        """An activation that no layer can take in stays one node after the concatenation."""
        a, b = leaf(graph, "a"), leaf(graph, "b")
        assert after(layers, a.concat(b, axis=0).relu()) == "Relu(Concat(a, b))"


class TestVerification:
    def test_attributes_are_derived_again(self, graph: TensorGraph) -> None:
        """A node whose type, gradient or order doesn't follow from its operands is an error."""
        x = leaf(graph, "x", batched=True)
        node = x.exp()
        node.type = TensorType((3, 1))
        with pytest.raises(InvalidOperation, match=r"here: Exp\d+ must be f32\[3, 1\], batched, got f32\[3, 1\]"):
            verify_nodes([node], "here")
        node = x.log()
        node.requires_grad = True
        with pytest.raises(InvalidOperation, match=r"Log\d+: .* must have an input of which a gradient is wanted"):
            verify_nodes([node], "here")
        node = x.exp()
        node.inputs = (node.sin(),)
        with pytest.raises(TopologicalSortFailed, match=r"Exp\d+.* must follow its inputs, got Sin\d+"):
            verify_nodes([node], "here")

    def test_a_pass_that_breaks_the_graph_is_named(self, graph: TensorGraph) -> None:
        """The faulty pass is named before the graph is used."""
        x = leaf(graph, "x")

        def wrong(wanted: object) -> list[TensorNode]:
            return [x.sum()]

        with pytest.raises(InvalidOperation, match=r"after pass 'wrong': wanted nodes must stay"):
            optimise([x.exp()], {"wrong": wrong})

    def test_passes_that_undo_each_other_are_stopped(self, graph: TensorGraph) -> None:
        """The passes are stopped instead of running forever."""
        x = leaf(graph, "x")
        with pytest.raises(InvalidOperation, match="passes must come to an end"):
            optimise([x], {"endless": lambda wanted: [graph.add(MatMul(), (x @ x.reshape(1, 3), x)) * 0.0 + x]})


def test_passes_reach_a_fixed_point(graph: TensorGraph) -> None:
    """Running all passes once more changes nothing."""
    w, x, b = leaf(graph, "w", (3, 3)), leaf(graph, "x", batched=True), leaf(graph, "b")
    loss = ((w @ x + b).relu() - x.copy() * 1.0).abs_pow(2).sum().sum_batch() * 2.0
    once = optimise([loss], PASSES)
    assert optimise(once, PASSES) == once
