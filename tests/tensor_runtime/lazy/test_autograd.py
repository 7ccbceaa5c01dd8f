"""Gradients that tensors keep, and tensors that change in place: they equal numpy, in any order of calls."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing import many
from warploom.engine.tensor_ir.errors import InvalidOperation, ShapeMismatch
from warploom.engine.types import s32
from warploom.tensors import Tensor

XS = np.random.default_rng(0).normal(size=(16, 3))
YS = XS @ np.array([[2.0], [-1.0], [0.5]])


def leaf(array: Any, on: str, *, requires_grad: bool = True) -> Tensor:
    return Tensor.from_numpy(np.asarray(array, np.float64), device=on, requires_grad=requires_grad)


def test_descent_as_in_other_libraries(on: str) -> None:
    """A loop of backward, axpy and zero_grad makes the steps of numpy's gradient descent."""
    x, y, w = leaf(XS, on, requires_grad=False), leaf(YS, on, requires_grad=False), leaf(np.zeros((3, 1)), on)
    expected = np.zeros((3, 1))
    for _ in range(5):
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        slope = 2 * XS.T @ (XS @ expected - YS) / len(XS)
        assert w.grad is not None
        assert loss.is_computed
        np.testing.assert_allclose(w.grad.numpy(), slope, rtol=1e-12)
        assert w.axpy(-0.3, w.grad) is w
        w.zero_grad()
        expected = expected - 0.3 * slope
        np.testing.assert_allclose(w.numpy(), expected, rtol=1e-12)
    assert w.grad is None
    assert x.grad is None


def test_gradients_accumulate(on: str) -> None:
    """Gradients of several results add up, those of a result that isn't one number begin with the given gradient."""
    a = leaf([1.0, 2.0], on)
    (a * a).sum().backward()
    (a * 3).backward(leaf([1.0, -1.0], on, requires_grad=False))
    assert a.grad is not None
    np.testing.assert_array_equal(a.grad.numpy(), [5.0, 1.0])
    assert not a.grad.requires_grad


@pytest.mark.parametrize("computed", [False, True])
def test_what_was_made_before_a_change_keeps_its_values(computed: bool) -> None:
    """Results and arrays that were made before axpy keep the earlier contents, and so do their gradients."""
    a = leaf([1.0, 2.0], "host")
    before, loss = a * 10, (a * a).sum()
    if computed:
        before.execute()
        loss.execute()
    seen = np.asarray(a)
    a.axpy(2.0, leaf([1.0, 1.0], "host", requires_grad=False))
    np.testing.assert_array_equal(a.numpy(), [3.0, 4.0])
    np.testing.assert_array_equal(np.asarray(a), [3.0, 4.0])
    a.axpy(1.0, a)
    np.testing.assert_array_equal(np.asarray(a), [6.0, 8.0])
    np.testing.assert_array_equal(before.numpy(), [10.0, 20.0])
    np.testing.assert_array_equal(seen, [1.0, 2.0])
    loss.backward()
    assert a.grad is not None
    np.testing.assert_array_equal(a.grad.numpy(), [2.0, 4.0])
    assert (a.requires_grad, a.is_computed, a.type) == (True, True, before.type)


def test_gradients_of_two_tensors_are_separate(on: str) -> None:
    """A gradient that is changed in place is not that of another tensor, even if both were equal."""
    a, b = leaf([1.0, 2.0], on), leaf([3.0, 4.0], on)
    (a + b).sum().backward()
    assert a.grad is not None
    assert b.grad is not None
    a.grad.axpy(1.0, a)
    np.testing.assert_array_equal(a.grad.numpy(), [2.0, 3.0])
    np.testing.assert_array_equal(b.grad.numpy(), [1.0, 1.0])


def test_requires_grad_can_be_set() -> None:
    """It concerns what is made from then on; earlier results keep their gradients."""
    a, b = leaf([1.0, 2.0], "host", requires_grad=False), leaf([3.0, 4.0], "host")
    frozen = (a * b).sum()
    a.requires_grad = True
    (a * b).sum().backward()
    frozen.backward()
    assert a.grad is not None
    assert b.grad is not None
    np.testing.assert_array_equal(a.grad.numpy(), [3.0, 4.0])
    np.testing.assert_array_equal(b.grad.numpy(), [2.0, 4.0])
    kept = (a * b).sum()
    b.requires_grad = False
    assert not (b * 2).requires_grad
    kept.backward()
    np.testing.assert_array_equal(a.grad.numpy(), [6.0, 8.0])
    np.testing.assert_array_equal(b.grad.numpy(), [2.0, 4.0])
    filled = Tensor.zeros((2,), device="host")
    filled.requires_grad = True
    (filled * 3).sum().backward()
    assert filled.grad is not None
    np.testing.assert_array_equal(filled.grad.numpy(), [3.0, 3.0])


def test_wrong_calls_change_nothing() -> None:
    """Calls that can't be done are refused with the tensor and the rule, and change no gradient."""
    a, b = leaf([1.0, 2.0], "host"), leaf([1.0, 2.0], "host", requires_grad=False)
    calls: list[tuple[Any, type[Exception], str]] = [
        (
            lambda: (b * 2).sum().backward(),
            InvalidOperation,
            "tensor to differentiate must depend on one that requires",
        ),
        (lambda: (a * 2).backward(), InvalidOperation, "must be one number that isn't batched, got"),
        (lambda: (a * 2).backward(b[:1]), InvalidOperation, "seed must have the type of the differentiated node"),
        (
            lambda: (a * 2).axpy(1.0, b),
            InvalidOperation,
            "tensor must be a leaf, or require no gradient, to be changed",
        ),
        (lambda: a.axpy(1.0, leaf([[1.0, 2.0]], "host")), ShapeMismatch, "operand of axpy must have the type"),
        (lambda: a.axpy("x", b), InvalidOperation, "alpha must be a finite number, got 'x'"),  # type: ignore[arg-type]
        (
            lambda: setattr(a * 2, "requires_grad", False),
            InvalidOperation,
            "tensor must be a leaf to change requires_grad",
        ),
        (lambda: setattr(a, "requires_grad", 1), InvalidOperation, "requires_grad must be True or False, got 1"),
        (
            lambda: setattr(Tensor.ones((2,), dtype=s32, device="host"), "requires_grad", True),
            InvalidOperation,
            "tensor must have floats to have a gradient, got s32",
        ),
    ]
    for call, kind, message in calls:
        with pytest.raises(kind, match=message):
            call()
    np.testing.assert_array_equal(a.numpy(), [1.0, 2.0])
    assert a.grad is None
    problems: list[Exception] = []

    def elsewhere() -> None:
        for call in (a.backward, lambda: a.axpy(1.0, b), lambda: setattr(a, "requires_grad", False)):
            try:
                call()
            except InvalidOperation as problem:
                problems.append(problem)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(problems) == 3


STEPS = st.lists(st.sampled_from(["loss", "backward", "axpy a", "axpy b", "zero a", "grad b", "read"]), max_size=20)


@settings(max_examples=many(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_order_of_calls_follows_numpy(on: str, steps: list[str]) -> None:
    """For any order of losses, backward, axpy, zero_grad and requires_grad, contents and gradients are numpy's."""
    a, b = leaf([1.0, -2.0], on), leaf([0.5, 3.0], on)
    values = {"a": np.array([1.0, -2.0]), "b": np.array([0.5, 3.0])}
    slopes: dict[str, Any] = {"a": None, "b": None}
    wanted, loss, at = True, None, {}
    for step in [*steps, "read"]:
        if step == "loss":
            loss = (a * b + a * a).sum()
            at = dict(values) | {"b wanted": wanted}
        elif step == "backward" and loss is not None:
            loss.backward()
            parts = {"a": at["b"] + 2 * at["a"]} | ({"b": at["a"]} if wanted and at["b wanted"] else {})
            for name, part in parts.items():
                slopes[name] = part if slopes[name] is None else slopes[name] + part
        elif step == "axpy a":
            a.axpy(0.25, b)
            values["a"] = values["a"] + 0.25 * values["b"]
        elif step == "axpy b":
            b.axpy(-0.5, a)
            values["b"] = values["b"] - 0.5 * values["a"]
        elif step == "zero a":
            a.zero_grad()
            slopes["a"] = None
        elif step == "grad b":
            wanted = b.requires_grad = not wanted
        elif step == "read":
            for name, tensor in (("a", a), ("b", b)):
                np.testing.assert_allclose(tensor.numpy(), values[name], rtol=1e-12)
                assert (tensor.grad is None) == (slopes[name] is None)
                if tensor.grad is not None:
                    np.testing.assert_allclose(tensor.grad.numpy(), slopes[name], rtol=1e-12, atol=1e-12)
