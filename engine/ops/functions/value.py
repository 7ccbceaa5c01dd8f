"""LLVM values with Python operators, so that the code of a function reads like its formula."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from fractions import Fraction

import msgspec
from llvmlite import ir

from warploom.engine.ops.functions.coefficients import CONSTANTS, TABLES


class Format(msgspec.Struct, frozen=True):
    """A binary floating-point format of IEEE 754."""

    name: str
    type: ir.Type
    word: ir.IntType
    #: An integer with twice the width of a word.
    double_word: ir.IntType
    #: The number of bits after the point.
    fraction: int
    bias: int
    code: str

    @property
    def width(self) -> int:
        """The total number of bits."""
        return int(self.word.width)

    @property
    def least_normal(self) -> float:
        """The least normal number."""
        return float(2.0 ** (1 - self.bias))

    @property
    def sign(self) -> int:
        """The bit pattern of -0."""
        return 1 << (self.width - 1)

    def bits(self, value: float) -> int:
        """Return a number's bit pattern."""
        return int.from_bytes(struct.pack(f"<{self.code}", value), "little")


F32 = Format("f32", ir.FloatType(), ir.IntType(32), ir.IntType(64), 23, 127, "f")
F64 = Format("f64", ir.DoubleType(), ir.IntType(64), ir.IntType(128), 52, 1023, "d")


class ScalarValue(msgspec.Struct, frozen=True, eq=False):
    """A float, an integer or a condition in the code that a builder writes.

    Each operator writes an instruction. Python numbers become constants of the same type. `>>`, comparisons and `float`
    treat integers as signed. Comparisons with NaN are false, even `is_unequal`.
    """

    builder: ir.IRBuilder
    format: Format
    raw: ir.Value

    @property
    def _is_float(self) -> bool:
        return isinstance(self.raw.type, ir.FloatType | ir.DoubleType)

    def _new(self, raw: ir.Value) -> ScalarValue:
        return ScalarValue(self.builder, self.format, raw)

    def like(self, number: ScalarValue | float) -> ScalarValue:
        """Return a number as a constant of this value's type; a `ScalarValue` is returned as it is."""
        return number if isinstance(number, ScalarValue) else self._new(ir.Constant(self.raw.type, number))

    def constant(self, number: float) -> ScalarValue:
        """Return a float constant of this value's format."""
        return self._new(ir.Constant(self.format.type, number))

    def parts(self, name: str, count: int) -> tuple[float, ...]:
        """Return a constant's first `count` parts; their sum has `count` times the precision of a float."""
        rest, parts = CONSTANTS[name], list[float]()
        for _ in range(count):
            (part,) = struct.unpack(self.format.code, struct.pack(self.format.code, rest))
            parts.append(part)
            rest -= Fraction(part)
        return tuple(parts)

    # -- operators ---------------------------------------------------------------------------------------------------

    def _write(self, floating: str, integer: str, left: ScalarValue, right: ScalarValue) -> ScalarValue:
        return self._new(getattr(self.builder, floating if self._is_float else integer)(left.raw, right.raw))

    def __add__(self, other: ScalarValue | float) -> ScalarValue:
        return self._write("fadd", "add", self, self.like(other))

    def __sub__(self, other: ScalarValue | float) -> ScalarValue:
        return self._write("fsub", "sub", self, self.like(other))

    def __rsub__(self, other: float) -> ScalarValue:
        return self._write("fsub", "sub", self.like(other), self)

    def __mul__(self, other: ScalarValue | float) -> ScalarValue:
        return self._write("fmul", "mul", self, self.like(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: ScalarValue | float) -> ScalarValue:
        return self._new(self.builder.fdiv(self.raw, self.like(other).raw))

    def __rtruediv__(self, other: float) -> ScalarValue:
        return self._new(self.builder.fdiv(self.like(other).raw, self.raw))

    def __neg__(self) -> ScalarValue:
        return self._new(self.builder.fneg(self.raw) if self._is_float else self.builder.neg(self.raw))

    def __and__(self, other: ScalarValue | int) -> ScalarValue:
        return self._new(self.builder.and_(self.raw, self.like(other).raw))

    def __or__(self, other: ScalarValue | int) -> ScalarValue:
        return self._new(self.builder.or_(self.raw, self.like(other).raw))

    def __xor__(self, other: ScalarValue | int) -> ScalarValue:
        return self._new(self.builder.xor(self.raw, self.like(other).raw))

    def __invert__(self) -> ScalarValue:
        return self._new(self.builder.not_(self.raw))

    def __lshift__(self, count: ScalarValue | int) -> ScalarValue:
        return self._new(self.builder.shl(self.raw, self.like(count).raw))

    def __rshift__(self, count: ScalarValue | int) -> ScalarValue:
        return self._new(self.builder.ashr(self.raw, self.like(count).raw))

    def shifted_right(self, count: ScalarValue | int) -> ScalarValue:
        """Return the integer shifted to the right; zeros enter from the left."""
        return self._new(self.builder.lshr(self.raw, self.like(count).raw))

    def divided_by(self, divisor: int) -> ScalarValue:
        """Return the quotient of unsigned integers."""
        return self._new(self.builder.udiv(self.raw, self.like(divisor).raw))

    def shifted_left_with(self, following: ScalarValue, count: ScalarValue) -> ScalarValue:
        """Return the word shifted to the left; the upper bits of `following` enter from the right."""
        return self._intrinsic("fshl", following, count)

    def _compare(self, sign: str, other: ScalarValue | float) -> ScalarValue:
        compare = self.builder.fcmp_ordered if self._is_float else self.builder.icmp_signed
        return self._new(compare(sign, self.raw, self.like(other).raw))

    def __lt__(self, other: ScalarValue | float) -> ScalarValue:
        return self._compare("<", other)

    def __le__(self, other: ScalarValue | float) -> ScalarValue:
        return self._compare("<=", other)

    def __gt__(self, other: ScalarValue | float) -> ScalarValue:
        return self._compare(">", other)

    def __ge__(self, other: ScalarValue | float) -> ScalarValue:
        return self._compare(">=", other)

    def is_equal(self, other: ScalarValue | float) -> ScalarValue:
        """Return whether both are equal."""
        return self._compare("==", other)

    def is_unequal(self, other: ScalarValue | float) -> ScalarValue:
        """Return whether both are numbers and differ."""
        return self._compare("!=", other)

    # -- bits and conversions ----------------------------------------------------------------------------------------

    def bits(self) -> ScalarValue:
        """Return the float's bits as an integer."""
        return self._new(self.builder.bitcast(self.raw, self.format.word))

    def from_bits(self) -> ScalarValue:
        """Return the float with these bits."""
        return self._new(self.builder.bitcast(self.raw, self.format.type))

    def to_float(self) -> ScalarValue:
        """Return the signed integer as a float, rounded to nearest."""
        return self._new(self.builder.sitofp(self.raw, self.format.type))

    def widened(self) -> ScalarValue:
        """Return the unsigned word as a double word."""
        return self._new(self.builder.zext(self.raw, self.format.double_word))

    def low_word(self) -> ScalarValue:
        """Return the lower half of a double word."""
        return self._new(self.builder.trunc(self.raw, self.format.word))

    def high_word(self) -> ScalarValue:
        """Return the upper half of a double word."""
        return self.shifted_right(self.format.width).low_word()

    # -- functions that every device computes exactly ----------------------------------------------------------------

    def _intrinsic(self, name: str, *others: ScalarValue) -> ScalarValue:
        kind = self.raw.type
        signature = ir.FunctionType(kind, [kind] * (1 + len(others)))
        declared = self.builder.module.declare_intrinsic(f"llvm.{name}", [kind], signature)
        return self._new(self.builder.call(declared, [self.raw, *(other.raw for other in others)]))

    def __abs__(self) -> ScalarValue:
        return self._intrinsic("fabs")

    def floor(self) -> ScalarValue:
        """Return the nearest integer at or below this value."""
        return self._intrinsic("floor")

    def ceil(self) -> ScalarValue:
        """Return the nearest integer at or above this value."""
        return self._intrinsic("ceil")

    def truncate(self) -> ScalarValue:
        """Return the float without its fraction."""
        return self._intrinsic("trunc")

    def round_to_even(self) -> ScalarValue:
        """Return the nearest integer; ties go to the even one."""
        return self._intrinsic("roundeven")

    def root(self) -> ScalarValue:
        """Return the square root, rounded to nearest."""
        return self._intrinsic("sqrt")

    def with_sign_of(self, other: ScalarValue) -> ScalarValue:
        """Return the magnitude with another float's sign."""
        return self._intrinsic("copysign", other)

    def fma(self, factor: ScalarValue | float, addend: ScalarValue | float) -> ScalarValue:
        """Return self * factor + addend, rounded once."""
        return self._intrinsic("fma", self.like(factor), self.like(addend))


def select(condition: ScalarValue, yes: ScalarValue | float, no: ScalarValue | float) -> ScalarValue:
    """Return `yes` where the condition holds, else `no`; one of them is a `ScalarValue`."""
    if isinstance(yes, ScalarValue):
        no = yes.like(no)
    elif isinstance(no, ScalarValue):
        yes = no.like(yes)
    else:
        yes, no = condition.constant(yes), condition.constant(no)
    return condition._new(condition.builder.select(condition.raw, yes.raw, no.raw))


def polynomial(x: ScalarValue, name: str) -> ScalarValue:
    """Return the value at x of a polynomial of coefficients.py, by Horner's rule."""
    *others, result = (x.constant(c) for c in TABLES[x.format.name][name])
    for coefficient in reversed(others):
        result = result.fma(x, coefficient)
    return result


def power_of_two(exponent: ScalarValue) -> ScalarValue:
    """Return 2^exponent; the exponent is an integer and the result a normal number."""
    format = exponent.format
    return ((exponent + format.bias) << format.fraction).from_bits()


def scaled(x: ScalarValue, exponent: ScalarValue) -> ScalarValue:
    """Return x * 2^exponent for x near 1; the result may be subnormal or overflow."""
    half = exponent >> 1
    return x * power_of_two(half) * power_of_two(exponent - half)


def nearest(x: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
    """Return the nearest integer, as a float and as an integer, for |x| below 2^(fraction - 1)."""
    magic = 1.5 * 2.0**x.format.fraction
    shifted = x + magic
    return shifted - magic, shifted.bits() - x.format.bits(magic)


def two_sum(a: ScalarValue, b: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
    """Return the rounded sum and its error, for |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def any_sum(a: ScalarValue, b: ScalarValue) -> tuple[ScalarValue, ScalarValue]:
    """Return the rounded sum and its error."""
    total = a + b
    taken = total - a
    return total, (a - (total - taken)) + (b - taken)


def two_product(a: ScalarValue, b: ScalarValue | float) -> tuple[ScalarValue, ScalarValue]:
    """Return the rounded product and its error."""
    product = a * b
    return product, a.fma(b, -product)


def clamped(x: ScalarValue, low: float, high: float) -> ScalarValue:
    """Return x within bounds; NaN stays NaN."""
    x = select(x > high, high, x)
    return select(x < low, low, x)


def unless(
    condition: ScalarValue, usual: Sequence[ScalarValue], rare: Callable[[], Sequence[ScalarValue]]
) -> list[ScalarValue]:
    """Return `usual` where the condition holds; elsewhere run `rare` and return its values."""
    builder, before = condition.builder, condition.builder.block
    with builder.if_then((~condition).raw):
        others = rare()
        end = builder.block
    results = []
    for value, other in zip(usual, others, strict=True):
        phi = builder.phi(value.raw.type)
        phi.add_incoming(value.raw, before)
        phi.add_incoming(other.raw, end)
        results.append(condition._new(phi))
    return results


def unordered(x: ScalarValue, y: ScalarValue) -> ScalarValue:
    """Return whether x or y is NaN."""
    return ScalarValue(x.builder, x.format, x.builder.fcmp_unordered("uno", x.raw, y.raw))
