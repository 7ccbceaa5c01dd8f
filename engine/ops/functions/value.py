"""Arithmetic on LLVM values as Python operators, so that a function reads like its formula."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llvmlite import ir

from engine.ops.functions.coefficients import TABLES


@dataclass(frozen=True)
class Format:
    """A binary floating-point format of IEEE 754."""

    name: str
    type: ir.Type
    word: ir.IntType
    #: As wide as two words.
    double_word: ir.IntType
    #: Bits after the point.
    fraction: int
    bias: int
    code: str

    @property
    def width(self) -> int:
        """All bits."""
        return int(self.word.width)

    @property
    def least_normal(self) -> float:
        """The least normal number."""
        return float(2.0 ** (1 - self.bias))

    @property
    def sign(self) -> int:
        """The bits of -0."""
        return 1 << (self.width - 1)

    def bits(self, value: float) -> int:
        """Return the bits of a number."""
        return int.from_bytes(struct.pack(f"<{self.code}", value), "little")


F32 = Format("f32", ir.FloatType(), ir.IntType(32), ir.IntType(64), 23, 127, "f")
F64 = Format("f64", ir.DoubleType(), ir.IntType(64), ir.IntType(128), 52, 1023, "d")


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A float, an integer or a condition in the code that a builder writes.

    Operators write the instruction; Python numbers become constants of the same type. Integers are signed in `>>`,
    comparisons and `float`. Comparisons with NaN are false, also `is_unequal`.
    """

    builder: ir.IRBuilder
    format: Format
    raw: ir.Value

    @property
    def _is_float(self) -> bool:
        return isinstance(self.raw.type, ir.FloatType | ir.DoubleType)

    def _new(self, raw: ir.Value) -> Value:
        return Value(self.builder, self.format, raw)

    def like(self, number: Value | float) -> Value:
        """Return a constant of this value's type; a `Value` as it is."""
        return number if isinstance(number, Value) else self._new(ir.Constant(self.raw.type, number))

    def constant(self, number: float) -> Value:
        """Return a float constant of this value's format, whatever its own type."""
        return self._new(ir.Constant(self.format.type, number))

    def parts(self, name: str, count: int) -> tuple[float, ...]:
        """Return the first parts of a constant whose sum is the constant to `count` times the precision."""
        return TABLES[self.format.name][name][:count]

    # -- operators ---------------------------------------------------------------------------------------------------

    def _write(self, floating: str, integer: str, left: Value, right: Value) -> Value:
        return self._new(getattr(self.builder, floating if self._is_float else integer)(left.raw, right.raw))

    def __add__(self, other: Value | float) -> Value:
        return self._write("fadd", "add", self, self.like(other))

    def __sub__(self, other: Value | float) -> Value:
        return self._write("fsub", "sub", self, self.like(other))

    def __rsub__(self, other: float) -> Value:
        return self._write("fsub", "sub", self.like(other), self)

    def __mul__(self, other: Value | float) -> Value:
        return self._write("fmul", "mul", self, self.like(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Value | float) -> Value:
        return self._new(self.builder.fdiv(self.raw, self.like(other).raw))

    def __rtruediv__(self, other: float) -> Value:
        return self._new(self.builder.fdiv(self.like(other).raw, self.raw))

    def __neg__(self) -> Value:
        return self._new(self.builder.fneg(self.raw) if self._is_float else self.builder.neg(self.raw))

    def __and__(self, other: Value | int) -> Value:
        return self._new(self.builder.and_(self.raw, self.like(other).raw))

    def __or__(self, other: Value | int) -> Value:
        return self._new(self.builder.or_(self.raw, self.like(other).raw))

    def __xor__(self, other: Value | int) -> Value:
        return self._new(self.builder.xor(self.raw, self.like(other).raw))

    def __invert__(self) -> Value:
        return self._new(self.builder.not_(self.raw))

    def __lshift__(self, count: Value | int) -> Value:
        return self._new(self.builder.shl(self.raw, self.like(count).raw))

    def __rshift__(self, count: Value | int) -> Value:
        return self._new(self.builder.ashr(self.raw, self.like(count).raw))

    def shifted_right(self, count: Value | int) -> Value:
        """Return the integer shifted to the right, with zeros from the left."""
        return self._new(self.builder.lshr(self.raw, self.like(count).raw))

    def divided_by(self, divisor: int) -> Value:
        """Return the quotient of unsigned integers."""
        return self._new(self.builder.udiv(self.raw, self.like(divisor).raw))

    def shifted_left_with(self, following: Value, count: Value) -> Value:
        """Return the word shifted to the left, with the upper bits of the following word from the right."""
        return self._intrinsic("fshl", following, count)

    def _compare(self, sign: str, other: Value | float) -> Value:
        compare = self.builder.fcmp_ordered if self._is_float else self.builder.icmp_signed
        return self._new(compare(sign, self.raw, self.like(other).raw))

    def __lt__(self, other: Value | float) -> Value:
        return self._compare("<", other)

    def __le__(self, other: Value | float) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: Value | float) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: Value | float) -> Value:
        return self._compare(">=", other)

    def is_equal(self, other: Value | float) -> Value:
        """Whether both are equal."""
        return self._compare("==", other)

    def is_unequal(self, other: Value | float) -> Value:
        """Whether both are numbers and differ."""
        return self._compare("!=", other)

    # -- bits and conversions ----------------------------------------------------------------------------------------

    def bits(self) -> Value:
        """Return the float's bits as an integer."""
        return self._new(self.builder.bitcast(self.raw, self.format.word))

    def from_bits(self) -> Value:
        """Return the float with these bits."""
        return self._new(self.builder.bitcast(self.raw, self.format.type))

    def to_float(self) -> Value:
        """Return the signed integer as a float, rounded to nearest."""
        return self._new(self.builder.sitofp(self.raw, self.format.type))

    def to_f64(self) -> Value:
        """Return the f32 as an f64."""
        return Value(self.builder, F64, self.builder.fpext(self.raw, F64.type))

    def to_f32(self) -> Value:
        """Return the f64 rounded to f32."""
        return Value(self.builder, F32, self.builder.fptrunc(self.raw, F32.type))

    def widened(self) -> Value:
        """Return the unsigned word as a double word."""
        return self._new(self.builder.zext(self.raw, self.format.double_word))

    def low_word(self) -> Value:
        """Return the lower half of a double word."""
        return self._new(self.builder.trunc(self.raw, self.format.word))

    def high_word(self) -> Value:
        """Return the upper half of a double word."""
        return self.shifted_right(self.format.width).low_word()

    # -- functions that every device computes exactly ----------------------------------------------------------------

    def _intrinsic(self, name: str, *others: Value) -> Value:
        kind = self.raw.type
        signature = ir.FunctionType(kind, [kind] * (1 + len(others)))
        declared = self.builder.module.declare_intrinsic(f"llvm.{name}", [kind], signature)
        return self._new(self.builder.call(declared, [self.raw, *(other.raw for other in others)]))

    def __abs__(self) -> Value:
        return self._intrinsic("fabs")

    def floor(self) -> Value:
        """Return the integer at or below."""
        return self._intrinsic("floor")

    def ceil(self) -> Value:
        """Return the integer at or above."""
        return self._intrinsic("ceil")

    def truncate(self) -> Value:
        """Return the float without its fraction."""
        return self._intrinsic("trunc")

    def round_to_even(self) -> Value:
        """Return the nearest integer, the even one of two."""
        return self._intrinsic("roundeven")

    def root(self) -> Value:
        """Return the square root, rounded to nearest."""
        return self._intrinsic("sqrt")

    def with_sign_of(self, other: Value) -> Value:
        """Return the magnitude with another float's sign."""
        return self._intrinsic("copysign", other)

    def fma(self, factor: Value | float, addend: Value | float) -> Value:
        """Return self * factor + addend, rounded once."""
        return self._intrinsic("fma", self.like(factor), self.like(addend))


def select(condition: Value, yes: Value | float, no: Value | float) -> Value:
    """Return `yes` where the condition holds, else `no`; one of them is a `Value`."""
    if isinstance(yes, Value):
        no = yes.like(no)
    elif isinstance(no, Value):
        yes = no.like(yes)
    else:
        yes, no = condition.constant(yes), condition.constant(no)
    return condition._new(condition.builder.select(condition.raw, yes.raw, no.raw))


def polynomial(x: Value, name: str) -> Value:
    """Return a polynomial of coefficients.py at x by Horner's rule."""
    *others, result = (x.constant(c) for c in TABLES[x.format.name][name])
    for coefficient in reversed(others):
        result = result.fma(x, coefficient)
    return result


def power_of_two(exponent: Value) -> Value:
    """Return 2^exponent for an integer exponent of a normal number."""
    format = exponent.format
    return ((exponent + format.bias) << format.fraction).from_bits()


def scaled(x: Value, exponent: Value) -> Value:
    """Return x * 2^exponent, which may be subnormal or overflow, for x near 1."""
    half = exponent >> 1
    return x * power_of_two(half) * power_of_two(exponent - half)


def nearest(x: Value) -> tuple[Value, Value]:
    """Return the nearest integer as a float and as an integer, for |x| below 2^(fraction - 1)."""
    magic = 1.5 * 2.0**x.format.fraction
    shifted = x + magic
    return shifted - magic, shifted.bits() - x.format.bits(magic)


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """Return the rounded sum and its error, for |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def any_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """Return the rounded sum and its error."""
    total = a + b
    taken = total - a
    return total, (a - (total - taken)) + (b - taken)


def two_product(a: Value, b: Value | float) -> tuple[Value, Value]:
    """Return the rounded product and its error."""
    product = a * b
    return product, a.fma(b, -product)


def clamped(x: Value, low: float, high: float) -> Value:
    """Return x within bounds; NaN stays NaN."""
    x = select(x > high, high, x)
    return select(x < low, low, x)


def unless(condition: Value, usual: Sequence[Value], rare: Callable[[], Sequence[Value]]) -> list[Value]:
    """Return the usual values where the condition holds; where it does not, run `rare` for others."""
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


def unordered(x: Value, y: Value) -> Value:
    """Whether one of two is NaN."""
    return Value(x.builder, x.format, x.builder.fcmp_unordered("uno", x.raw, y.raw))
