"""Constant expressions as in the PTX manual: 64-bit integers, f64 values, and C's operators."""

import math
import operator
import struct

import msgspec

from warploom.engine.ptx.lexer import Cursor
from warploom.engine.ptx.tree import Float, Integer

_WORD = 1 << 64
_LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %")
#: Binary operators with their precedence; a higher number binds more tightly.
_STRENGTH = {symbol: level for level, symbols in enumerate(_LEVELS) for symbol in symbols.split()}
_TERMS = _STRENGTH["*"]  # binds more tightly than sums; operators that may follow `+` in an address


class _Whole(msgspec.Struct, frozen=True):
    """An integer of type .s64 or .u64."""

    value: int
    unsigned: bool


_Value = _Whole | Float


def immediate(cursor: Cursor) -> Integer | Float:
    """Return a constant expression's value."""
    return _plain(_conditional(cursor))


def offset(cursor: Cursor) -> int:
    """Return the sum of the terms `+n` and `-n` that follow; 0 when there is none."""
    total = 0
    while cursor.at("+") or cursor.at("-"):
        total += term(cursor) if cursor.take().text == "+" else -term(cursor)
    return total


def term(cursor: Cursor) -> int:
    """Return an integer without sums and differences, such as `8*4` in `[base+8*4]`."""
    return _whole(cursor, _binary(cursor, _TERMS))


def constant_integer(cursor: Cursor) -> int:
    """Return a constant expression that must be an integer."""
    return _whole(cursor, _conditional(cursor))


def _whole(cursor: Cursor, value: _Value) -> int:
    if isinstance(value, Float):
        raise cursor.error("an integer")
    return value.value


def _plain(value: _Value) -> Integer | Float:
    return value if isinstance(value, Float) else Integer(value.value)


def _wrapped(value: int, unsigned: bool) -> _Whole:
    value %= _WORD
    return _Whole(value if unsigned or value < _WORD // 2 else value - _WORD, unsigned)


def _conditional(cursor: Cursor) -> _Value:
    condition = _binary(cursor, 0)
    if not cursor.accept("?"):
        return condition
    with cursor.nested():
        then = _conditional(cursor)
        cursor.expect(":")
        otherwise = _conditional(cursor)
    chosen = then if _is_true(condition) else otherwise
    if isinstance(then, _Whole) and isinstance(otherwise, _Whole) and isinstance(chosen, _Whole):
        return _wrapped(chosen.value, then.unsigned or otherwise.unsigned)
    return chosen


def _binary(cursor: Cursor, weakest: int) -> _Value:
    """Return the value of operands joined by operators of at least this precedence, from left to right."""
    left = _unary(cursor)
    while cursor.token.kind == "symbol" and (strength := _STRENGTH.get(cursor.token.text, -1)) >= weakest:
        symbol = cursor.take().text
        with cursor.nested():
            right = _binary(cursor, strength + 1)
        left = _apply(cursor, symbol, left, right)
    return left


def _unary(cursor: Cursor) -> _Value:
    if cursor.token.kind == "number":
        return _literal(cursor.take().text)
    with cursor.nested():
        return _signed(cursor)


def _signed(cursor: Cursor) -> _Value:
    if cursor.accept("+"):
        return _unary(cursor)
    if cursor.accept("-"):
        value = _unary(cursor)
        if isinstance(value, Float):
            return Float(value.bits ^ (1 << (value.width - 1)), value.width)
        # Negating a literal does not wrap around: -0x8000000000000000 keeps its sign.
        return _Whole(-value.value, False) if not value.unsigned else _wrapped(-value.value, True)
    if cursor.accept("!"):
        return _Whole(int(not _is_true(_unary(cursor))), False)
    if cursor.accept("~"):
        value = _unary(cursor)
        if isinstance(value, Float):
            raise cursor.error("an integer after '~'")
        return _Whole(~value.value, False) if not value.unsigned else _wrapped(~value.value, True)
    if cursor.accept("("):
        return _parentheses(cursor)
    if cursor.accept("WARP_SZ"):
        return _Whole(32, False)
    raise cursor.error("a number")


def _parentheses(cursor: Cursor) -> _Value:
    if cursor.token.kind == "directive":
        kind = cursor.directive("a type")
        if kind not in ("s64", "u64"):
            raise cursor.error("a cast to .s64 or .u64")
        cursor.expect(")")
        value = _unary(cursor)
        if isinstance(value, Float):
            number = _double(value)
            if not math.isfinite(number):
                raise cursor.error("a number other than infinity and NaN before this")
            return _wrapped(int(number), kind == "u64")
        return _wrapped(value.value, kind == "u64")
    value = _conditional(cursor)
    cursor.expect(")")
    return value


def _literal(text: str) -> _Value:
    """Return the value of a number token."""
    lower = text.lower()
    if lower.startswith("0f"):
        return Float(int(text[2:], 16), 32)
    if lower.startswith("0d") and len(text) == 18:
        return Float(int(text[2:], 16), 64)
    digits = lower.removesuffix("u")
    if digits.startswith(("0x", "0b")):
        value = int(digits, 0)
    elif "." in digits or "e" in digits:
        return _float(float(digits))
    else:
        is_octal = digits.startswith("0") and not set(digits) & set("89")
        value = int(digits, 8 if is_octal else 10)
    return _Whole(value, lower.endswith("u") or value >= _WORD // 2)


def _double(value: Float) -> float:
    kind, size = ("<f", 4) if value.width == 32 else ("<d", 8)
    return float(struct.unpack(kind, value.bits.to_bytes(size, "little"))[0])


def _is_true(value: _Value) -> bool:
    return _double(value) != 0 if isinstance(value, Float) else value.value != 0


def _float(value: float) -> Float:
    return Float(int.from_bytes(struct.pack("<d", value), "little"), 64)


_ON_FLOATS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_ON_INTEGERS = {"+": operator.add, "-": operator.sub, "*": operator.mul} | {
    "&": operator.and_,
    "^": operator.xor,
    "|": operator.or_,
}
_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge} | {
    "==": operator.eq,
    "!=": operator.ne,
}


def _apply(cursor: Cursor, symbol: str, left: _Value, right: _Value) -> _Value:
    if symbol in ("&&", "||"):
        both = (_is_true(left), _is_true(right))
        return _Whole(int(all(both) if symbol == "&&" else any(both)), False)
    if isinstance(left, Float) or isinstance(right, Float):
        return _apply_floats(cursor, symbol, left, right)
    if symbol in ("<<", ">>"):
        count = right.value & 63
        shifted = left.value << count if symbol == "<<" else left.value >> count
        return _wrapped(shifted, left.unsigned)
    unsigned = left.unsigned or right.unsigned
    a, b = _wrapped(left.value, unsigned).value, _wrapped(right.value, unsigned).value
    if symbol in _COMPARISONS:
        return _Whole(int(_COMPARISONS[symbol](a, b)), False)
    if symbol in _ON_INTEGERS:
        return _wrapped(_ON_INTEGERS[symbol](a, b), unsigned)
    if b == 0:
        raise cursor.error("a divisor other than 0")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)  # C rounds toward zero
    return _wrapped(quotient if symbol == "/" else a - quotient * b, unsigned)


def _apply_floats(cursor: Cursor, symbol: str, left: _Value, right: _Value) -> _Value:
    a, b = (_double(item) if isinstance(item, Float) else float(item.value) for item in (left, right))
    if symbol in _COMPARISONS:
        return _Whole(int(_COMPARISONS[symbol](a, b)), False)
    if symbol not in _ON_FLOATS or (symbol == "/" and b == 0):
        raise cursor.error("integers, or a sum, difference, product or quotient of floats")
    return _float(_ON_FLOATS[symbol](a, b))
