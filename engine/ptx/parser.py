"""Parsing of whole PTX files."""

from __future__ import annotations

import re
from collections import ChainMap
from dataclasses import replace

from engine.ptx.body import BodyParser, parameter_list
from engine.ptx.constants import integer
from engine.ptx.cursor import Cursor
from engine.ptx.declarations import LINKAGES, SPACES, skip, variables
from engine.ptx.lexer import PtxSyntaxError, tokenize
from engine.ptx.register_parameters import formal_registers, moved, renamed
from engine.ptx.scopes import Scope, declared_registers
from engine.ptx.signatures import signatures, symbols
from engine.ptx.tree import Function, PtxModule, Variable

_LIST_DIRECTIVES = ("maxntid", "reqntid", "minnctapersm", "maxnctapersm", "maxnreg", "reqnctapercluster")
_FLAG_DIRECTIVES = ("noreturn", "explicitcluster", "blocksareclusters")
_VALUE_DIRECTIVES = ("maxclusterrank", "abi_preserve", "abi_preserve_control")


def parse(text: str) -> PtxModule:
    """Return the tree of a PTX file; PtxSyntaxError with the line of the first mistake."""
    return _ModuleParser(text).parse()


class _ModuleParser:
    def __init__(self, text: str) -> None:
        self._cursor = Cursor(tokenize(text.rstrip("\0")))
        self._files: dict[int, str] = {}
        for index, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.MULTILINE):
            self._files[int(index)] = name  # file tables often follow the code that refers to them
        self._version, self._target = (0, 0), ""
        self._functions: dict[str, Function] = {}
        self._variables: dict[str, Variable] = {}
        self._aliases: dict[str, str] = {}
        #: Registers of the module, as PTX had them before version 3: every function has its own.
        self._scope = Scope(None, "")
        self._registers: dict[str, str] = {}

    def parse(self) -> PtxModule:
        cursor = self._cursor
        while cursor.token.kind != "end":
            if cursor.token.kind in ("file", "location"):
                cursor.take()
            elif not cursor.accept(";"):
                self._directive()
        if self._version == (0, 0):
            raise PtxSyntaxError("PTX line 1: text must begin with .version, got none", line=1)
        for name, target in self._aliases.items():
            if target in self._functions:
                self._functions[name] = replace(self._functions[target], name=name)
        self._place_locals()
        return PtxModule(
            self._version, self._target, self._functions, self._variables, signatures(self._functions, self._variables)
        )

    def _place_locals(self) -> None:
        """Give each local variable of the module, as PTX had them before version 3, to the function that names it."""
        shared = {name: found for name, found in self._variables.items() if found.space == "local"}
        users: dict[str, str] = {}
        for name, function in self._functions.items() if shared else ():
            own = [shared[symbol] for symbol in symbols(function) if symbol in shared]
            for variable in own:
                if users.setdefault(variable.name, name) != name:
                    raise PtxSyntaxError(
                        f"PTX line {variable.line}: local variable {variable.name} must be used in one function only, "
                        f"got {users[variable.name]} and {name}; declare it in one and pass its address",
                        line=variable.line,
                    )
            self._functions[name] = replace(function, variables=(*function.variables, *own))
        for name in shared:
            del self._variables[name]

    def _directive(self) -> None:
        cursor, linkage = self._cursor, ""
        line = cursor.line
        name = cursor.directive("a directive")
        while name in LINKAGES:
            linkage, name = name, cursor.directive("a declaration")
        if name == "version":
            major, _, minor = cursor.take().text.partition(".")
            if not (major.isdecimal() and (minor or "0").isdecimal()):
                raise PtxSyntaxError(f"PTX line {line}: version must be two numbers, got {major}.{minor}", line=line)
            self._version = (int(major), int(minor or 0))
        elif name == "target":
            self._target = cursor.word("a target")
            while cursor.accept(","):
                cursor.word("a target option")
        elif name == "address_size":
            if (bits := integer(cursor)) != 64:
                raise PtxSyntaxError(
                    f"PTX line {line}: .address_size must be 64, got {bits}; compile for 64-bit addresses (nvcc -m64)",
                    line=line,
                )
        elif name in ("entry", "func"):
            self._function(name == "entry", linkage, line)
        elif name in SPACES:
            for found in variables(cursor, name, linkage):
                previous = self._variables.get(found.name)
                if previous is None or previous.linkage == "extern":
                    self._variables[found.name] = found
        elif name == "reg":
            self._registers |= declared_registers(cursor, self._scope)
        elif name == "alias":
            self._alias()
        elif name == "pragma":
            while not cursor.accept(";"):
                cursor.take()
        else:
            raise PtxSyntaxError(f"PTX line {line}: module must not hold .{name}", line=line)

    def _function(self, is_entry: bool, linkage: str, line: int) -> None:
        cursor = self._cursor
        while cursor.token.kind == "directive":
            if cursor.accept(".attribute"):
                skip(cursor, "(", ")")
            elif not cursor.accept(".noreturn"):
                raise cursor.error("a function name")
        results = parameter_list(cursor) if cursor.at("(") else ()
        name = cursor.word("a function name")
        parameters = parameter_list(cursor) if cursor.at("(") else ()
        directives = self._performance_directives()
        if cursor.accept(";"):
            if name not in self._functions:
                self._functions[name] = Function(
                    name, is_entry, line, renamed(parameters), renamed(results), linkage=linkage
                )
            return
        own = {variable.name: variable for variable in (*results, *parameters)}
        body = BodyParser(cursor, self._files, name, ChainMap(own, self._variables))
        body.registers.update(self._registers)
        taken, given = formal_registers(parameters), formal_registers(results)
        body.parse(taken | given, self._scope)
        self._variables |= {found.name: found for found in body.statics}
        self._functions[name] = Function(
            name,
            is_entry,
            line,
            renamed(parameters),
            renamed(results),
            moved(tuple(body.body), taken, given, line),
            body.registers,
            tuple(body.variables),
            body.prototypes,
            body.targets,
            directives,
            linkage,
        )

    def _alias(self) -> None:
        cursor = self._cursor
        name = cursor.word("a function name")
        cursor.expect(",")
        target = cursor.word("a function name")
        cursor.expect(";")
        self._aliases[name] = target

    def _performance_directives(self) -> dict[str, tuple[int, ...]]:
        cursor = self._cursor
        found: dict[str, tuple[int, ...]] = {}
        while cursor.token.kind == "directive":
            name = cursor.directive("a directive")
            if name in _LIST_DIRECTIVES:
                values = [integer(cursor)]
                while cursor.accept(","):
                    values.append(integer(cursor))
                found[name] = tuple(values)
            elif name in _VALUE_DIRECTIVES:
                found[name] = (integer(cursor),)
            elif name in _FLAG_DIRECTIVES:
                found[name] = ()
            elif name == "pragma":
                cursor.take()
                cursor.accept(";")
            else:
                raise cursor.error(f"a known directive instead of .{name}")
        return found
