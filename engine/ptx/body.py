"""Parsing of function bodies: statements, nested scopes, source locations and branch tables."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.ptx.constants import term
from engine.ptx.cursor import Cursor
from engine.ptx.declarations import LINKAGES, skip_bank, variable, variables
from engine.ptx.elements import with_elements
from engine.ptx.lexer import PtxSyntaxError
from engine.ptx.operands import instruction_operands
from engine.ptx.tree import (
    Guard,
    Instruction,
    Label,
    Prototype,
    Register,
    SourceLocation,
    Statement,
    Symbol,
    Variable,
    Vector,
)

_FAMILY = re.compile(r"(.*?)(\d+)$")
#: Component names of vector registers, by position and by colour.
_COMPONENTS = {"x": "x", "y": "y", "z": "z", "w": "w", "r": "x", "g": "y", "b": "z", "a": "w"}

#: More registers than a compiler ever declares at once; what is over it is a mistake, not a kernel.
MAX_REGISTERS = 1 << 18
#: More places than a jump table has.
MAX_TARGETS = 1 << 16


class Scope:
    """The names declared between one pair of braces."""

    def __init__(self, parent: Scope | None, suffix: str) -> None:
        self.parent = parent
        self.suffix = suffix
        #: Exact register names and, for `%r<10>`, the family's prefix with its count.
        self.registers: set[str] = set()
        self.families: dict[str, int] = {}
        self.names: set[str] = set()
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
        """Return what a name stands for, None when this scope does not declare it."""
        if self.holds_register(name):
            return Register(name + self.suffix)
        if name in self.names:
            return Symbol(name + self.suffix)
        if name in self.vectors:
            return Vector(tuple(Register(f"{name}.{part}{self.suffix}") for part in "xyzw"[: self.vectors[name]]))
        base, _, part = name.rpartition(".")
        if base in self.vectors and part in _COMPONENTS:
            return Register(f"{base}.{_COMPONENTS[part]}{self.suffix}")
        return None


class BodyParser:
    """Parses one body into flat lists; read the attributes when `parse` has returned."""

    def __init__(self, cursor: Cursor, files: dict[int, str], reachable: Mapping[str, Variable]) -> None:
        """`reachable` are the variables of the module and the function's parameters."""
        self._cursor = cursor
        self._files = files
        self._types = {name: found.ptx_type for name, found in reachable.items()}
        self._location: SourceLocation | None = None
        self._scope: Scope | None = None
        self._scopes = 0
        self.body: list[Statement] = []
        self.registers: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.prototypes: dict[str, Prototype] = {}
        self.targets: dict[str, tuple[str, ...]] = {}

    def parse(self, formal: Mapping[str, str] | None = None) -> None:
        """Parse from the opening brace to the closing one; `formal` are parameters that are registers, with types."""
        cursor = self._cursor
        cursor.expect("{")
        suffix = f"${self._scopes}" if self._scopes else ""
        self._scopes += 1
        outer, self._scope = self._scope, Scope(self._scope, suffix)
        if formal:
            for name in formal:
                base = name.rpartition(".")[0]
                if base:
                    self._scope.vectors[base] = self._scope.vectors.get(base, 0) + 1
                else:
                    self._scope.registers.add(name)
            self.registers.update(formal)
        self._collect_labels()
        while not cursor.accept("}"):
            self._statement()
        self._scope = outer

    def _collect_labels(self) -> None:
        """Declare this scope's labels first: a branch may name one that comes later."""
        scope = self._scope
        assert scope is not None
        tokens, depth = self._cursor, 0
        for token, following in tokens.ahead():
            if token.text == "{":
                depth += 1
            elif token.text == "}":
                depth -= 1
                if depth < 0:
                    return
            elif depth == 0 and token.kind == "word" and following.text == ":":
                scope.names.add(token.text)

    def _statement(self) -> None:
        cursor = self._cursor
        token = cursor.token
        if token.kind == "location":
            self._location = _location(cursor.take().text, self._files, token.line)
        elif token.kind == "file":
            _file(cursor.take().text, self._files, token.line)
        elif token.kind == "directive":
            self._directive()
        elif token.text == "{":
            self.parse()
        elif token.text == ";":
            cursor.take()
        elif token.kind == "word" and cursor.following.text == ":":
            self._label()
        else:
            self._instruction()

    def _label(self) -> None:
        cursor = self._cursor
        line, name = cursor.line, self._resolve_symbol(cursor.take().text)
        cursor.expect(":")
        if cursor.at(".callprototype"):
            cursor.take()
            self.prototypes[name] = self._prototype(name)
        elif cursor.at(".branchtargets") or cursor.at(".calltargets"):
            cursor.take()
            names = self._targets()
            while cursor.accept(","):
                names += self._targets()
            cursor.expect(";")
            self.targets[name] = tuple(names)
        else:
            self.body.append(Label(name, line))

    def _targets(self) -> list[str]:
        """Return one entry of a list of labels or functions: a name, or a family such as `N<4>` for N0 to N3."""
        cursor = self._cursor
        name = cursor.word("a label")
        if not cursor.accept("<"):
            return [self._resolve_symbol(name)]
        count = term(cursor)
        if not 0 < count <= MAX_TARGETS:
            raise PtxSyntaxError(
                f"PTX line {cursor.line}: targets must be 1 to {MAX_TARGETS}, got {count}", line=cursor.line
            )
        cursor.expect(">")
        return [self._resolve_symbol(f"{name}{index}") for index in range(count)]

    def _prototype(self, name: str) -> Prototype:
        cursor = self._cursor
        results = parameter_list(cursor) if cursor.at("(") else ()
        cursor.expect("_")
        parameters = parameter_list(cursor) if cursor.at("(") else ()
        while not cursor.accept(";"):
            cursor.take()  # .noreturn, .abi_preserve and the like
        return Prototype(name, results, parameters)

    def _directive(self) -> None:
        cursor, scope = self._cursor, self._scope
        assert scope is not None
        linkage, name = "", cursor.directive("a directive")
        if name in LINKAGES:
            linkage, name = name, cursor.directive("a state space")
        if name == "reg":
            self._registers()
        elif name in ("local", "shared", "param", "const", "global"):
            for found in variables(cursor, name, linkage):
                scope.names.add(found.name)
                unique = found.name + scope.suffix
                self.variables.append(_renamed(found, unique))
                self._types[unique] = found.ptx_type
        elif name in ("pragma", "alias"):
            while not cursor.accept(";"):
                cursor.take()
        elif name in ("callprototype", "branchtargets", "calltargets"):
            raise PtxSyntaxError(f"PTX line {cursor.line}: .{name} must have a label in front of it", line=cursor.line)
        else:
            raise PtxSyntaxError(f"PTX line {cursor.line}: .{name} must not stand in a function body", line=cursor.line)

    def _registers(self) -> None:
        cursor, scope = self._cursor, self._scope
        assert scope is not None
        components, ptx_type = 0, cursor.directive("a register type")
        if ptx_type in ("v2", "v4"):
            components, ptx_type = int(ptx_type[1:]), cursor.directive("a register type")
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
                    self.registers[item + (f".{part}" if part else "") + scope.suffix] = ptx_type
            if cursor.accept(";"):
                return
            cursor.expect(",")

    def _instruction(self) -> None:
        cursor = self._cursor
        line, guard = cursor.line, None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            register = self._resolve(cursor.word("a predicate"))
            if not isinstance(register, Register):
                raise cursor.error("a predicate register after '@'")
            guard = Guard(register, negated)
        opcode, *modifiers = cursor.word("an opcode").split(".")
        if modifiers and modifiers[-1] == "const" and cursor.at("["):
            skip_bank(cursor)
            while cursor.token.kind == "directive":
                modifiers += cursor.directive("a modifier").split(".")
        operands = instruction_operands(cursor, self._resolve, groups=opcode == "call")
        plain = Instruction(opcode, tuple(modifiers), (), guard, line, self._location)
        self.body += with_elements(plain, operands, self._types, self.registers)

    def _resolve(self, name: str) -> Register | Symbol | Vector:
        scope = self._scope
        while scope is not None:
            found = scope.find(name)
            if found is not None:
                return found
            scope = scope.parent
        if "." in name and not name.startswith("%"):
            return Register(f"%{name}")  # `tid.x`, as the first PTX versions wrote special registers
        # What no scope declares is a special register or a name of the module.
        return Register(name) if name.startswith("%") else Symbol(name)

    def _resolve_symbol(self, name: str) -> str:
        found = self._resolve(name)
        if isinstance(found, Vector):
            raise self._cursor.error("a label")
        return found.name


def parameter_list(cursor: Cursor) -> tuple[Variable, ...]:
    """Return the parameters in parentheses; `_` stands for an unnamed one."""
    cursor.expect("(")
    found: list[Variable] = []
    while not cursor.accept(")"):
        if found:
            cursor.expect(",")
        space = cursor.directive("a parameter")
        found.append(variable(cursor, space))
    return tuple(found)


def _renamed(found: Variable, name: str) -> Variable:
    return Variable(
        name, found.space, found.ptx_type, found.count, found.alignment, found.line, found.linkage, found.initial
    )


def _location(text: str, files: dict[int, str], line: int) -> SourceLocation:
    numbers = re.findall(r"\d+", text.split(",")[0].split("//")[0])
    if len(numbers) < 3:
        raise PtxSyntaxError(f"PTX line {line}: .loc must give file, line and column, got {text!r}", line=line)
    file, source_line, column = (int(item) for item in numbers[:3])
    return SourceLocation(files.get(file, ""), source_line, column)


def _file(text: str, files: dict[int, str], line: int) -> None:
    match = re.match(r'\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', text)
    if match is None:
        raise PtxSyntaxError(f"PTX line {line}: .file must give an index and a name, got {text!r}", line=line)
    files[int(match[1])] = f"{match[2]}/{match[3]}" if match[3] else match[2]
