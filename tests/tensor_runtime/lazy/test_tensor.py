"""Lazy tensors: leaves, conversions, memory of other libraries, gradients, and mistakes."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom.engine.diagnostics import DeviceError
from warploom.engine.tensor_ir.evaluation import evaluate
from warploom.engine.tensor_runtime.lazy.devices import lazy_device
from warploom.engine.types import DType, f32, f64, s32
from warploom.tensors import (
    ExecutionFailed,
    InvalidOperation,
    MergeFailed,
    ShapeMismatch,
    Tensor,
    TopologicalSortFailed,
    allow_tf32,
    execute,
)

NUMBERS = np.random.default_rng(3).normal(size=(3, 4)).astype(np.float32)


def host(array: Any, **options: Any) -> Tensor:
    """Return a tensor on the host."""
    return Tensor.from_numpy(np.asarray(array), device="host", **options)


# Leaves


@pytest.mark.parametrize("shape", [(), (1,), (5,), (5, 1), (1, 5), (2, 3, 4), (1, 1, 1)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1", "?"])
def test_an_array_comes_back_as_it_was(on: str, shape: tuple[int, ...], dtype: str) -> None:
    """A tensor of an array has the array's shape, element type and elements."""
    array = (np.random.default_rng(1).normal(size=shape) * 9).astype(dtype)
    given = np.asarray(array).copy()
    tensor = Tensor.from_numpy(given, device=on)
    given[...] = 0
    assert tensor.is_computed
    found = tensor.numpy()
    assert (found.shape, found.dtype) == (shape, np.dtype(dtype))
    np.testing.assert_array_equal(found, array)


def test_filled_tensors(on: str) -> None:
    """Filled tensors are computed when they are requested."""
    full = Tensor.full((2, 3), 1.5, device=on)
    assert not full.is_computed
    np.testing.assert_array_equal(full.numpy(), np.full((2, 3), 1.5, np.float32))
    np.testing.assert_array_equal(Tensor.zeros((4,), dtype=s32, device=on).numpy(), np.zeros(4, np.int32))
    ones = Tensor.ones((), dtype=f64, device=on)
    assert ones.item() == 1.0
    assert ones.numpy().dtype == np.float64


def test_random_numbers_follow_from_the_seed(on: str) -> None:
    """Numbers are from 0 to below 1, and another seed gives other numbers."""
    first, again, other = (Tensor.rand((1000, 7), seed=seed, device=on).numpy() for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert first.min() >= 0
    assert first.max() < 1
    assert abs(first.mean() - 0.5) < 0.02
    assert abs(first.std() - 12**-0.5) < 0.02
    assert (first != other).mean() > 0.99
    assert len(np.unique(first)) > 6900


@pytest.mark.parametrize("make", [Tensor.rand, Tensor.randn])
def test_random_tensors_without_a_seed_differ(on: str, make: Any) -> None:
    """Each random tensor differs from all others; after the same `manual_seed`, they are repeated."""
    runs = []
    for _ in range(2):
        Tensor.manual_seed(7)
        runs.append([make((5, 3), device=on).numpy() for _ in range(3)])
    np.testing.assert_array_equal(*runs)
    free = [make((5, 3), device=on).numpy().tobytes() for _ in range(5)]
    assert len({*free, *(array.tobytes() for array in runs[0])}) == 8
    np.testing.assert_array_equal(*(make((5, 3), seed=1, device=on).numpy() for _ in range(2)))
    with pytest.raises(InvalidOperation, match=r"seed must be at least 0 and below 2\*\*32, got -1"):
        Tensor.manual_seed(-1)


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("dtype", [f32, f64])
def test_random_numbers_are_those_of_the_reference(on: str, seed: int, dtype: DType) -> None:
    """Random numbers have the reference's bits on every device."""
    tensor = Tensor.rand((3, 11), seed=seed, dtype=dtype, device=on)
    (expected,) = evaluate([tensor._node()], {})
    np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_that_there_are_not(seed: int) -> None:
    """A seed of more than 32 bits is refused."""
    with pytest.raises(InvalidOperation, match=r"seed must be at least 0 and below 2\*\*32, got"):
        Tensor.rand((3,), seed=seed, device="host")


@pytest.mark.parametrize("seed", [1.5, float("nan"), "1"])
def test_seeds_that_are_not_whole(seed: Any) -> None:
    """A seed with a fraction is refused rather than rounded."""
    with pytest.raises(InvalidOperation, match="seed must be a whole number, got"):
        Tensor.rand((3,), seed=seed, device="host")


@pytest.mark.parametrize("shape", [(2.5,), 3, "ab", None])
def test_shapes_that_are_not_whole(shape: Any) -> None:
    """A shape with a fractional size is refused rather than rounded."""
    with pytest.raises(ShapeMismatch, match="sizes of a shape must be a sequence of whole numbers, got"):
        Tensor.zeros(shape, device="host")


def test_products_with_arrays(on: str) -> None:
    """A numpy array may be either factor; an object that is no tensor is refused."""
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal((Tensor.from_numpy(a, device=on) @ b).numpy(), a @ b)
    np.testing.assert_array_equal((a @ Tensor.from_numpy(b, device=on)).numpy(), a @ b)
    with pytest.raises(InvalidOperation, match="operand must be a tensor or a number, got NoneType"):
        _ = Tensor.from_numpy(a, device=on) @ None  # type: ignore[operator]


def test_products_are_rounded_only_where_that_is_allowed(on: str) -> None:
    """Allowed products are rounded to 11 bits on a GPU; the host ignores the setting."""
    random = np.random.default_rng(5)
    a, b = (random.normal(size=shape).astype(np.float32) for shape in ((96, 512), (512, 64)))
    x, y = (Tensor.from_numpy(array, device=on) for array in (a, b))
    with allow_tf32():
        rounded = x @ y
    expected = a.astype(np.float64) @ b
    errors = [float(np.abs(found.numpy() - expected).max()) for found in (x @ y, rounded)]
    assert errors[0] < 2e-4
    assert errors[1] == errors[0] if on == "host" else 1e-3 < errors[1] < 0.2


def test_normal_random_numbers(on: str) -> None:
    """Normal numbers have mean 0, standard deviation 1, and tails of the right weight."""
    found = Tensor.randn((20_000,), seed=5, device=on).numpy()
    assert np.isfinite(found).all()
    assert abs(found.mean()) < 0.03
    assert abs(found.std() - 1) < 0.03
    assert abs((np.abs(found) < 1).mean() - 0.6827) < 0.02


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, -1)])
def test_a_tensor_has_elements(shape: tuple[int, ...]) -> None:
    """A size of 0 is refused when the tensor is made."""
    with pytest.raises(ShapeMismatch, match="sizes of a shape must be at least 1, got"):
        Tensor.zeros(shape, device="host")


def test_element_types_that_there_are_not() -> None:
    """An array of an unknown element type is refused with the allowed ones."""
    with pytest.raises(InvalidOperation, match=r"array dtype must be one of .*, got <U1"):
        host(["a"])


def test_devices_that_there_are_not() -> None:
    """An unknown device is refused."""
    with pytest.raises(DeviceError, match='device must be "auto", "host"'):
        Tensor.zeros((1,), device="tpu")


# Memory of other libraries


class Lent:
    """An array that offers DLPack only, as arrays of other libraries do."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("shape", [(3, 4), (5, 1), ()])
def test_an_array_of_another_library_is_used_in_place(shape: tuple[int, ...]) -> None:
    """A change of another library's array after the tensor was made reaches later results."""
    array = np.ones(shape, np.float32)
    for lent in (array, Lent(array)):
        tensor = Tensor.from_dlpack(lent, device="host")
        array[...] = 2
        np.testing.assert_array_equal((tensor + 1).numpy(), np.full(shape, 3, np.float32))
        array[...] = 1


def test_an_array_of_another_library_is_kept_as_long_as_needed() -> None:
    """An array of another library is kept while a tensor still has to be computed from it."""
    array = np.ones(4, np.float32)
    tensor = Tensor.from_dlpack(Lent(array))
    assert tensor.device == "host"
    out = tensor + 1
    del tensor
    assert not np.shares_memory(out.numpy(), array)


def test_an_array_that_may_only_be_read_is_used_in_place() -> None:
    """A read-only array is used without a copy, and computing with it leaves it as it was."""
    array = np.arange(4, dtype=np.float32)
    array.flags.writeable = False
    tensor = Tensor.from_dlpack(array)
    assert np.asarray(tensor).ctypes.data == array.ctypes.data
    for _ in range(2):
        np.testing.assert_array_equal((tensor * 2 + 1).numpy(), [1, 3, 5, 7])
    np.testing.assert_array_equal(array, [0, 1, 2, 3])


def test_arrays_that_cannot_be_used_in_place() -> None:
    """An array that can't be used in place is refused with a remedy."""
    with pytest.raises(InvalidOperation, match=r"array must be C-contiguous .* got strides \(4, 12\); copy it first"):
        Tensor.from_dlpack(np.zeros((4, 3), np.float32).T)
    with pytest.raises(InvalidOperation, match="external array must have __array_interface__"):
        Tensor.from_dlpack([1, 2])


@pytest.mark.gpu
def test_torch_and_the_gpu() -> None:
    """Both libraries read each other's tensors in place."""
    torch = pytest.importorskip("torch")
    theirs = torch.arange(6, dtype=torch.float32, device="cuda").reshape(2, 3)
    ours = Tensor.from_dlpack(theirs)
    assert ours.device == "cuda:0"
    out = ours * 2
    np.testing.assert_array_equal(out.numpy(), theirs.cpu().numpy() * 2)
    back = torch.as_tensor(out, device="cuda")
    assert back.data_ptr() == out.__cuda_array_interface__["data"][0]
    assert torch.equal(back, theirs * 2)


def test_the_host_has_no_memory_on_a_gpu() -> None:
    """A tensor on the host lacks `__cuda_array_interface__`."""
    assert not hasattr(host([1.0]), "__cuda_array_interface__")


# Conversions


def test_numpy_takes_a_tensor(on: str) -> None:
    """numpy converts a tensor to an array of the same or another element type."""
    tensor = Tensor.from_numpy(NUMBERS, device=on) + 1
    np.testing.assert_array_equal(np.asarray(tensor), NUMBERS + 1)
    assert np.asarray(tensor, dtype=np.float64).dtype == np.float64
    copy = np.array(tensor)
    copy[...] = 0
    np.testing.assert_array_equal(tensor.numpy(), NUMBERS + 1)
    if on != "host":
        with pytest.raises(ValueError, match="copy=False"):
            np.asarray(tensor, copy=False)


def test_numpy_reads_a_tensor_in_place() -> None:
    """On the host, numpy's arrays of a tensor share its memory, only read it, and outlast it."""
    tensor = Tensor.from_numpy(NUMBERS, device="host") + 1
    arrays = [np.asarray(tensor), np.from_dlpack(tensor), np.asarray(tensor, copy=False)]
    del tensor
    others = [(Tensor.from_numpy(NUMBERS, device="host") * step).execute() for step in range(3)]
    for array in arrays:
        assert array.ctypes.data == arrays[0].ctypes.data
        assert not array.flags.writeable
        np.testing.assert_array_equal(array, NUMBERS + 1)
    assert all(not np.shares_memory(arrays[0], np.asarray(other)) for other in others)


def test_arrays_are_operands(on: str) -> None:
    """Arrays may be either operand; they become leaves, and a single numpy number becomes a constant."""
    tensor = Tensor.from_numpy(NUMBERS, device=on)
    np.testing.assert_array_equal((tensor + NUMBERS).numpy(), NUMBERS * 2)
    np.testing.assert_array_equal((NUMBERS[0] - tensor).numpy(), NUMBERS[0] - NUMBERS)
    np.testing.assert_allclose((NUMBERS.T @ tensor).numpy(), NUMBERS.T @ NUMBERS, rtol=1e-5)
    np.testing.assert_array_equal((np.float32(2) * tensor).numpy(), NUMBERS * 2)
    assert type(NUMBERS * tensor) is Tensor
    with pytest.raises(InvalidOperation, match="element type"):
        tensor + NUMBERS.astype(np.float64)


def test_one_number(on: str) -> None:
    """A tensor of one element becomes a number of Python."""
    tensor = Tensor.from_numpy(NUMBERS, device=on).sum()
    assert tensor.item() == pytest.approx(float(NUMBERS.sum()), rel=1e-5)
    assert float(tensor) == tensor.item()
    assert bool(tensor.greater(1e6)) is False
    with pytest.raises(ShapeMismatch, match=r"must have one element to be a number, got .*f32\[3, 4\]"):
        host(NUMBERS).item()


def test_repr_computes_nothing() -> None:
    """The text of a tensor has its type, its device and whether it is computed, and computes nothing."""
    tensor = host(NUMBERS, name="x")
    assert repr(tensor) == "Tensor(x: f32[3, 4], host, computed)"
    out = tensor + 1
    assert repr(out).endswith(": f32[3, 4], host, not computed yet)")
    out.execute()
    assert repr(out).startswith("Tensor(Add")
    assert repr(out).endswith(": f32[3, 4], host, computed)")


def test_what_is_known_without_computing() -> None:
    """Shape, element type and device are known without computing."""
    tensor = host(NUMBERS) @ host(NUMBERS.T)
    assert (tensor.shape, tensor.dtype, tensor.size, tensor.device) == ((3, 3), f32, 9, "host")
    assert not tensor.is_computed


def test_to_the_device_where_it_is() -> None:
    """`to` with the tensor's own device returns the tensor itself."""
    tensor = host(NUMBERS)
    assert tensor.to("host") is tensor


@pytest.mark.gpu
def test_to_another_device() -> None:
    """`to` copies a tensor to another device; tensors of two devices can't be combined."""
    tensor = host(NUMBERS)
    moved = tensor.to("cuda:0") * 2
    assert moved.device == "cuda:0"
    np.testing.assert_array_equal(moved.to("host").numpy(), NUMBERS * 2)
    with pytest.raises(MergeFailed, match=r"must be on one device .* got .*cuda:0.*; use to\("):
        tensor + moved


# Gradients


def test_gradients_are_tensors() -> None:
    """Gradients of one number are tensors, with respect to tensors that require one."""
    weights = host(NUMBERS, requires_grad=True)
    inputs = host(NUMBERS[0])
    loss = ((weights * inputs).square()).sum()
    (gradient,) = loss.gradients([weights])
    assert not gradient.is_computed
    np.testing.assert_allclose(gradient.numpy(), 2 * NUMBERS * NUMBERS[0] ** 2, rtol=1e-5)
    assert not gradient.requires_grad


def test_gradients_after_the_loss_was_computed() -> None:
    """A tensor that requires a gradient keeps its inputs even after the loss was computed."""
    weights = host(NUMBERS, requires_grad=True)
    loss = weights.square().sum()
    loss.execute()
    (gradient,) = loss.gradients([weights])
    np.testing.assert_allclose(gradient.numpy(), 2 * NUMBERS, rtol=1e-6)


def test_second_derivatives() -> None:
    """Gradients can be differentiated if that was requested."""
    x = host(np.float64(0.7), requires_grad=True)
    (first,) = x.sin().gradients([x], differentiable=True)
    (second,) = first.gradients([x])
    assert first.item() == pytest.approx(np.cos(0.7))
    assert second.item() == pytest.approx(-np.sin(0.7))


def test_a_gradient_must_be_one_that_is_required() -> None:
    """A gradient with respect to a tensor that requires none, or has no floats, is refused."""
    weights = host(NUMBERS)
    with pytest.raises(InvalidOperation, match="a gradient must be asked for floats that require one"):
        weights.sum().gradients([weights])
    with pytest.raises(InvalidOperation, match="tensor must have floats to have a gradient, got s32"):
        host(np.arange(3, dtype=np.int32), requires_grad=True)


def test_what_does_not_matter_has_gradient_zero() -> None:
    """The gradient with respect to a tensor without influence is a zero tensor of its shape."""
    weights, other = (host(NUMBERS, requires_grad=True) for _ in range(2))
    np.testing.assert_array_equal((weights.sum() + 0 * 1).gradients([other])[0].numpy(), np.zeros((3, 4), np.float32))


def test_equal_gradients_are_one_tensor() -> None:
    """Gradients that are the same node are the same tensor."""
    x, y = host(np.float64(2.0), requires_grad=True), host(np.float64(3.0), requires_grad=True)
    first, second = (x + y).gradients([x, y])
    assert first is second
    assert first.item() == 1.0


def test_a_leaf_of_what_was_computed() -> None:
    """Gradient descent by hand begins each step with a new leaf, so no earlier step is kept."""
    target = host(NUMBERS)
    weights = host(np.zeros((3, 4), np.float32), requires_grad=True)
    for _ in range(40):
        (gradient,) = (weights - target).square().sum().gradients([weights])
        weights = (weights - 0.1 * gradient).leaf(requires_grad=True)
    np.testing.assert_allclose(weights.numpy(), NUMBERS, atol=1e-3)
    assert len(weights.order()) == 1


def test_the_example_of_the_contract(on: str) -> None:
    """The contract's example, a sum over a transposed product, is lazy and equals numpy's result."""
    a, b = Tensor.from_numpy(NUMBERS, device=on), Tensor.from_numpy(NUMBERS.T, device=on)
    c = (a @ b).transpose((1, 0)).sum(axis=0)
    assert c.shape == (3,)
    assert not c.is_computed
    c.execute()
    np.testing.assert_allclose(c.numpy(), (NUMBERS @ NUMBERS.T).T.sum(axis=0), rtol=1e-5)


# Inspection


def test_one_node_and_the_order() -> None:
    """`info` has a node's inputs and origin, and `order` has the nodes that compute the tensor."""
    a = host(NUMBERS, name="a")
    out = a + a
    assert out.info().inputs == ("a", "a")
    assert out.info().origin is not None
    assert [node.label for node in out.order()] == ["a", out.info().label]


def test_the_graph_can_be_printed() -> None:
    """The printed graph marks computed nodes."""
    a = host(NUMBERS, name="a")
    out = a.exp() + 1
    text = io.StringIO()
    out.print_graph(text)
    lines = text.getvalue().splitlines()
    assert lines[0] == "graph of 4 nodes, 2 of them leaves"
    assert lines[1].startswith("  a: f32[3, 4]; computed; ")
    assert "computed" not in lines[-1]
    out.execute()
    text = io.StringIO()
    out.print_graph(text)
    assert text.getvalue().splitlines()[1].startswith(f"  {out.info().label}: f32[3, 4]; computed; ")


def test_the_graph_can_be_drawn(tmp_path: Path) -> None:
    """A drawing is SVG or for Graphviz, by the file's suffix."""
    out = host(NUMBERS, name="a") + 1
    out.dump_graphviz(tmp_path / "graph.svg")
    out.dump_graphviz(tmp_path / "graph.dot")
    assert (tmp_path / "graph.svg").read_text().startswith("<svg")
    assert (tmp_path / "graph.dot").read_text().startswith("digraph tensors {")


# Mistakes


def test_shapes_that_do_not_fit() -> None:
    """Shapes that don't fit are refused with both shapes and the line of the user's code."""
    a, b = host(NUMBERS), host(NUMBERS.T)
    with pytest.raises(ShapeMismatch, match=r"\[3, 4\] and \[4, 3\] \(.*test_tensor\.py:\d+\)"):
        a + b
    with pytest.raises(ShapeMismatch, match=r"3 x 4 and 3 x 4 \(.*test_tensor\.py:\d+\)"):
        a @ a
    np.testing.assert_allclose((a @ b).numpy(), NUMBERS @ NUMBERS.T, rtol=1e-5)


def test_what_is_no_operand() -> None:
    """An object that is neither a tensor nor a number is refused."""
    a = host(NUMBERS)
    for wrong in ("2", None, [1.0]):
        with pytest.raises(InvalidOperation, match="operand must be a tensor or a number, got"):
            a + wrong  # type: ignore[operator]


def test_a_cycle_is_told(on: str) -> None:
    """A cycle, which only changing nodes by hand can make, is an error."""
    a = Tensor.from_numpy(NUMBERS, device=on)
    first = a + 1
    second = first * 2
    before = first._lazy.inputs
    first._lazy.inputs = (second._lazy, second._lazy)
    with pytest.raises(TopologicalSortFailed, match="must not be computed from themselves"):
        second.execute()
    first._lazy.inputs = before
    np.testing.assert_array_equal(second.numpy(), (NUMBERS + 1) * 2)


def test_too_much_memory_is_told(on: str) -> None:
    """A tensor that is too large is an error with its shape, line and device, and other tensors stay usable."""
    a = Tensor.from_numpy(NUMBERS, device=on)
    good = a + 1
    huge = Tensor.zeros((1 << 20, 1 << 20, 16), device=on) + a.sum()
    with pytest.raises(
        ExecutionFailed, match=rf"Add\d+: f32\[1048576, .*test_tensor\.py:\d+, must be computed on {on}"
    ):
        huge.execute()
    assert not huge.is_computed
    execute([good, a])
    np.testing.assert_array_equal(good.numpy(), NUMBERS + 1)
    assert lazy_device(on).used_bytes < 1 << 30
