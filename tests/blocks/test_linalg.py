"""Blocks of linear algebra compared with numpy: ports, parameters and live numbers, which calls alone don't show."""

from typing import Any

import numpy as np
import pytest

from tests.blocks.running import apply, problems, run
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.diagnostics import Severity
from warploom.engine.types import Array

RNG = np.random.default_rng(5)


def placed(patch: Patch, block: str, inputs: dict[str, Array], **parameters: Any) -> Any:
    """Add a block with arrays at its inputs."""
    node = patch.add(block, **parameters)
    for name, data in inputs.items():
        patch.connect(patch.add("io.array", data=data)["out"], node[name])
    return node


def test_a_layer_of_a_network_is_one_product() -> None:
    """Multiply adds the bias and applies the activation; a new alpha is HOT, and a new activation a RECAPTURE."""
    x, w, bias = (RNG.normal(size=shape).astype(np.float32) for shape in ((5, 7), (3, 7), (3,)))
    patch = Patch()
    given = {"a": x, "b": w, "bias": bias}
    layer = placed(patch, "linalg.multiply", given, transpose_b=True, activation="relu")
    with Engine(patch, device="host") as engine:
        engine.step()
        assert np.allclose(engine.read(layer["out"]), np.maximum(x @ w.T + bias, 0), atol=1e-5)
        patch.set(layer, alpha=2.0)
        assert engine.step().update_level is UpdateLevel.HOT
        assert np.allclose(engine.read(layer["out"]), np.maximum(2 * x @ w.T + bias, 0), atol=1e-5)
        patch.set(layer, activation="none")
        assert engine.step().update_level is UpdateLevel.RECAPTURE
        assert np.allclose(engine.read(layer["out"]), 2 * x @ w.T + bias, atol=1e-5)


def test_matrices_and_vectors_are_multiplied_and_added() -> None:
    """Matrix-vector products, sums of matrices, dot products and norms equal numpy's."""
    a, b, x, y = (RNG.normal(size=shape) for shape in ((5, 7), (7, 5), (5,), (7,)))
    found = apply("linalg.matrix_vector", {"a": a, "x": x, "y": y}, transpose=True, alpha=2.0, beta=-1.0)
    assert np.allclose(found, 2 * a.T @ x - y)
    assert np.allclose(apply("linalg.add_matrices", {"a": a, "b": b}, transpose_b=True, beta=0.5), a + b.T / 2)
    assert np.allclose(apply("linalg.add_matrices", {"a": a}, transpose_a=True), a.T)
    assert np.allclose(apply("linalg.dot", {"x": x, "y": x}), x @ x)
    assert np.allclose(apply("linalg.norm", {"x": a}), np.linalg.norm(a))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
def test_factors_may_be_worked_out_on_the_device(dtype: str) -> None:
    """Subtracting a projection works with a factor that is a dot product computed on the device."""
    x = RNG.normal(size=1027).astype(dtype)
    x /= np.linalg.norm(x)
    y = RNG.normal(size=1027).astype(dtype)
    patch = Patch()
    part = placed(patch, "linalg.dot", {"x": x, "y": y})
    less, scaled = placed(patch, "linalg.add_scaled", {"x": -x}), patch.add("linalg.scale")
    for node, port in ((less, "y"), (scaled, "x")):  # both blocks change their input in place
        patch.connect(placed(patch, "buffer.copy", {"x": y})["out"], node[port])
        patch.connect(part["out"], node["factor"])
    rest, multiple = run(patch, less["out"], scaled["out"], frames=3)
    assert np.allclose(rest, y - (x @ y) * x, atol=1e-5)
    assert np.allclose(multiple, (x @ y) * y, atol=1e-5)


def test_systems_are_solved_and_matrices_factored() -> None:
    """Solvers, the inverse and all factorisations equal numpy's results or multiply to the matrix."""
    a, b = RNG.normal(size=(5, 5)) + 5 * np.eye(5), RNG.normal(size=(5, 2))
    h = a @ a.T
    assert np.allclose(apply("linalg.solve", {"a": a, "b": b}, port="x"), np.linalg.solve(a, b))
    positive = apply("linalg.solve", {"a": h, "b": b}, port="x", matrix="positive definite")
    assert np.allclose(positive, np.linalg.solve(h, b))
    tall, side = RNG.normal(size=(9, 4)), RNG.normal(size=9)
    found = apply("linalg.least_squares", {"a": tall, "b": side}, port="x")
    assert np.allclose(found, np.linalg.lstsq(tall, side)[0])
    assert np.allclose(apply("linalg.inverse", {"a": a}), np.linalg.inv(a))
    assert np.allclose(apply("linalg.cholesky", {"a": h}), np.linalg.cholesky(h))
    patch = Patch()
    made = {name: placed(patch, f"linalg.{name}", {"a": h}) for name in ("lu", "qr", "eigen", "svd")}
    ports = ["lu.lower", "lu.upper", "lu.order", "qr.q", "qr.r", "eigen.eigenvalues", "eigen.vectors", "svd.u", "svd.s"]
    places = [made[name][port] for name, port in (text.split(".") for text in ports)]
    lower, upper, order, q, r, values, vectors, u, s = run(patch, *places)
    assert np.allclose(lower @ upper, h[order]) and np.allclose(q @ r, h)
    assert np.allclose(h @ vectors, vectors * values) and np.allclose(np.abs(u.T @ u), np.eye(5))
    assert np.allclose(s, values[::-1])


def test_a_matrix_that_cant_be_solved_gives_a_warning_while_it_is_there() -> None:
    """A singular matrix is a warning at the result's port, which names the column; a regular one ends the warning."""
    flat = np.eye(3, dtype=np.float32)
    flat[:, 1] = 0
    patch = Patch()
    source = patch.add("io.array", data=flat)
    copied = patch.add("math.scale_offset")
    solve = placed(patch, "linalg.solve", {"b": np.ones(3, np.float32)})
    patch.connect(source["out"], copied["x"])
    patch.connect(copied["out"], solve["a"])
    with Engine(patch, device="host") as engine:
        (reported,) = engine.step().diagnostics
        assert (reported.severity, reported.node, reported.port) == (Severity.WARNING, solve.id, "x")
        assert reported.message == "matrix must be invertible, got column 1 as a combination of those before it"
        patch.set(source, data=np.eye(3, dtype=np.float32))
        assert not engine.step().diagnostics
        assert np.array_equal(engine.read(solve["x"]), np.ones(3))


def test_a_call_in_a_region_that_did_not_run_warns_of_nothing() -> None:
    """A call's warning ends in the first frame that skips its region."""
    patch = Patch()
    condition = patch.add("buffer.constant", shape="1", value=1.0)
    branch = patch.add("control.if")
    patch.connect(condition["out"], branch["condition"])
    inverse = placed(patch, "linalg.inverse", {"a": np.zeros((2, 2), np.float32)}, region=branch.body)
    with Engine(patch, device="host") as engine:
        assert [item.node for item in engine.step().diagnostics] == [inverse.id]
        patch.set(condition, value=0.0)
        assert not engine.step().diagnostics


@pytest.mark.parametrize(
    ("block", "shapes", "port", "words"),
    [
        ("matrix_vector", {"a": (3, 4), "x": (3,)}, "x", "vector must have 4 elements"),
        ("add_matrices", {"a": (3, 4), "b": (4, 3)}, "b", "must be of shape [3, 4]"),
        ("dot", {"x": (3,), "y": (4,)}, "y", "must be of shape [3]"),
        ("multiply", {"a": (3, 4), "b": (4, 2), "bias": (4,)}, "bias", "must be of shape [2] without gaps"),
        ("solve", {"a": (3, 3), "b": (4,)}, "b", "right side must have 3 rows"),
        *(
            ("solve_factored", {"lower": (3, 3), "upper": (3, 3), "order": (3,), "b": (3, 2)} | wrong, port, words)
            for wrong, port, words in (
                ({"b": (4, 2)}, "b", "right side must have 3 rows"),
                ({"b": (2,)}, "b", "right side must have 3 rows"),
                ({"order": (4,)}, "b", "as many rows as there are indices in order"),
                ({"order": (1, 3)}, "order", "must have 1 dimensions"),
                ({"lower": (2, 2)}, "b", "right side must have 2 rows"),
                ({"upper": (3, 2)}, "upper", "matrix must be square"),
            )
        ),
        ("eigen", {"a": (3, 4)}, "a", "matrix must be square"),
        ("add_scaled", {"x": (3,), "y": (3,), "factor": (2,)}, "factor", "[1]"),
    ],
)
def test_shapes_that_dont_fit_are_told_at_their_port(
    block: str, shapes: dict[str, tuple[int, ...]], port: str, words: str
) -> None:
    """A shape that does not fit is reported at its port, and the message states the shape that would fit."""
    patch = Patch()
    node = placed(patch, f"linalg.{block}", {name: np.ones(shape, np.float32) for name, shape in shapes.items()})
    ((where, at, text),) = problems(patch)
    assert (where, at) == (node.id, port) and words in text


@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16"])
def test_many_right_sides_are_solved_by_factors_that_are_kept(kind: str) -> None:
    """LU runs once before a loop, in whose turns new right sides are solved by its factors, as numpy solves them."""
    for n, sides in ((1, 1), (7, 3), (33, 31)):
        a, b = RNG.normal(size=(n, n)) + 2 * np.eye(n), RNG.normal(size=(n, sides))
        a, b = (x.astype(kind) * (1 + 0.5j if kind[0] == "c" else 1) for x in (a[::-1], b))
        patch = Patch()
        factors = placed(patch, "linalg.lu", {"a": a.astype(kind)})
        going = placed(patch, "buffer.copy", {"x": b.astype(kind)})
        loop = patch.add("control.for", count=3)
        solve, keep = patch.add("linalg.solve_factored", region=loop), patch.add("buffer.assign", region=loop)
        for name in ("lower", "upper", "order"):
            patch.connect(factors[name], solve[name])
        patch.connect(going["out"], solve["b"])
        patch.connect(going["out"], keep["target"])
        patch.connect(solve["x"], keep["value"])
        (found,) = run(patch, keep["out"])
        expected = b
        for _ in range(3):
            expected = np.linalg.solve(a.astype("c16"), expected)
        scale = np.abs(expected).max() * np.linalg.cond(a)
        assert found.dtype == np.dtype(kind) and np.abs(found - expected).max() < 50 * np.finfo(kind).eps * scale


def test_a_triangle_block_reads_one_triangle() -> None:
    """The block solves with the chosen triangle, for one right side as for several."""
    a, b = RNG.normal(size=(6, 6)) + 4 * np.eye(6), RNG.normal(size=(6,))
    given = {"a": a, "b": b}
    assert np.allclose(np.triu(a) @ apply("linalg.solve_triangular", given, port="x"), b)
    x = apply("linalg.solve_triangular", given, port="x", triangle="lower", unit_diagonal=True)
    assert np.allclose((np.tril(a, -1) + np.eye(6)) @ x, b)
