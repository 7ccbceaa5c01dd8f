"""Discrete Fourier transforms of the last axes; leading axes hold further signals, which are transformed alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt

from warploom.engine.libraries.call import LibraryCall, OperandError
from warploom.engine.libraries.matrices import pieces
from warploom.engine.types import DType, c64, c128, f32, f64
from warploom.engine.types.layout import Layout

#: The normalisations, with numpy's names: with "forward" or "backward", that direction divides by the number n of
#: elements; with "ortho", both directions divide by the square root of n.
NORMS = ("backward", "ortho", "forward")
_COMPLEX_OF: Mapping[DType, DType] = {f32: c64, f64: c128}
_REAL_OF: Mapping[DType, DType] = {c64: f32, c128: f64}


@dataclass(frozen=True)
class _Transform(LibraryCall):
    """The common part of the transforms: `axes` is the number of last axes that are transformed, 1 to 3."""

    axes: int = 1
    norm: str = "backward"

    library = "fft"
    choices = {"norm": NORMS}  # noqa: RUF012 - never changed
    inputs = ("x",)
    outputs = ("out",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.axes not in (1, 2, 3):
            raise ValueError(f"{self.label}: axes must be 1, 2 or 3, got {self.axes!r}")

    @property
    def is_inverse(self) -> bool:
        """True for a transform back from a spectrum."""
        return False

    def results(self, inputs: Mapping[str, Layout]) -> dict[str, Layout]:
        """Return the layout of the transform."""
        x = inputs["x"]
        if len(x.shape) < self.axes:
            raise OperandError("x", f"signal must have {self.axes} dimensions or more, got shape {list(x.shape)}")
        made = self._result(x)
        try:
            embedding_of(x, self.axes)
        except ValueError as problem:
            raise OperandError("x", f"{problem}; put a Copy before it") from None
        return {"out": made}

    def scale(self, sizes: Sequence[int]) -> float:
        """Return the factor of the sum, for a transform whose signal has these sizes."""
        count = prod(sizes)
        if self.norm == "ortho":
            return 1 / sqrt(count)
        return 1 / count if (self.norm == "backward") == self.is_inverse else 1.0

    def _result(self, x: Layout) -> Layout:
        raise NotImplementedError


@dataclass(frozen=True)
class Fft(_Transform):
    """The transform of complex numbers, c64 or c128, or with `inverse` the transform back; `out` is like `x`."""

    inverse: bool = False

    @property
    def is_inverse(self) -> bool:
        """True for a transform back from a spectrum."""
        return self.inverse

    def _result(self, x: Layout) -> Layout:
        return Layout(_accepted(x, _REAL_OF), x.shape)


@dataclass(frozen=True)
class RealFft(_Transform):
    """Half of the spectrum of real numbers, f32 or f64; the other half follows from it.

    The last axis of `out` has n // 2 + 1 elements for n in `x`.
    """

    def _result(self, x: Layout) -> Layout:
        return Layout(_COMPLEX_OF[_accepted(x, _COMPLEX_OF)], (*x.shape[:-1], x.shape[-1] // 2 + 1))


@dataclass(frozen=True)
class InverseRealFft(_Transform):
    """The real numbers, f32 or f64, computed from `x`, one half of their spectrum.

    The last axis of `out` has 2 (n - 1) elements for n in `x`, one more if it is `odd`. Where `x` has both elements of
    a mirrored pair, only their Hermitian part counts, as in numpy: of the first element, only the real part.
    """

    odd: bool = False

    @property
    def is_inverse(self) -> bool:
        """True for a transform back from a spectrum."""
        return True

    def _result(self, x: Layout) -> Layout:
        dtype = _REAL_OF[_accepted(x, _REAL_OF)]
        last = 2 * (x.shape[-1] - 1) + self.odd
        if not last:
            raise OperandError("x", "half spectrum of an even length must have 2 elements or more, got 1")
        return Layout(dtype, (*x.shape[:-1], last))


def _accepted(x: Layout, known: Mapping[DType, DType]) -> DType:
    if x.dtype not in known:
        raise OperandError("x", f"elements must be {' or '.join(map(str, known))}, got {x.dtype}")
    return x.dtype


@dataclass(frozen=True)
class Embedding:
    """How cuFFT's advanced data layout sees the last axes of a layout.

    Element [i, j, k] of signal s lies at element s * distance + ((i * embed[1] + j) * embed[2] + k) * stride.
    """

    sizes: tuple[int, ...]
    embed: tuple[int, ...]
    stride: int
    count: int
    distance: int


def embedding_of(layout: Layout, axes: int) -> Embedding:
    """Return how cuFFT sees the last axes of a layout. Raise ValueError, with a sentence, when it can't read them."""
    sizes, strides = layout.shape[-axes:], list(layout.element_strides)
    count, distance = pieces("signals", layout.shape[:-axes], strides[:-axes])
    steps: list[int | None] = []
    for size, step in zip(sizes, strides[-axes:], strict=True):  # an axis with one position takes any step
        steps.append(step if size > 1 else steps[-1] if steps else None)
    stride = 1 if steps[-1] is None else steps[-1]
    passed = stride
    embed = [sizes[0]]
    for size, outer in zip(sizes[:0:-1], steps[-2::-1], strict=True):
        wide, rest = (size, 0) if outer is None else divmod(outer, passed)
        if rest or wide < size:
            raise ValueError(f"axes must be nested, each within one step of the axis before, got strides {strides}")
        embed.insert(1, wide)
        passed *= wide
    return Embedding(sizes, tuple(embed), stride, count, max(distance, 1))
