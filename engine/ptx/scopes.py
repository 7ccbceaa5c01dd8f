"""Scopes: which register, variable or label a name stands for between one pair of braces."""

from __future__ import annotations

import re

from warploom.engine.ptx.constants import term
from warploom.engine.ptx.lexer import Cursor, PtxSyntaxError
from warploom.engine.ptx.tree import REGISTER_TYPES, Register, Symbol, Vector

_FAMILY = re.compile(r"(.*?)(\d{1,9})$")
#: Component names of vector registers, by position and by colour channel.
_COMPONENTS = {"x": "x", "y": "y", "z": "z", "w": "w", "r": "x", "g": "y", "b": "z", "a": "w"}

#: The limit for registers in one declaration. No compiler declares more, so a larger number is a mistake.
MAX_REGISTERS = 1 << 18


class NameScope:
    """The names declared between one pair of braces."""

    def __init__(self, parent: NameScope | None, suffix: str) -> None:
        self.parent = parent
        self.suffix = suffix
        #: Exact register names; below, for `%r<10>`, the family's prefix with its count.
        self.registers: set[str] = set()
        self.families: dict[str, int] = {}
        #: Variables, labels and prototypes, with their names in the tree.
        self.names: dict[str, str] = {}
        #: Vector registers with their number of components; each component is a register of its own.
        self.vectors: dict[str, int] = {}

    def holds_register(self, name: str) -> bool:
        """Whether this scope declares the register."""
        if name in self.registers:
            return True
        match = _FAMILY.match(name)
        if match is None or (match[2][0] == "0" and len(match[2]) > 1):
            return False
        return int(match[2]) < self.families.get(match[1], 0)

    def find(self, name: str) -> Register | Symbol | Vector | None:
        """Return what a name stands for; None if this scope does not declare it."""
        if self.holds_register(name):
            return Register(name + self.suffix)
        if name in self.names:
            return Symbol(self.names[name])
        if name in self.vectors:
            return Vector(tuple(Register(f"{name}.{part}{self.suffix}") for part in "xyzw"[: self.vectors[name]]))
        base, _, part = name.rpartition(".")
        if base in self.vectors and part in _COMPONENTS:
            return Register(f"{base}.{_COMPONENTS[part]}{self.suffix}")
        return None


def declared_registers(cursor: Cursor, scope: NameScope) -> dict[str, str]:
    """Parse the rest of a `.reg` declaration. Add its registers to a scope, and return them with their types."""
    components = 0
    if cursor.at(".v2") or cursor.at(".v4"):
        components = int(cursor.take().text[2:])
    if cursor.token.text[1:] not in REGISTER_TYPES:
        raise cursor.error("a register type such as .b32")
    ptx_type = cursor.directive("a register type")
    found: dict[str, str] = {}
    while True:
        name = cursor.word("a register name")
        names = [name]
        if cursor.accept("<"):
            count = term(cursor)
            if not 0 <= count <= MAX_REGISTERS:
                raise PtxSyntaxError(
                    f"PTX line {cursor.line}: registers must be at most {MAX_REGISTERS}, got {count}",
                    line=cursor.line,
                )
            cursor.expect(">")
            names = [f"{name}{index}" for index in range(count)]
            if not components:
                scope.families[name] = count
        elif not components:
            scope.registers.add(name)
        for item in names:
            if components:
                scope.vectors[item] = components
            for part in "xyzw"[:components] or ("",):
                found[item + (f".{part}" if part else "") + scope.suffix] = ptx_type
        if cursor.accept(";"):
            return found
        cursor.expect(",")
