"""BLAS by cuBLAS, which reads matrices column by column: it sees each of ours transposed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cuda.bindings import driver
from nvmath.bindings import cublas

from warploom.engine.device.cuda.errors import check
from warploom.engine.libraries.blas import Axpy, Copy, Dot, Geam, Gemm, Gemv, Norm, Scal, SolveTriangular
from warploom.engine.libraries.call import LibraryCall
from warploom.engine.libraries.cuda.matmul import GemmPlan
from warploom.engine.libraries.cuda.plan import (
    DATA_TYPES,
    Addresses,
    Handles,
    PlanMaker,
    ScalarAddresses,
    recommended_bytes,
)
from warploom.engine.libraries.matrices import flat_of, matrix_of, vectors_of
from warploom.engine.types import DType, c64, c128, f32, f64
from warploom.engine.types.layout import Layout

#: The first letter of routines' names, by element type.
LETTERS: Mapping[DType, str] = {f32: "s", f64: "d", c64: "c", c128: "z"}
_N, _T = cublas.Operation.N, cublas.Operation.T


def blas_handle(handles: Handles, stream: int, at: Addresses, *, on_device: bool | None = None) -> int:
    """Return cuBLAS's handle, set to a stream, to the scratch memory, and to the place of the numbers."""
    on_device = at.numbers_on_device if on_device is None else on_device
    handle: int = handles.get(cublas.create, cublas.destroy)
    cublas.set_stream(handle, stream)  # this resets the scratch memory
    cublas.set_workspace(handle, at.workspace, at.workspace_bytes)
    cublas.set_pointer_mode(handle, cublas.PointerMode.DEVICE if on_device else cublas.PointerMode.HOST)
    return handle


class _BlasPlan:
    """The common part of BLAS plans: a handle, scratch memory, the element type and its number in the library."""

    def __init__(self, call: Any, layouts: Mapping[str, Layout], handles: Handles) -> None:
        self._call, self._layouts, self._handles = call, layouts, handles
        self._dtype = layouts["x" if "x" in layouts else "a"].dtype
        self._kind = DATA_TYPES[self._dtype]
        handles.get(cublas.create, cublas.destroy)  # created before anything is captured
        self.workspace_bytes = recommended_bytes(handles)

    def _handle(self, stream: int, at: Addresses, *, on_device: bool | None = None) -> int:
        return blas_handle(self._handles, stream, at, on_device=on_device)

    def _numbers(self, at: Addresses) -> ScalarAddresses:
        return ScalarAddresses(at, self._dtype)

    def _without_beta(self, at: Addresses) -> Addresses:
        """Return the addresses with a beta of 0, so that its operand is not read."""
        return replace(at, numbers={**at.numbers, "beta": self._handles.zero if at.numbers_on_device else 0.0})

    def _routine(self, name: str) -> Any:
        return getattr(cublas, LETTERS[self._dtype] + name)


class GemvPlan(_BlasPlan):
    """A product of matrices and vectors."""

    def issue(self, stream: int, at: Addresses) -> None:
        """Copy y to out, where it is multiplied by beta and the product is added."""
        a, x, out = matrix_of(self._layouts["a"]), vectors_of(self._layouts["x"]), vectors_of(self._layouts["out"])
        target, size = at.operands["out"], self._layouts["out"].size_bytes
        if "y" in at.operands:
            check(driver.cuMemcpyAsync(target, at.operands["y"], size, stream), "copying y")
        else:
            at = self._without_beta(at)
        handle, numbers = self._handle(stream, at), self._numbers(at)
        seen = (a.rows, a.columns) if a.is_transposed else (a.columns, a.rows)
        self._routine("gemv_strided_batched_64")(
            handle,
            _T if a.is_transposed == self._call.transpose else _N,
            *seen,
            numbers.address("alpha"),
            *(at.operands["a"], a.leading, a.distance),
            *(at.operands["x"], x.step, x.distance),
            numbers.address("beta"),
            *(target, out.step, out.distance),
            out.count,
        )


class SolveTriangularPlan(_BlasPlan):
    """Substitutions in a triangle, one call for each of the leading axes' positions.

    The library sees x and a transposed: it solves x^T a^T = alpha b^T, where a^T is the other triangle.
    """

    def issue(self, stream: int, at: Addresses) -> None:
        """Copy the right sides to x, where the solutions take their place."""
        a, x, bytes_each = matrix_of(self._layouts["a"]), self._layouts["x"], self._dtype.size_bytes
        is_vector = len(self._layouts["b"].shape) == 1
        rows, sides = x.shape[-1 if is_vector else -2], 1 if is_vector else x.shape[-1]
        size, of_b = rows * sides * bytes_each, self._layouts["b"].size_bytes
        handle, alpha = self._handle(stream, at), self._numbers(at)
        is_lower = self._call.lower == a.is_transposed
        for index in range(x.size_bytes // size):
            target = at.operands["x"] + index * size
            check(driver.cuMemcpyAsync(target, at.operands["b"] + index * size % of_b, size, stream), "copying b")
            self._routine("trsm_64")(
                handle,
                cublas.SideMode.RIGHT,
                cublas.FillMode.LOWER if is_lower else cublas.FillMode.UPPER,
                _T if a.is_transposed else _N,
                cublas.DiagType.UNIT if self._call.unit_diagonal else cublas.DiagType.NON_UNIT,
                *(sides, rows),
                alpha.address("alpha"),
                *(at.operands["a"] + index % a.count * a.distance * bytes_each, a.leading),
                *(target, sides),
            )


class CopyPlan:
    """A copy of elements without gaps."""

    workspace_bytes = 0

    def __init__(self, call: Copy, layouts: Mapping[str, Layout], handles: Handles) -> None:
        self._size_bytes = layouts["x"].size_bytes

    def issue(self, stream: int, at: Addresses) -> None:
        """Copy the elements on the device."""
        check(driver.cuMemcpyAsync(at.operands["y"], at.operands["x"], self._size_bytes, stream), "copying x")


class AxpyPlan(_BlasPlan):
    """A vector to which a multiple of another is added."""

    def issue(self, stream: int, at: Addresses) -> None:
        """Add in place."""
        handle, alpha = self._handle(stream, at), self._numbers(at).address
        x, y = flat_of(self._layouts["x"]), flat_of(self._layouts["y"])
        vectors = at.operands["x"], self._kind, x.step, at.operands["y"], self._kind, y.step
        cublas.axpy_ex_64(handle, x.size, alpha("alpha"), self._kind, *vectors, self._kind)


class ScalPlan(_BlasPlan):
    """A vector that is multiplied by a number in place."""

    def issue(self, stream: int, at: Addresses) -> None:
        """Multiply in place."""
        handle, alpha = self._handle(stream, at), self._numbers(at).address
        x = flat_of(self._layouts["x"])
        cublas.scal_ex_64(handle, x.size, alpha("alpha"), self._kind, at.operands["x"], self._kind, x.step, self._kind)


class DotPlan(_BlasPlan):
    """A scalar product of two vectors."""

    def issue(self, stream: int, at: Addresses) -> None:
        """Compute the sum, which the library writes on the device."""
        handle = self._handle(stream, at, on_device=True)
        x, y = flat_of(self._layouts["x"]), flat_of(self._layouts["y"])
        vectors = at.operands["x"], self._kind, x.step, at.operands["y"], self._kind, y.step
        is_conjugate = self._call.conjugate and self._dtype.kind == "complex"
        routine = cublas.dotc_ex_64 if is_conjugate else cublas.dot_ex_64
        routine(handle, x.size, *vectors, at.operands["out"], self._kind, self._kind)


class NormPlan(_BlasPlan):
    """The Euclidean norm of a vector."""

    def issue(self, stream: int, at: Addresses) -> None:
        """Compute the norm, which the library writes on the device."""
        handle, x = self._handle(stream, at, on_device=True), flat_of(self._layouts["x"])
        real = DATA_TYPES[self._layouts["out"].dtype]
        cublas.nrm2ex_64(handle, x.size, at.operands["x"], self._kind, x.step, at.operands["out"], real, real)


class GeamPlan(_BlasPlan):
    """A sum of matrices, one call for each of the leading axes' positions."""

    def issue(self, stream: int, at: Addresses) -> None:
        """Add the matrices; without b, a cleared `out` takes its place, since the library may multiply it by a beta of
        0.
        """
        slots = ("a", "b" if "b" in at.operands else "out")
        a, b = (matrix_of(self._layouts[slot]) for slot in slots)
        out, target = matrix_of(self._layouts["out"]), at.operands["out"]
        if "b" not in at.operands:
            check(driver.cuMemsetD8Async(target, 0, self._layouts["out"].size_bytes, stream), "clearing out")
            at = self._without_beta(at)
        handle, numbers = self._handle(stream, at), self._numbers(at)
        turned_b = "b" in at.operands and self._call.transpose_b
        first = (
            _T if a.is_transposed != self._call.transpose_a else _N,
            _T if b.is_transposed != turned_b else _N,
            *(out.columns, out.rows),
            numbers.address("alpha"),
        )
        beta, bytes_each = numbers.address("beta"), self._dtype.size_bytes
        for index in range(out.count):
            from_a, from_b, to = (
                (at.operands[slot] + index * matrix.distance * bytes_each, matrix.leading)
                for slot, matrix in zip((*slots, "out"), (a, b, out), strict=True)
            )
            self._routine("geam_64")(handle, *first, *from_a, beta, *from_b, *to)


PLANS: Mapping[type[LibraryCall], PlanMaker] = {
    Gemm: GemmPlan,
    Gemv: GemvPlan,
    SolveTriangular: SolveTriangularPlan,
    Copy: CopyPlan,
    Axpy: AxpyPlan,
    Scal: ScalPlan,
    Dot: DotPlan,
    Norm: NormPlan,
    Geam: GeamPlan,
}
