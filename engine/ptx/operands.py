"""Parsing of instruction operands."""

from __future__ import annotations

from collections.abc import Callable

from engine.ptx.cursor import Cursor
from engine.ptx.tree import (
    Address,
    Float,
    Group,
    Integer,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    Vector,
)

#: Resolves a name in the current scope to the register or symbol it stands for.
Resolve = Callable[[str], Register | Symbol]


def operand_list(cursor: Cursor, resolve: Resolve, end: str) -> tuple[Operand, ...]:
    """Return the operands up to `end`, which is stepped over."""
    operands: list[Operand] = []
    while not cursor.accept(end):
        if operands:
            cursor.expect(",")
        operands.append(operand(cursor, resolve))
    return tuple(operands)


def operand(cursor: Cursor, resolve: Resolve) -> Operand:
    """Return one operand."""
    first = _single(cursor, resolve)
    if cursor.accept("|"):
        return Pair(first, _single(cursor, resolve))
    return first


def _single(cursor: Cursor, resolve: Resolve) -> Operand:
    if cursor.accept("{"):
        return Vector(operand_list(cursor, resolve, "}"))
    if cursor.accept("["):
        return _address(cursor, resolve)
    if cursor.accept("!"):
        register = resolve(cursor.word("a predicate"))
        if not isinstance(register, Register):
            raise cursor.error("a predicate register after '!'")
        return Negated(register)
    if cursor.at("(") and cursor.following.kind != "number" and cursor.following.text != "-":
        cursor.take()
        return Group(operand_list(cursor, resolve, ")"))
    if cursor.token.kind == "word":
        name = cursor.take().text
        if name == "_":
            return Sink()
        target = resolve(name)
        if isinstance(target, Symbol) and (cursor.at("+") or cursor.at("-")):
            return Symbol(target.name, target.offset + _signed_offset(cursor))
        return target
    return cursor.immediate()


def _address(cursor: Cursor, resolve: Resolve) -> Address:
    base: Register | Symbol | Integer
    if cursor.token.kind == "word":
        base = resolve(cursor.take().text)
    else:
        value = cursor.immediate()
        if isinstance(value, Float):
            raise cursor.error("an address")
        base = value
    offset = 0
    while cursor.at("+") or cursor.at("-"):
        offset += _signed_offset(cursor)
    coordinates: tuple[Operand, ...] = ()
    if cursor.accept(","):
        return Address(base, offset, operand_list(cursor, resolve, "]"))
    cursor.expect("]")
    return Address(base, offset, coordinates)


def _signed_offset(cursor: Cursor) -> int:
    sign = -1 if cursor.take().text == "-" else 1
    return sign * cursor.integer()
