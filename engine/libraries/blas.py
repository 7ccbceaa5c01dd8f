"""Products and sums of dense matrices and vectors, as in BLAS; matrices are row-major like every buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.libraries.matrices import (
    FULL,
    NUMBERS,
    REAL_OF,
    check_like,
    check_matrix,
    check_vector,
    common_type,
    repeated_axes,
    vectors_of,
)
from warploom.engine.types.layout import Layout

#: Functions that can be applied to each element of a product: max(x, 0), or the Gaussian error linear unit by its
#: approximation with tanh.
ACTIVATIONS = ("none", "relu", "gelu")


@dataclass(frozen=True)
class Gemm(LibraryCall):
    """out = activation(alpha a b + beta c + bias), with a [..., m, k], b [..., k, n], c and out [..., m, n], bias [n].

    `transpose_a` and `transpose_b` take a [..., k, m] and b [..., n, k]. All have the same leading axes, over which the
    product is repeated; a or b may have none, and is then the same for each. All have one element type: f16, bf16, f32,
    f64, c64 or c128; complex numbers have neither bias nor activation.

    With `allow_tf32`, a GPU may round factors of f32 and c64 to 11 significant bits, which its tensor cores multiply
    far faster; other devices take no notice.
    """

    transpose_a: bool = False
    transpose_b: bool = False
    activation: str = "none"
    allow_tf32: bool = False

    library = "blas"
    choices = {"activation": ACTIVATIONS}  # noqa: RUF012 - never changed
    inputs = ("a", "b", "c", "bias")
    outputs = ("out",)
    optional = frozenset({"c", "bias"})
    numbers = {"alpha": 1.0, "beta": 1.0}  # noqa: RUF012 - never changed
    scaled = "a"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the product's layout."""
        dtype = common_type(inputs, self.inputs, NUMBERS)
        for slot in ("a", "b"):
            check_matrix(slot, inputs[slot])
        a, b = inputs["a"].shape, inputs["b"].shape
        m, k = a[-2:][:: -1 if self.transpose_a else 1]
        inner, n = b[-2:][:: -1 if self.transpose_b else 1]
        if inner != k:
            what = "columns" if self.transpose_b else "rows"
            raise OperandError("b", f"matrix must have {k} {what} to be multiplied with a, got shape {list(b)}")
        out = Layout(dtype, (*repeated_axes(a[:-2], b[:-2], "b"), m, n))
        if "c" in inputs:
            check_like("c", inputs["c"], out)
        if "bias" in inputs:
            check_like("bias", inputs["bias"], Layout(dtype, (n,)))
        if dtype.kind == "complex" and ("bias" in inputs or self.activation != "none"):
            raise OperandError("a", f"elements must be real for a bias or an activation, got {dtype}")
        return {"out": out}


@dataclass(frozen=True)
class Gemv(LibraryCall):
    """out = alpha a x + beta y, with a [..., m, k], x [..., k], y and out [..., m]; f32, f64, c64 or c128.

    `transpose` takes a [..., k, m]. With `allow_tf32`, a GPU may round factors of f32 and c64 to 11 significant bits,
    which its tensor cores multiply far faster; other devices ignore it.
    """

    transpose: bool = False

    library = "blas"
    inputs = ("a", "x", "y")
    outputs = ("out",)
    optional = frozenset({"y"})
    numbers = {"alpha": 1.0, "beta": 1.0}  # noqa: RUF012 - never changed
    scaled = "a"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the product's layout."""
        dtype = common_type(inputs, self.inputs, FULL)
        check_matrix("a", inputs["a"])
        a, x = inputs["a"].shape, inputs["x"].shape
        m, k = a[-2:][:: -1 if self.transpose else 1]
        if x[-1:] != (k,):
            raise OperandError("x", f"vector must have {k} elements to be multiplied with a, got shape {list(x)}")
        try:
            vectors_of(inputs["x"])
        except ValueError as problem:
            raise OperandError("x", str(problem)) from None
        out = Layout(dtype, (*repeated_axes(a[:-2], x[:-1], "x"), m))
        if "y" in inputs:
            check_like("y", inputs["y"], out)
        return {"out": out}


@dataclass(frozen=True)
class SolveTriangular(LibraryCall):
    """x such that a x = alpha b, with a triangular a [..., n, n]; b and x [..., n, r], or b [n] and x [..., n].

    Of a, only the upper triangle is read, or with `lower` the lower one; with `unit_diagonal`, its diagonal counts as
    ones. a or b may have no leading axes, and is then the same for each; b has no gaps. Elements are f32, f64, c64 or
    c128. A diagonal with a 0 gives infinities or NaN.
    """

    lower: bool = False
    unit_diagonal: bool = False

    library = "blas"
    inputs = ("a", "b")
    outputs = ("x",)
    numbers = {"alpha": 1.0}  # noqa: RUF012 - never changed
    scaled = "a"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of x."""
        dtype = common_type(inputs, self.inputs, FULL)
        check_matrix("a", inputs["a"])
        (*axes, rows, columns), b = inputs["a"].shape, inputs["b"].shape
        if rows != columns:
            raise OperandError("a", f"matrix must be square, got shape {list(inputs['a'].shape)}")
        is_vector = len(b) == 1
        if not b or b[-1 if is_vector else -2] != rows:
            raise OperandError("b", f"right side must have {rows} rows, as a has, got shape {list(b)}")
        if inputs["b"].strides is not None:
            raise OperandError("b", f"right side must have no gaps, got {inputs['b']}")
        return {"x": Layout(dtype, (*axes, rows) if is_vector else (*repeated_axes(axes, b[:-2], "b"), rows, b[-1]))}


@dataclass(frozen=True)
class Copy(LibraryCall):
    """y = x; elements of any type and shape, without gaps."""

    library = "blas"
    inputs = ("x",)
    outputs = ("y",)

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of x."""
        if inputs["x"].strides is not None:
            raise OperandError("x", f"input must have no gaps to be copied, got {inputs['x']}")
        return {"y": inputs["x"]}


@dataclass(frozen=True)
class Axpy(LibraryCall):
    """y = alpha x + y in place; vectors of f32, f64, c64 or c128."""

    library = "blas"
    inputs = ("x",)
    outputs = ("y",)
    changed = frozenset({"y"})
    numbers = {"alpha": 1.0}  # noqa: RUF012 - never changed
    scaled = "x"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of y, which is changed in place."""
        return {"y": _pair(inputs)}


@dataclass(frozen=True)
class Scal(LibraryCall):
    """x = alpha x in place; a vector of f32, f64, c64 or c128."""

    library = "blas"
    inputs = ()
    outputs = ("x",)
    changed = frozenset({"x"})
    numbers = {"alpha": 1.0}  # noqa: RUF012 - never changed
    scaled = "x"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of x, which is changed in place."""
        common_type(inputs, ("x",), FULL)
        check_vector("x", inputs["x"])
        return {"x": inputs["x"]}


@dataclass(frozen=True)
class Dot(LibraryCall):
    """out [1] = the sum of x y over all elements, optionally with conjugates of x; f32, f64, c64 or c128."""

    conjugate: bool = False

    library = "blas"
    inputs = ("x", "y")
    outputs = ("out",)

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the sum's layout."""
        return {"out": Layout(_pair(inputs).dtype, (1,))}


@dataclass(frozen=True)
class Norm(LibraryCall):
    """out [1] = the square root of the sum of |x| squared, a real number; x of f32, f64, c64 or c128."""

    library = "blas"
    inputs = ("x",)
    outputs = ("out",)

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the norm's layout."""
        dtype = common_type(inputs, ("x",), FULL)
        check_vector("x", inputs["x"])
        return {"out": Layout(REAL_OF[dtype], (1,))}


@dataclass(frozen=True)
class Geam(LibraryCall):
    """out = alpha a + beta b, each of shape [..., m, n] or, when it is transposed, [..., n, m].

    Without b it transposes or scales a. Element types are those of `Gemv`.
    """

    transpose_a: bool = False
    transpose_b: bool = False

    library = "blas"
    inputs = ("a", "b")
    outputs = ("out",)
    optional = frozenset({"b"})
    numbers = {"alpha": 1.0, "beta": 1.0}  # noqa: RUF012 - never changed
    scaled = "a"

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the sum's layout."""
        dtype = common_type(inputs, self.inputs, FULL)
        shapes = {}
        for slot, is_transposed in (("a", self.transpose_a), ("b", self.transpose_b)):
            if slot in inputs:
                check_matrix(slot, inputs[slot])
                *axes, rows, columns = inputs[slot].shape
                shapes[slot] = (*axes, columns, rows) if is_transposed else (*axes, rows, columns)
        if shapes.get("b", shapes["a"]) != shapes["a"]:
            given = " once transposed" if self.transpose_b else ""
            text = f"matrix must be of shape {list(shapes['a'])} to be added to a, got {list(shapes['b'])}{given}"
            raise OperandError("b", text)
        return {"out": Layout(dtype, shapes["a"])}


def _pair(inputs: Mapping[str, Layout]) -> Layout:
    """Return the layout of y when x and y are vectors of one shape and type."""
    common_type(inputs, ("x", "y"), FULL)
    for slot in ("x", "y"):
        check_vector(slot, inputs[slot])
    if inputs["x"].shape != inputs["y"].shape:
        raise OperandError("y", f"vector must be of shape {list(inputs['x'].shape)}, as x is, got {inputs['y']}")
    return inputs["y"]
