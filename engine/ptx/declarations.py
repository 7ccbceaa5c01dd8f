"""Parsing of variable declarations: spaces, types, alignments, array sizes and initial values."""

import math

from msgspec.structs import replace

from warploom.engine.ptx.constants import constant_integer, immediate, offset
from warploom.engine.ptx.lexer import Cursor, PtxSyntaxError
from warploom.engine.ptx.tree import InitialValue, Integer, SymbolValue, Variable, type_size

MAX_ALIGNMENT, MAX_BYTES = 1 << 16, 1 << 40
LINKAGES = ("extern", "visible", "weak", "common")
SPACES = ("global", "const", "shared", "local", "param", "tex")
#: Types whose values only texture and surface instructions read.
OPAQUE = ("texref", "samplerref", "surfref")


def skip_bank(cursor: Cursor) -> None:
    """Step over the bank in `.const[3]`: all banks are one memory."""
    if cursor.accept("["):
        constant_integer(cursor)
        cursor.expect("]")


def variables(cursor: Cursor, space: str, linkage: str) -> list[Variable]:
    """Parse the rest of a declaration, from its state space to its semicolon, and return its variables."""
    skip_bank(cursor)
    alignment, components, ptx_type, _ = _type(cursor)
    found = [_named(cursor, space, linkage, ptx_type, components, alignment)]
    while cursor.accept(","):
        found.append(_named(cursor, space, linkage, ptx_type, components, alignment))
    cursor.expect(";")
    return found


def variable(cursor: Cursor, space: str, linkage: str = "") -> Variable:
    """Return one variable: attributes, type, name, array sizes and initial value."""
    alignment, components, ptx_type, is_pointer = _type(cursor)
    found = _named(cursor, space, linkage, ptx_type, components, alignment)
    return replace(found, is_pointer=True) if is_pointer else found


def _type(cursor: Cursor) -> tuple[int, int, str, bool]:
    """Return alignment, vector components and type of a declaration, and whether it is marked as a pointer."""
    alignment, components, ptx_type, pointer = 0, 1, "", False
    while cursor.token.kind == "directive":
        name = cursor.directive("a type")
        if name == "align":
            given = constant_integer(cursor)
            if not 0 < given <= MAX_ALIGNMENT or given & (given - 1):
                raise PtxSyntaxError(
                    f"PTX line {cursor.line}: .align must be a power of two up to {MAX_ALIGNMENT}, got {given}",
                    line=cursor.line,
                )
            # In `.ptr .align n`, n is the alignment of the pointer's target.
            if not pointer:
                alignment = given
        elif name == "ptr":
            pointer = True
        elif name in SPACES:
            continue  # the space of a `.ptr` parameter's target
        elif name == "attribute":
            skip(cursor, "(", ")")
        elif name in ("v2", "v4", "v8"):
            components = int(name[1:])
        else:
            ptx_type = name
    if not ptx_type:
        raise cursor.error("a type")
    return alignment, components, ptx_type, pointer


def _named(cursor: Cursor, space: str, linkage: str, ptx_type: str, components: int, alignment: int) -> Variable:
    line = cursor.line
    name = cursor.word("a variable name")
    sizes: list[int] = []
    while cursor.accept("["):
        sizes.append(0 if cursor.at("]") else constant_integer(cursor))
        cursor.expect("]")
    count = math.prod(sizes) if sizes else 1
    initial: tuple[InitialValue, ...] = ()
    if cursor.accept("="):
        if ptx_type in OPAQUE:
            skip(cursor, "{", "}")
        else:
            shape = [*sizes, components] if components > 1 else sizes
            values = _Initial(cursor, shape or [1]).values
            initial = tuple(values)
            if sizes and sizes[0] == 0:
                count = -(-len(initial) // (math.prod(sizes[1:]) * components)) * math.prod(sizes[1:])
    natural = type_size(ptx_type) * components
    if not 0 <= count * natural <= MAX_BYTES:
        raise PtxSyntaxError(
            f"PTX line {line}: variable {name} must have 0 to {MAX_BYTES} bytes, got {count * natural}", line=line
        )
    return Variable(name, space, ptx_type, count * components, max(alignment, natural, 1), line, linkage, initial)


class _Initial:
    """Reads nested braces; incomplete rows are filled with zeros."""

    def __init__(self, cursor: Cursor, shape: list[int]) -> None:
        self._cursor = cursor
        self.values: list[InitialValue] = []
        self._read(shape)

    def _read(self, shape: list[int]) -> None:
        cursor = self._cursor
        if not cursor.accept("{"):
            self.values.append(_initial_value(cursor))
            return
        inner = shape[1:] or [1]
        row = math.prod(inner)
        start = len(self.values)
        while not cursor.accept("}"):
            before = len(self.values)
            nested = cursor.at("{")
            with cursor.nested():
                self._read(inner)
            if nested:
                self.values.extend([Integer(0)] * (before + row - len(self.values)))
            if not cursor.at("}"):
                cursor.expect(",")
        size = math.prod(shape)
        if size and len(self.values) - start > size:
            raise cursor.error(f"at most {size} initial values before this")


def _initial_value(cursor: Cursor) -> InitialValue:
    if cursor.token.kind == "number" and cursor.following.text == "(":
        mask = constant_integer(cursor)
        cursor.expect("(")
        with cursor.nested():
            value = _initial_value(cursor)
        cursor.expect(")")
        if not isinstance(value, SymbolValue):
            raise cursor.error("a symbol inside the parentheses after a mask")
        return SymbolValue(value.name, value.offset, value.generic, mask)
    if cursor.token.kind != "word" or cursor.token.text == "WARP_SZ":
        return immediate(cursor)
    name, generic = cursor.take().text, False
    if name == "generic" and cursor.accept("("):
        generic, name = True, cursor.word("a symbol")
        inner = offset(cursor)
        cursor.expect(")")
        return SymbolValue(name, inner + offset(cursor), generic)
    return SymbolValue(name, offset(cursor), generic)


def skip(cursor: Cursor, opening: str, closing: str) -> None:
    """Step over a bracketed part, which may be nested."""
    cursor.expect(opening)
    depth = 1
    while depth:
        text = cursor.take().text
        depth += (text == opening) - (text == closing)
