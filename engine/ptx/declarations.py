"""Parsing of variable declarations: spaces, types, alignments, array sizes and initial values."""

from __future__ import annotations

import math

from engine.ptx.cursor import Cursor
from engine.ptx.tree import Float, InitialValue, Integer, SymbolValue, Variable, type_size

LINKAGES = ("extern", "visible", "weak", "common")
SPACES = ("global", "const", "shared", "local", "param", "tex")


def variables(cursor: Cursor, space: str, linkage: str) -> list[Variable]:
    """Return the variables of one declaration, from after its space to after its semicolon."""
    found = [variable(cursor, space, linkage)]
    alignment, ptx_type = found[0].alignment, found[0].ptx_type
    while cursor.accept(","):
        found.append(_named(cursor, space, linkage, ptx_type, 1, alignment))
    cursor.expect(";")
    return found


def variable(cursor: Cursor, space: str, linkage: str = "") -> Variable:
    """Return one variable: attributes, type, name, array sizes and initial value."""
    alignment, components, ptx_type, pointer = 0, 1, "", False
    while cursor.token.kind == "directive":
        name = cursor.directive("a type")
        if name == "align":
            given = cursor.integer()
            # `.ptr .align n` states what the pointer points to, not how the parameter lies.
            if not pointer:
                alignment = given
        elif name == "ptr":
            pointer = True
        elif name in SPACES:
            continue  # the space a `.ptr` parameter points into
        elif name == "attribute":
            _skip_parentheses(cursor)
        elif name in ("v2", "v4", "v8"):
            components = int(name[1:])
        else:
            ptx_type = name
    if not ptx_type:
        raise cursor.error("a type")
    return _named(cursor, space, linkage, ptx_type, components, alignment)


def _named(cursor: Cursor, space: str, linkage: str, ptx_type: str, components: int, alignment: int) -> Variable:
    line = cursor.line
    name = cursor.word("a variable name")
    sizes: list[int] = []
    while cursor.accept("["):
        sizes.append(0 if cursor.at("]") else cursor.integer())
        cursor.expect("]")
    initial = _initial(cursor) if cursor.accept("=") else ()
    count = math.prod(sizes) if sizes else 1
    if sizes and sizes[0] == 0 and initial:
        count = len(initial)
    natural = type_size(ptx_type) * components
    return Variable(name, space, ptx_type, count * components, max(alignment, natural, 1), line, linkage, initial)


def _initial(cursor: Cursor) -> tuple[InitialValue, ...]:
    if not cursor.accept("{"):
        return (_initial_value(cursor),)
    values: list[InitialValue] = []
    while not cursor.accept("}"):
        values.extend(_initial(cursor))
        if not cursor.at("}"):
            cursor.expect(",")
    return tuple(values)


def _initial_value(cursor: Cursor) -> InitialValue:
    if cursor.token.kind != "word":
        value: Integer | Float = cursor.immediate()
        if isinstance(value, Integer) and cursor.at("("):
            raise cursor.error("a plain initial value (masked addresses are not supported)")
        return value
    name, generic = cursor.take().text, False
    if name == "generic" and cursor.accept("("):
        generic, name = True, cursor.word("a symbol")
        offset = _offset(cursor)
        cursor.expect(")")
        return SymbolValue(name, offset + _offset(cursor), generic)
    return SymbolValue(name, _offset(cursor), generic)


def _offset(cursor: Cursor) -> int:
    if cursor.accept("+"):
        return cursor.integer()
    return -cursor.integer() if cursor.accept("-") else 0


def _skip_parentheses(cursor: Cursor) -> None:
    cursor.expect("(")
    depth = 1
    while depth:
        text = cursor.take().text
        depth += (text == "(") - (text == ")")
