"""Dense linear systems, factorisations, eigenvalues and singular values, as in LAPACK.

Matrices of f32, f64, c64 or c128 with any strides; leading axes repeat a call for each of their positions. A call that
can fail because of its elements writes a word to `info`, which the block turns into a warning: 0 when all went well,
else `info_word` of LAPACK's codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.libraries.matrices import FULL, REAL_OF, check_axes, common_type, repeated_axes, stack_of
from warploom.engine.types import DType, s32, u32
from warploom.engine.types.layout import Layout

#: Bits of an info word that hold the code; those above hold the number of the matrix.
CODE_BITS = 20
_MOST_CODE, _MOST_INDEX = (1 << CODE_BITS) - 1, (1 << 32 - CODE_BITS) - 1
_INFO = Layout(u32, (1,))


def info_word(codes: Iterable[int]) -> int:
    """Return the word for LAPACK's codes, one for each matrix: that of the first one above 0, with its number."""
    for index, code in enumerate(codes):
        if code > 0:
            return min(index, _MOST_INDEX) << CODE_BITS | min(code, _MOST_CODE)
    return 0


class _Call(LibraryCall):
    """A call on matrices `a`; `info` may be left out, and is then the block's own."""

    library = "lapack"
    inputs: ClassVar[tuple[str, ...]] = ("a",)
    optional = frozenset({"info"})
    #: The rule and the violation, with the code as `{code}`, or the last good one as `{last}`.
    rule = ""
    remedy = "change the matrix"

    def problem(self, word: int) -> tuple[str, str]:
        """Return the meaning of an info word above 0, and the remedy."""
        index, code = word >> CODE_BITS, word & _MOST_CODE
        where = f", in matrix {index}" if index else ""
        return self.rule.format(code=code, last=code - 1) + where, self.remedy

    def _matrices(self, inputs: Mapping[str, Layout], *, square: bool) -> tuple[DType, tuple[int, ...], int, int]:
        """Return a's element type, leading axes, rows and columns."""
        dtype = common_type(inputs, self.inputs, FULL)
        check_axes("a", inputs["a"])
        _check_stack("a", inputs["a"])
        *axes, rows, columns = inputs["a"].shape
        if square and rows != columns:
            raise OperandError("a", f"matrix must be square, got shape {list(inputs['a'].shape)}")
        return dtype, tuple(axes), rows, columns

    def _solution(self, inputs: Mapping[str, Layout], *, square: bool) -> Layout:
        """Return the layout of x in a x = b."""
        dtype, axes, rows, columns = self._matrices(inputs, square=square)
        b = inputs["b"].shape
        is_vector = len(b) == 1
        if not b or b[-1 if is_vector else -2] != rows:
            raise OperandError("b", f"right side must have {rows} rows, as a has, got shape {list(b)}")
        _check_stack("b", inputs["b"])
        return Layout(dtype, (*axes, columns) if is_vector else (*repeated_axes(axes, b[:-2], "b"), columns, b[-1]))


def _check_stack(slot: str, layout: Layout) -> None:
    """Raise OperandError unless the leading axes hold matrices at equal distances."""
    try:
        stack_of(layout, vectors=len(layout.shape) == 1)
    except ValueError as problem:
        raise OperandError(slot, str(problem)) from None


_SINGULAR = "matrix must be invertible, got column {last} as a combination of those before it"
_INDEFINITE = "matrix must be positive definite, got its first {code} rows and columns as a part that is not"


@dataclass(frozen=True)
class Solve(_Call):
    """x such that a x = b, with a [..., n, n], b and x [..., n, r], or b [n] and x [..., n]; by LU with pivots.

    With `positive`, a is Hermitian and positive definite: its lower half is read, and Cholesky's method takes half the
    time. a or b may have no leading axes, and is then the same for each.
    """

    positive: bool = False

    inputs = ("a", "b")
    outputs = ("x", "info")

    @property
    def rule(self) -> str:  # type: ignore[override]
        """Requirement on a."""
        return _INDEFINITE if self.positive else _SINGULAR

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of x, as of b."""
        return {"x": self._solution(inputs, square=True), "info": _INFO}


@dataclass(frozen=True)
class LeastSquares(_Call):
    """x that makes the norm of a x - b smallest, with a [..., m, n], m at least n, and b [..., m, r] or [m]; by QR.

    A column counts as dependent on the others if its part orthogonal to them is smaller than the precision times the
    largest such part.
    """

    inputs = ("a", "b")
    outputs = ("x", "info")
    rule = "columns must be independent, got column {last} as a combination of those before it"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of x, [..., n, r] or [..., n]."""
        _, _, rows, columns = self._matrices(inputs, square=False)
        if rows < columns:
            text = f"matrix must have as many rows as columns, or more, got shape {list(inputs['a'].shape)}"
            raise OperandError("a", text)
        return {"x": self._solution(inputs, square=False), "info": _INFO}


@dataclass(frozen=True)
class Inverse(_Call):
    """out such that a out is the identity, with a and out [..., n, n]; by LU with pivots."""

    outputs = ("out", "info")
    rule = _SINGULAR

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the inverse's layout, that of a without gaps."""
        dtype, *_ = self._matrices(inputs, square=True)
        return {"out": Layout(dtype, inputs["a"].shape), "info": _INFO}


@dataclass(frozen=True)
class Lu(_Call):
    """Lower and upper, such that lower upper = a[order]; a [..., m, n], k = min(m, n).

    lower [..., m, k] has ones on its diagonal, upper is [..., k, n], and order (s32) [..., m] the rows of a that were
    chosen as pivots.
    """

    outputs = ("lower", "upper", "order", "info")
    rule = _SINGULAR

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layouts of the factors and the order."""
        dtype, axes, rows, columns = self._matrices(inputs, square=False)
        k = min(rows, columns)
        return {
            "lower": Layout(dtype, (*axes, rows, k)),
            "upper": Layout(dtype, (*axes, k, columns)),
            "order": Layout(s32, (*axes, rows)),
            "info": _INFO,
        }


@dataclass(frozen=True)
class Cholesky(_Call):
    """Lower out, with zeros above its diagonal, such that out out^H = a; the lower half of a is read."""

    outputs = ("out", "info")
    rule = _INDEFINITE

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the factor's layout, that of a without gaps."""
        dtype, *_ = self._matrices(inputs, square=True)
        return {"out": Layout(dtype, inputs["a"].shape), "info": _INFO}


@dataclass(frozen=True)
class Qr(_Call):
    """q [..., m, k] with orthonormal columns and upper r [..., k, n], such that q r = a; k = min(m, n)."""

    outputs = ("q", "r")

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the factors' layouts."""
        dtype, axes, rows, columns = self._matrices(inputs, square=False)
        k = min(rows, columns)
        return {"q": Layout(dtype, (*axes, rows, k)), "r": Layout(dtype, (*axes, k, columns))}


@dataclass(frozen=True)
class Eigh(_Call):
    """Eigenvalues and eigenvectors of a Hermitian a [..., n, n], of which the lower half is read.

    `values` [..., n] are real and ascend; column i of `vectors` [..., n, n] belongs to the value i.
    """

    outputs = ("values", "vectors", "info")
    rule = "eigenvalues must be found, got {code} that did not converge"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layouts of values and vectors."""
        dtype, axes, rows, _ = self._matrices(inputs, square=True)
        values = Layout(REAL_OF[dtype], (*axes, rows))
        return {"values": values, "vectors": Layout(dtype, inputs["a"].shape), "info": _INFO}


@dataclass(frozen=True)
class Svd(_Call):
    """u [..., m, k], s [..., k] and vh [..., k, n], such that u diag(s) vh = a [..., m, n]; k = min(m, n).

    u's columns and vh's rows are orthonormal; s is real, not negative, and descends.
    """

    outputs = ("u", "s", "vh", "info")
    rule = "singular values must be found, got {code} that did not converge"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the factors' layouts."""
        dtype, axes, rows, columns = self._matrices(inputs, square=False)
        k = min(rows, columns)
        return {
            "u": Layout(dtype, (*axes, rows, k)),
            "s": Layout(REAL_OF[dtype], (*axes, k)),
            "vh": Layout(dtype, (*axes, k, columns)),
            "info": _INFO,
        }
