"""Parsing of instruction operands."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.ptx.constants import immediate, integer, term
from engine.ptx.cursor import Cursor
from engine.ptx.elements import Element
from engine.ptx.tree import (
    Address,
    Float,
    Group,
    Integer,
    Negated,
    Operand,
    Pair,
    Part,
    Register,
    Sink,
    Symbol,
    Vector,
)

# Bytes or half words of a register, as the video instructions name them.
_SELECTOR = re.compile(r"b[0-7]{1,4}|h[0-3]{1,2}")

#: Resolves a name in the current scope to the register, registers or symbol it stands for.
Resolve = Callable[[str], Register | Symbol | Vector]


def instruction_operands(cursor: Cursor, resolve: Resolve, *, groups: bool) -> tuple[Operand | Element, ...]:
    """Return an instruction's operands up to its semicolon, which is stepped over; in a call parentheses hold lists."""
    operands: list[Operand | Element] = []
    while not cursor.accept(";"):
        if operands:
            cursor.expect(",")
        if cursor.token.kind == "word" and cursor.following.text == "[":
            operands.append(_element(cursor, resolve))
        else:
            operands.append(operand(cursor, resolve, groups=groups))
    return tuple(operands)


def operand_list(cursor: Cursor, resolve: Resolve, end: str, *, groups: bool = False) -> tuple[Operand, ...]:
    """Return the operands up to `end`, which is stepped over; with `groups`, parentheses hold lists as in a call."""
    operands: list[Operand] = []
    while not cursor.accept(end):
        if operands:
            cursor.expect(",")
        operands.append(operand(cursor, resolve, groups=groups))
    return tuple(operands)


def operand(cursor: Cursor, resolve: Resolve, *, groups: bool = False) -> Operand:
    """Return one operand."""
    if groups and cursor.accept("("):
        return Group(operand_list(cursor, resolve, ")"))
    first = _single(cursor, resolve)
    if cursor.accept("|"):
        return Pair(first, _single(cursor, resolve))
    return first


def _single(cursor: Cursor, resolve: Resolve) -> Operand:
    if cursor.accept("{"):
        return Vector(operand_list(cursor, resolve, "}"))
    if cursor.accept("["):
        return _address(cursor, resolve)
    if cursor.at("!") and cursor.following.kind == "word" and cursor.following.text != "WARP_SZ":
        cursor.take()
        register = resolve(cursor.word("a predicate"))
        if not isinstance(register, Register):
            raise cursor.error("a predicate register after '!'")
        return Negated(register)
    if cursor.token.kind == "word" and cursor.token.text != "WARP_SZ":
        name = cursor.take().text
        if name == "_":
            return Sink()
        base, _, selector = name.rpartition(".")
        if base and _SELECTOR.fullmatch(selector):
            selected = resolve(base)
            if isinstance(selected, Register):
                return Part(selected, selector)
        target = resolve(name)
        if isinstance(target, Symbol) and (cursor.at("+") or cursor.at("-")):
            return Symbol(target.name, target.offset + _signed_offset(cursor))
        return target
    if cursor.at("-") and cursor.following.kind == "word" and cursor.following.text != "WARP_SZ":
        cursor.take()
        negated = _single(cursor, resolve)
        if isinstance(negated, Register):
            return Part(negated, "", negative=True)
        if isinstance(negated, Part):
            return Part(negated.register, negated.selector, negative=not negated.negative)
        raise cursor.error("a register after '-'")
    return immediate(cursor)


def _element(cursor: Cursor, resolve: Resolve) -> Element:
    """Return `array[number]`, `array[register]` or `array[register+number]`."""
    array = resolve(cursor.take().text)
    if not isinstance(array, Symbol):
        raise cursor.error("an operand without an index")
    cursor.expect("[")
    register, number = None, 0
    if cursor.token.kind == "word" and cursor.token.text != "WARP_SZ":
        found = resolve(cursor.take().text)
        if not isinstance(found, Register):
            raise cursor.error("a register or a number as an index")
        register = found
        while cursor.at("+") or cursor.at("-"):
            number += _signed_offset(cursor)
    else:
        number = integer(cursor)
    cursor.expect("]")
    return Element(array, register, number)


def _address(cursor: Cursor, resolve: Resolve) -> Address:
    base: Register | Symbol | Integer
    if cursor.token.kind == "word" and cursor.token.text != "WARP_SZ":
        found = resolve(cursor.take().text)
        if isinstance(found, Vector):
            raise cursor.error("one component of the vector register as an address")
        base = found
    else:
        value = immediate(cursor)
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
    return sign * term(cursor)
