"""Arguments that LAPACK's CUDA plans pass to cuSOLVER and cuBLAS; the bindings are fakes, so no GPU is needed."""

import ctypes
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from enum import IntEnum
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.libraries.test_lapack import adjoint, numbers, orthonormal
from warploom.engine.device.host.device import HostDevice
from warploom.engine.libraries.blas import SolveTriangular
from warploom.engine.libraries.call import LibraryCall
from warploom.engine.libraries.cuda import matrices
from warploom.engine.libraries.cuda.plan import Addresses, Handles
from warploom.engine.libraries.lapack import Cholesky, Eigh, Inverse, LeastSquares, Lu, Qr, Solve, Svd
from warploom.engine.types import Array, DType, c64, c128, f32, f64
from warploom.engine.types.layout import Layout

_X = "handle params"
_DEVICE_AND_HOST = "work lwork host_work host_lwork info"
#: Parameters of each routine, as NVIDIA documents them. The addresses of matrices are `a`, `b`, `c`, `u` and `v`.
SIGNATURES = {
    "xpotrf": f"{_X} uplo n type_a a lda compute {_DEVICE_AND_HOST}",
    "xpotrf_buffer_size": f"{_X} uplo n type_a a lda compute",
    "xpotrs": f"{_X} uplo n nrhs type_a a lda type_b b ldb info",
    "xgetrf": f"{_X} m n type_a a lda ipiv compute {_DEVICE_AND_HOST}",
    "xgetrf_buffer_size": f"{_X} m n type_a a lda compute",
    "xgetrs": f"{_X} trans n nrhs type_a a lda ipiv type_b b ldb info",
    "xgeqrf": f"{_X} m n type_a a lda type_tau tau compute {_DEVICE_AND_HOST}",
    "xgeqrf_buffer_size": f"{_X} m n type_a a lda type_tau tau compute",
    "xsyev_batched": f"{_X} jobz uplo n type_a a lda type_w w compute {_DEVICE_AND_HOST} batch",
    "xsyev_batched_buffer_size": f"{_X} jobz uplo n type_a a lda type_w w compute batch",
    "potrf_batched": "handle uplo n a_array lda info batch",
    "gqr": "handle m n k a lda tau work lwork info",
    "gqr_buffer_size": "handle m n k a lda tau",
    "mqr": "handle side trans m n k a lda tau c ldc work lwork info",
    "mqr_buffer_size": "handle side trans m n k a lda tau c ldc",
    "getrf_batched": "handle n a_array lda ipiv info batch",
    "getrs_batched": "handle trans n nrhs a_array lda ipiv b_array ldb host_info batch",
    "trsm_batched_64": "handle side uplo trans diag m n alpha a_array lda b_array ldb batch",
    "trsm_64": "handle side uplo trans diag m n alpha a lda b ldb",
    "gemm_strided_batched_64": "handle op_a op_b m n k alpha a lda step_a b ldb step_b beta c ldc step_c batch",
}
#: The real methods, which the fixture replaces.
_LOAD, _LAUNCH = Handles.load, matrices.MatrixKernels._launch
LETTERS = {f32: "s", f64: "d", c64: "c", c128: "z"}
NUMBERS = {f32: 0, f64: 1, c64: 4, c128: 5}
ENUMS = {
    "Operation": "N T C",
    "FillMode": "LOWER UPPER",
    "SideMode": "LEFT RIGHT",
    "DiagType": "NON_UNIT UNIT",
    "PointerMode": "HOST DEVICE",
}
EXPECTED = {"side": "LEFT", "diag": "NON_UNIT", "jobz": 1, "compute": "type_a", "type_b": "type_a"}
PLACES = {"a", "b", "c", "ipiv", "tau", "work", "info", "a_array", "b_array", "w"}
WORKSPACE, OPERANDS = 1 << 32, 1 << 24
ANSWER = 1000, 64


class Bindings(ModuleType):
    """A fake module of bindings that records the arguments of each call."""

    def __init__(self, name: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
        super().__init__(name)
        self._calls = calls
        for enum, members in ENUMS.items():
            setattr(self, enum, IntEnum(enum, members, start=0))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith(("create", "destroy", "set_")):
            return lambda *_: 5
        typed = name if name.startswith("x") else name[1:]
        bare = typed[2:] if typed[:2] in ("or", "un") else typed

        def record(*given: int) -> Any:
            values = dict(zip(SIGNATURES[bare].split(), given, strict=True))
            self._calls.append((name, values))
            return ANSWER if name.startswith("x") else ANSWER[0]

        return record


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """The calls that the fake bindings recorded."""
    made: list[tuple[str, dict[str, Any]]] = []
    bindings = ModuleType("nvmath.bindings")
    for name in ("cublas", "cusolverDn", "cublasLt"):
        setattr(bindings, name, Bindings(name, made))
    for name, module in (("nvmath", ModuleType("nvmath")), ("nvmath.bindings", bindings)):
        monkeypatch.setitem(sys.modules, name, module)
    room = "warploom.engine.libraries.cuda"
    loaded = [f"{room}.{name}" for name in ("blas", "solver", "lapack", "matmul")]
    for name in loaded:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, f"{room}.matmul", SimpleNamespace(GemmPlan=None))
    monkeypatch.setattr(Handles, "load", lambda *_: None)
    monkeypatch.setattr(matrices.MatrixKernels, "_launch", lambda *_, **__: None)
    yield made
    for name in loaded:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("dtype", LETTERS)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("call", "shape", "b"),
    [
        (Solve(), (7, 7), (7, 2)),
        (Solve(positive=True), (7, 7), (7, 2)),
        (Solve(), (600, 600), (600, 2)),
        (Solve(positive=True), (600, 600), (600, 2)),
        (Inverse(), (7, 7), None),
        (Cholesky(), (7, 7), None),
        (Lu(), (7, 4), None),
        (Qr(), (4, 7), None),
        (LeastSquares(), (7, 4), (7, 2)),
        (Eigh(), (7, 7), None),
    ],
)
def test_routines_get_what_they_are_documented_to_take(
    calls: list[tuple[str, dict[str, Any]]],
    dtype: DType,
    count: int,
    call: LibraryCall,
    shape: tuple[int, int],
    b: tuple[int, int] | None,
) -> None:
    """Routines get arguments in their documented number and order.

    Matrices, codes and scratch memory never share an address.
    """
    inputs = {"a": Layout(dtype, (count, *shape))} | ({"b": Layout(dtype, (count, *b))} if b else {})
    layouts = {**inputs, **call.results(inputs)}
    device: Any = SimpleNamespace(info=SimpleNamespace(architecture="sm_90a"))
    plan = import_module("warploom.engine.libraries.cuda.lapack").PLANS[type(call)](call, layouts, Handles(device))
    questions = dict(calls)
    calls.clear()
    operands = {slot: OPERANDS * number for number, slot in enumerate(layouts, 1)}
    plan.issue(1, Addresses(operands, {}, False, WORKSPACE, plan.workspace_bytes, 5))
    assert calls
    for name, given in calls:
        assert name.startswith("x") or name[0] == LETTERS[dtype]
        assert name[1:3] != ("or" if dtype.kind == "complex" else "un")
        assert given.get("type_a", NUMBERS[dtype]) == NUMBERS[dtype]
        for parameter, expected in EXPECTED.items():
            value = given.get(parameter)
            assert value is None or getattr(value, "name", value) == given.get(expected, expected)
        sides = b[1] if b else shape[1]
        assert given.get("nrhs", given["n"] if "side" in given else sides) == sides
        rows = given.get("m", given["n"])
        assert all(given.get(leading, rows) >= rows for leading in ("lda", "ldb", "ldc"))
        assert given.get("batch", count) == count
        asked = questions.get(f"{name}_buffer_size", {}).items()
        assert all(given[key] == value for key, value in asked if key not in PLACES)
        assert (given.get("lwork", ANSWER[0]), given.get("host_lwork", ANSWER[1])) == ANSWER
    separate: dict[int, set[str]] = defaultdict(set)
    for name, given in calls:
        for key in given.keys() & PLACES:
            if "gemm" not in name:
                separate[given[key]].add("b" if key == "c" else key)
            assert WORKSPACE <= given[key] < WORKSPACE + plan.workspace_bytes
    assert all(len(names) == 1 for names in separate.values())


class OnHost(Handles):
    """Handles that launch kernels on the host."""

    def __init__(self, device: HostDevice) -> None:
        super().__init__(device)
        self.device = device

    def launch(
        self, file: str, entry: str, threads: int, stream: int, *arguments: tuple[int, Any], **more: Any
    ) -> None:
        """Launch with the values that the driver would get, each as its type in C."""
        block = more.get("thread_block", 256)
        values = [kind(value).value or 0 for value, kind in arguments]
        kernel = self.load(file, more.get("elements", "")).kernel(entry)
        sizes = [parameter.size_bytes for parameter in kernel.parameters]
        assert sizes == [ctypes.sizeof(kind) for _, kind in arguments]
        self.device.launch(kernel, (-(-threads // block),), (block,), values)


@pytest.fixture
def on_host(calls: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> Iterator[OnHost]:
    """Handles for plans of c64 on the host: its kernels, numpy for products, and nothing in place of cuSOLVER."""
    monkeypatch.setattr(Handles, "load", _LOAD)
    monkeypatch.setattr(matrices.MatrixKernels, "_launch", _LAUNCH)
    monkeypatch.setattr(import_module("warploom.engine.libraries.cuda.solver"), "recommended_bytes", lambda _: 256)
    monkeypatch.setattr(sys.modules["nvmath.bindings"].cublas, "cgemm_strided_batched_64", multiply, raising=False)
    with closing(HostDevice()) as device:
        yield OnHost(device)


def multiply(_handle: int, op_a: IntEnum, _op_b: IntEnum, m: int, n: int, k: int, _alpha: int, *rest: int) -> None:
    """Multiply c64 matrices in host memory, as cuBLAS does with alpha 1 and beta 0."""
    a, lda, step_a, b, ldb, step_b, _beta, c, ldc, step_c, count = rest

    def seen(address: int, leading: int, step: int, rows: int, columns: int) -> Array:
        memory = (ctypes.c_float * (2 * count * step)).from_address(address)
        matrices_there = np.frombuffer(memory, np.complex64)
        bytes_each = matrices_there.itemsize
        strides = (step * bytes_each, bytes_each, leading * bytes_each)
        return np.lib.stride_tricks.as_strided(matrices_there, (count, rows, columns), strides)

    left = seen(a, lda, step_a, m, k) if op_a.name == "N" else adjoint(seen(a, lda, step_a, k, m))
    seen(c, ldc, step_c, m, n)[...] = left @ seen(b, ldb, step_b, k, n)


def computed(handles: OnHost, call: LibraryCall, a: Array) -> dict[str, Array]:
    """Return what the plan of a call writes for c64 matrices."""
    device, inputs = handles.device, {"a": Layout(c64, a.shape)}
    layouts = {**inputs, **call.results(inputs)}
    plan = import_module("warploom.engine.libraries.cuda.lapack").PLANS[type(call)](call, layouts, handles)
    buffers = {slot: device.allocate(max(layout.size_bytes, 8)) for slot, layout in layouts.items()}
    device.write(buffers["a"], a)
    work = device.allocate(plan.workspace_bytes)
    addresses = {slot: buffer.pointer for slot, buffer in buffers.items()}
    plan.issue(1, Addresses(addresses, {}, False, work.pointer, plan.workspace_bytes, 5))
    device.synchronize()
    found = {slot: np.empty(layout.shape, layout.dtype.numpy) for slot, layout in layouts.items()}
    for slot, array in found.items():
        device.read(buffers[slot], array)
    return found


@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (9, 4), (4, 9)])
def test_the_plan_of_singular_values_computes_them(on_host: OnHost, shape: tuple[int, int]) -> None:
    """The plan's kernels give numpy's singular values and vectors, although the fake cuSOLVER computes none."""
    a = np.stack([numbers(shape, c64), np.ones(shape, np.complex64)])
    found = computed(on_host, Svd(), a)
    assert found["info"] == 0 and np.abs(found["u"] * found["s"][:, None, :] @ found["vh"] - a).max() < 1e-5
    assert np.allclose(found["s"], np.linalg.svd(a, compute_uv=False), atol=1e-5)


@pytest.mark.parametrize("n", [1, 7])
def test_the_plan_of_eigenvalues_computes_them(on_host: OnHost, n: int) -> None:
    """The plan's kernels give numpy's eigenvalues and vectors, although the fake cuSOLVER computes none."""
    a = numbers((n, n), c64)
    h = np.stack([a + adjoint(a), np.ones((n, n), np.complex64)])
    found = computed(on_host, Eigh(), h)
    values, vectors = found["values"], found["vectors"]
    assert found["info"] == 0 and orthonormal(vectors, c64)
    assert np.abs(h @ vectors - vectors * values[:, None, :]).max() < 1e-5 * max(1, np.abs(values).max())
    assert np.allclose(values, np.linalg.eigvalsh(h), atol=3e-5)


@pytest.mark.parametrize("shape", [(5,), (5, 3), (2, 5, 3)])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("by_columns", [False, True])
def test_a_triangle_is_the_right_one_for_a_library_of_columns(
    calls: list[tuple[str, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    shape: tuple[int, ...],
    lower: bool,
    by_columns: bool,
) -> None:
    """What the plan asks of trsm, by which matrices are stored column by column, solves our triangle."""
    blas = import_module("warploom.engine.libraries.cuda.blas")
    copied: list[tuple[int, int, int]] = []
    monkeypatch.setattr(blas, "driver", SimpleNamespace(cuMemcpyAsync=lambda *given: copied.append(given[:3])))
    monkeypatch.setattr(blas, "check", lambda *_: None)
    a, b = numbers((5, 5), f64) + 4 * np.eye(5), numbers(shape, f64)
    stored = a.T.copy() if by_columns else a
    layouts = {"a": Layout(f64, (5, 5), (1, 5) if by_columns else None), "b": Layout(f64, shape)}
    call = SolveTriangular(lower, unit_diagonal=lower)
    layouts |= call.results(layouts)
    device: Any = SimpleNamespace(info=SimpleNamespace(architecture="sm_90a"))
    plan = blas.PLANS[SolveTriangular](call, layouts, Handles(device))
    calls.clear()
    places = {"a": OPERANDS, "b": 2 * OPERANDS, "x": 3 * OPERANDS}
    plan.issue(1, Addresses(places, {"alpha": 1.0}, False, WORKSPACE, plan.workspace_bytes, 5))
    x = np.empty(b.size)
    for target, source, size in copied:
        start, count = (target - places["x"]) // 8, size // 8
        x[start : start + count] = b.ravel()[(source - places["b"]) // 8 :][:count]
    for name, given in calls:
        assert name == "dtrsm_64" and given["side"].name == "RIGHT" and given["a"] == places["a"]
        seen = stored.ravel().reshape(5, given["lda"]).T  # as the library reads it, column by column
        triangle = (np.tril if given["uplo"].name == "LOWER" else np.triu)(seen)
        if given["diag"].name == "UNIT":
            np.fill_diagonal(triangle, 1)
        triangle = triangle.T if given["trans"].name == "T" else triangle
        start, m = (given["b"] - places["x"]) // 8, given["m"]
        sides = x[start : start + 5 * m].reshape(5, given["ldb"])  # a view: its transpose is what the library reads
        sides[...] = (sides.T @ np.linalg.inv(triangle)).T
    part = np.tril(a, -1) + np.eye(5) if lower else np.triu(a)
    side = b[..., None] if len(shape) == 1 else b
    np.testing.assert_allclose(part @ x.reshape(side.shape), side, atol=1e-12)
