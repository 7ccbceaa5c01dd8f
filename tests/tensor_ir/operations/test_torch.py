"""Values and gradients of every operation equal torch's, also at kinks and at the ends of ranges.

Where torch isn't installed, these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tests.tensor_ir.operations.cases import BATCH, Case, all_cases, elementwise_case, tensor
from tests.tensor_ir.operations.differences import Given
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_ir.gradients import gradients
from warploom.engine.tensor_ir.graph import TensorGraph, TensorNode
from warploom.engine.tensor_ir.operations.leaves import Leaf
from warploom.engine.tensor_ir.operations.rules import RULES
from warploom.engine.types import f64

torch: Any = pytest.importorskip("torch")


#: Rows of the table that have another name in torch, or need several of its functions.
_OTHERS: Mapping[str, Callable[..., Any]] = {
    "power": lambda x, power: x**power,
    "abs_pow": lambda x, power: x.abs() ** power,
    "abs_power_error": lambda a, b, power: (a - b).abs() ** power,
    "crelu": lambda x: torch.nn.functional.hardtanh(x, 0.0, 1.0),
    "screlu": lambda x: torch.nn.functional.hardtanh(x, 0.0, 1.0) ** 2,
    "sqr_relu": lambda x: x.relu() ** 2,
    "softplus": lambda x: torch.nn.functional.softplus(x),
    "gelu": lambda x: torch.nn.functional.gelu(x),
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "equal": lambda a, b: torch.eq(a, b),
    "not_equal": lambda a, b: torch.ne(a, b),
    "and": lambda a, b: torch.logical_and(a, b),
    "or": lambda a, b: torch.logical_or(a, b),
    "xor": lambda a, b: torch.logical_xor(a, b),
    "not": lambda a: torch.logical_not(a),
}


def _row(name: str) -> Callable[..., Any]:
    return _OTHERS.get(name) or getattr(torch, name)


def _aligned(*given: Any) -> list[Any]:
    """Return tensors with a leading batch axis and equal numbers of axes."""
    count = max(each.ndim for each in given)
    return [each.reshape(len(each), *(1,) * (count - each.ndim), *each.shape[1:]) for each in given]


def _compare(case: Case, *, tolerance: float = 1e-12) -> None:
    """Compare the value, and the gradient of each operand."""
    graph = TensorGraph()
    leaves = [graph.add(Leaf(each.type)) for each in case.given]
    node = case.build(*leaves)
    values: dict[TensorNode, Any] = {leaf: each.value for leaf, each in zip(leaves, case.given, strict=True)}
    (value,) = evaluate([node], values, BATCH)
    tensors = [torch.tensor(each.value, requires_grad=each.is_float) for each in case.given]
    batched = [each if given.type.batched else each[None] for each, given in zip(tensors, case.given, strict=True)]
    with np.errstate(all="ignore"):
        if case.oracle is not None:
            expected = case.oracle(torch, *batched)
        else:
            expected = _row(case.row)(*_aligned(*batched), *case.numbers)
        whole = expected if node.type.batched else expected[0]
        np.testing.assert_allclose(value, whole.detach().numpy(), rtol=tolerance, atol=1e-15)
    if not node.requires_grad:
        assert not whole.requires_grad or not any(rule for rule in RULES[case.row].gradients)
        return
    seed = Given(node.type, np.random.default_rng(2).uniform(0.5, 1.5, value.shape))
    values[graph.add(Leaf(node.type))] = seed.value
    wanted = [leaf for leaf, each in zip(leaves, case.given, strict=True) if each.is_float]
    found = gradients(node, wanted, list(values)[-1])
    whole.backward(torch.tensor(seed.value))
    for leaf, each in zip(leaves, tensors, strict=True):
        if each.requires_grad:
            np.testing.assert_allclose(
                evaluate([found[leaf]], values, BATCH)[0],
                each.grad.numpy(),
                rtol=tolerance,
                atol=1e-12,
                err_msg=leaf.label,
            )


@pytest.mark.parametrize("case", [case for case in all_cases() if case.row or case.oracle is not None], ids=str)
def test_operations_are_those_of_torch(case: Case) -> None:
    """Values and gradients equal torch's for each way to broadcast."""
    _compare(case)


_SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, 3.0, 1e-300, -1e-300, 20.0, -20.0]
_SPECIAL += [40.0, -40.0, 300.0, -300.0, 800.0, -800.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.arity == 1 and rule.kind != "boolean"])
def test_functions_at_kinks_and_limits(name: str) -> None:
    """Results at 0, at 1, where exponentials overflow, at infinity and at NaN are torch's.

    One exception: the sign of NaN is NaN, as in numpy.
    """
    numbers = {"power": [3.0], "abs_pow": [2.5]}.get(name, [])
    special = np.array(_SPECIAL[:-1] if name in ("sign", "abs") else _SPECIAL)
    given = [Given(tensor(special.shape), special)]
    _compare(elementwise_case(name, name, numbers, given), tolerance=1e-11)


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if rule.arity == 2 and rule.kind != "boolean"])
def test_functions_of_two_at_ties_and_limits(name: str) -> None:
    """Functions of two numbers equal torch's for each pair of special numbers."""
    special = np.array(_SPECIAL)
    numbers = {"abs_power_error": [2.0]}.get(name, [])
    given = [Given(tensor((len(special), 1)), special[:, np.newaxis]), Given(tensor((len(special),)), special)]
    graph = TensorGraph()
    leaves = [graph.add(Leaf(each.type)) for each in given]
    (value,) = evaluate(
        [elementwise_case(name, name, numbers, given).build(*leaves)],
        dict(zip(leaves, (each.value for each in given), strict=True)),
    )
    expected = _row(name)(*(torch.tensor(each.value) for each in given), *numbers).numpy()
    np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_logic() -> None:
    """Logic equals torch's for all combinations of booleans."""
    for name in ("and", "or", "xor", "not"):
        arity = RULES[name].arity
        truth = np.array([[False, False, True, True], [False, True, False, True]])[:arity]
        assert (RULES[name].evaluate(*truth) == _row(name)(*map(torch.tensor, truth)).numpy()).all()


def test_ties_share_the_gradient() -> None:
    """Equal operands share the gradient, as in torch, for maximum, minimum, amax and amin."""
    a, b = np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 3.0])
    given = [Given(tensor((3,)), a), Given(tensor((3,)), b)]
    for name in ("maximum", "minimum"):
        _compare(elementwise_case(name, name, (), given))
    tied = [Given(tensor((2, 3)), np.array([[1.0, 4.0, 4.0], [4.0, -2.0, -2.0]]))]
    _compare(Case("max", lambda x: x.max(), tied, lambda _, x: x.amax((1, 2))))
    _compare(Case("min", lambda x: x.min(1), tied, lambda _, x: x.amin(2)))


def test_softmax_of_large_numbers() -> None:
    """Softmax and its logarithm equal torch's for numbers whose exponentials would overflow."""
    given = [Given(tensor((2, 3)), np.array([[1000.0, -1000.0, 0.0], [-2000.0, -2000.0, -2000.0]]))]
    _compare(Case("softmax", lambda x: x.softmax(), given, lambda _, x: x.softmax(-1)))
    _compare(Case("log_softmax", lambda x: x.log_softmax(), given, lambda _, x: x.log_softmax(-1)))


def test_a_whole_network() -> None:
    """The weights' gradients of a two-layer network with a loss over the batch equal torch's."""
    rng = np.random.default_rng(4)
    w0, b0, w1, x, target = (rng.normal(size=shape) for shape in ((6, 5), (6, 1), (3, 6), (7, 5, 1), (7, 3, 1)))
    graph = TensorGraph()
    leaves = [
        graph.add(Leaf(tensor(shape, batched)))
        for shape, batched in (((6, 5), False), ((6, 1), False), ((3, 6), False), ((5, 1), True), ((3, 1), True))
    ]
    weights, bias, second, inputs, targets = leaves
    logits = second @ (weights @ inputs + bias).gelu()
    loss = -(targets.softmax(0) * logits.log_softmax(0)).sum().mean_batch()
    found = gradients(loss, [weights, bias, second])
    got = evaluate([loss, *found.values()], dict(zip(leaves, (w0, b0, w1, x, target), strict=True)))
    tensors = [torch.tensor(each, requires_grad=True) for each in (w0, b0, w1)]
    out = tensors[2] @ torch.nn.functional.gelu(tensors[0] @ torch.tensor(x) + tensors[1])
    expected = torch.nn.functional.cross_entropy(out[..., 0], torch.tensor(target)[..., 0].softmax(-1))
    expected.backward()
    for mine, theirs in zip(got, [expected.detach(), *(each.grad for each in tensors)], strict=True):
        np.testing.assert_allclose(mine, theirs.numpy(), rtol=1e-12, atol=1e-14)
    assert loss.type.dtype == f64
