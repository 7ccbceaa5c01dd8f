"""Parsing of function bodies: statements, nested scopes, source locations and branch tables."""

import re
from collections import ChainMap
from collections.abc import Mapping

from msgspec.structs import replace

from warploom.engine.ptx import tree as ptx
from warploom.engine.ptx.constants import term
from warploom.engine.ptx.declarations import LINKAGES, skip_bank, variable, variables
from warploom.engine.ptx.lexer import MAX_SHOWN, Cursor, PtxSyntaxError
from warploom.engine.ptx.operands import ArrayElement, Sum, instruction_operands, with_elements
from warploom.engine.ptx.scopes import NameScope, declared_registers

#: The limit for the targets of a jump table; real tables are smaller.
MAX_TARGETS = 1 << 16
MAX_LINE = (1 << 31) - 1
#: The most digits of a number in `.loc`.
MAX_DIGITS = 10


class BodyParser:
    """Parses one body into flat lists; read the attributes when `parse` has returned."""

    def __init__(
        self, cursor: Cursor, files: dict[int, str], name: str, reachable: ChainMap[str, ptx.Variable], scope: NameScope
    ) -> None:
        """`name` is the function's; `reachable` are the module's variables and the function's parameters.

        `scope` holds the registers of the module.
        """
        self._cursor = cursor
        self._files = files
        self._name = name
        self._own: dict[str, ptx.Variable] = {}
        self._reachable = reachable.new_child(self._own)
        self._location: ptx.SourceLocation | None = None
        self._scope = scope
        self._scopes = 0
        #: The resolved names at this point; cleared where they may change.
        self._resolved: dict[str, ptx.Register | ptx.Symbol | ptx.Vector] = {}
        self.body: list[ptx.Statement] = []
        self.registers: dict[str, str] = {}
        self.variables: list[ptx.Variable] = []
        #: Global and constant variables that only this function can name.
        self.statics: list[ptx.Variable] = []
        self.prototypes: dict[str, ptx.Prototype] = {}
        self.targets: dict[str, tuple[str, ...]] = {}

    def parse(self, formal: Mapping[str, str] | None = None) -> None:
        """Parse from the opening brace to the closing one; `formal` has the types of parameters that are registers."""
        cursor = self._cursor
        cursor.expect("{")
        suffix = f"~{self._scopes}" if self._scopes else ""  # names in PTX have no tilde
        self._scopes += 1
        before = self._scope
        self._scope = NameScope(before, suffix)
        if formal:
            for name in formal:
                base = name.rpartition(".")[0]
                if base:
                    self._scope.vectors[base] = self._scope.vectors.get(base, 0) + 1
                else:
                    self._scope.registers.add(name)
            self.registers.update(formal)
        self._collect_labels()
        self._resolved.clear()
        while not cursor.accept("}"):
            self._statement()
        self._scope = before
        self._resolved.clear()

    def _collect_labels(self) -> None:
        """Declare this scope's labels first: a branch may name one that comes later."""
        scope, depth = self._scope, 0
        for token, following in self._cursor.ahead():
            if token.text == "{":
                depth += 1
            elif token.text == "}":
                depth -= 1
                if depth < 0:
                    return
            elif depth == 0 and token.kind == "word" and following.text == ":":
                scope.names[token.text] = token.text + scope.suffix

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
            with cursor.nested():
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
            self.body.append(ptx.Label(name, line))

    def _targets(self) -> list[str]:
        """Return the names in one entry of a list: a name, or a family such as `N<4>` for N0 to N3."""
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

    def _prototype(self, name: str) -> ptx.Prototype:
        cursor = self._cursor
        results = parameter_list(cursor) if cursor.at("(") else ()
        cursor.expect("_")
        parameters = parameter_list(cursor) if cursor.at("(") else ()
        while not cursor.accept(";"):
            cursor.take()  # for example .noreturn or .abi_preserve
        return ptx.Prototype(name, results, parameters)

    def _directive(self) -> None:
        cursor, scope = self._cursor, self._scope
        self._resolved.clear()
        linkage, name = "", cursor.directive("a directive")
        if name in LINKAGES:
            linkage, name = name, cursor.directive("a state space")
        if name == "reg":
            self.registers.update(declared_registers(cursor, scope))
        elif name in ("local", "shared", "param", "const", "global"):
            is_static = name in ("const", "global")
            for found in variables(cursor, name, linkage):
                unique = found.name + scope.suffix + (f"~{self._name}" if is_static else "")
                scope.names[found.name] = unique
                (self.statics if is_static else self.variables).append(replace(found, name=unique))
                self._own[unique] = found
        elif name in ("pragma", "alias"):
            while not cursor.accept(";"):
                cursor.take()
        elif name in ("callprototype", "branchtargets", "calltargets"):
            raise PtxSyntaxError(f"PTX line {cursor.line}: .{name} must have a label in front of it", line=cursor.line)
        else:
            raise PtxSyntaxError(f"PTX line {cursor.line}: .{name} must not stand in a function body", line=cursor.line)

    def _instruction(self) -> None:
        cursor = self._cursor
        line, guard = cursor.line, None
        if cursor.accept("@"):
            negated = cursor.accept("!")
            register = self._resolve(cursor.word("a predicate"))
            if not isinstance(register, ptx.Register):
                raise cursor.error("a predicate register after '@'")
            guard = ptx.Guard(register, negated)
        opcode, *modifiers = cursor.word("an opcode").split(".")
        if modifiers and modifiers[-1] == "const" and cursor.at("["):
            skip_bank(cursor)
            while cursor.token.kind == "directive":
                modifiers += cursor.directive("a modifier").split(".")
        operands = instruction_operands(cursor, self._resolve, groups=opcode == "call")
        plain = [item for item in operands if not isinstance(item, (ArrayElement, Sum))]
        instruction = ptx.Instruction(opcode, tuple(modifiers), tuple(plain), guard, line, self._location)
        if len(plain) == len(operands):
            self.body.append(instruction)
        else:
            self.body += with_elements(instruction, operands, self._reachable, self.registers)

    def _resolve(self, name: str) -> ptx.Register | ptx.Symbol | ptx.Vector:
        found = self._resolved.get(name)
        if found is None:
            found = self._resolved[name] = self._looked_up(name)
        return found

    def _looked_up(self, name: str) -> ptx.Register | ptx.Symbol | ptx.Vector:
        scope: NameScope | None = self._scope
        while scope is not None:
            found = scope.find(name)
            if found is not None:
                return found
            scope = scope.parent
        if "." in name and not name.startswith("%"):
            return ptx.Register(f"%{name}")  # `tid.x`, as the first PTX versions wrote special registers
        # A name that no scope declares is a special register or a name of the module.
        return ptx.Register(name) if name.startswith("%") else ptx.Symbol(name)

    def _resolve_symbol(self, name: str) -> str:
        found = self._resolve(name)
        if isinstance(found, ptx.Vector):
            raise self._cursor.error("a label")
        return found.name


def parameter_list(cursor: Cursor) -> tuple[ptx.Variable, ...]:
    """Return the parameters in parentheses; `_` stands for an unnamed one."""
    cursor.expect("(")
    found: list[ptx.Variable] = []
    while not cursor.accept(")"):
        if found:
            cursor.expect(",")
        space = cursor.directive("a parameter")
        found.append(variable(cursor, space))
    return tuple(found)


def _location(text: str, files: dict[int, str], line: int) -> ptx.SourceLocation:
    numbers = re.findall(r"\d+", text.split(",")[0].split("//")[0])
    if len(numbers) < 3 or max(map(len, numbers[:3])) > MAX_DIGITS:
        raise PtxSyntaxError(
            f"PTX line {line}: .loc must give file, line and column, got {text[:MAX_SHOWN]!r}", line=line
        )
    file, source_line, column = (int(item) for item in numbers[:3])
    if source_line > MAX_LINE:
        raise PtxSyntaxError(f"PTX line {line}: .loc must give a line up to {MAX_LINE}, got {source_line}", line=line)
    return ptx.SourceLocation(files.get(file, ""), source_line, column)


def _file(text: str, files: dict[int, str], line: int) -> None:
    match = re.match(r'\.file\s+(\d{1,10})\s+"([^"]*)"(?:\s+"([^"]*)")?', text)
    if match is None:
        raise PtxSyntaxError(
            f"PTX line {line}: .file must give an index and a name, got {text[:MAX_SHOWN]!r}", line=line
        )
    files[int(match[1])] = f"{match[2]}/{match[3]}" if match[3] else match[2]
