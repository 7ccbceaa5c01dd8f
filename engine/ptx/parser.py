"""Parsing of whole PTX files."""

import re
from collections import ChainMap
from collections.abc import Mapping
from functools import lru_cache

from msgspec.structs import replace

from warploom.engine.ptx import tree as ptx
from warploom.engine.ptx.body import BodyParser, parameter_list
from warploom.engine.ptx.constants import constant_integer
from warploom.engine.ptx.declarations import LINKAGES, SPACES, skip, variables
from warploom.engine.ptx.lexer import Cursor, PtxSyntaxError, tokenize
from warploom.engine.ptx.scopes import NameScope, declared_registers
from warploom.engine.ptx.signature import signatures, symbols

_LIST_DIRECTIVES = ("maxntid", "reqntid", "minnctapersm", "maxnctapersm", "maxnreg", "reqnctapercluster")
_LATEST_MAJOR = 9  # the latest major version of PTX
#: The words that start another item of a module.
_DECLARATIONS = (*LINKAGES, *SPACES, "entry", "func", "alias", "reg", "version", "target", "address_size")
_FLAG_DIRECTIVES = ("noreturn", "explicitcluster", "blocksareclusters")
_VALUE_DIRECTIVES = ("maxclusterrank", "abi_preserve", "abi_preserve_control")


def parse(text: str) -> ptx.PtxModule:
    """Return the tree of a PTX file. Raise PtxSyntaxError with the line of the first mistake."""
    return _ModuleParser(text).parse()


class _ModuleParser:
    def __init__(self, text: str) -> None:
        self._cursor = Cursor(tokenize(text.rstrip("\0")))
        self._files: dict[int, str] = {}
        for index, name in re.findall(r'^[ \t]*\.file[ \t]+(\d{1,10})[ \t]+"([^"]*)"', text, re.MULTILINE):
            self._files[int(index)] = name  # file tables often follow the code that refers to them
        self._version, self._target = (0, 0), ""
        self._functions: dict[str, ptx.Function] = {}
        self._variables: dict[str, ptx.Variable] = {}
        #: The functions that aliases stand for, with the lines of the aliases.
        self._aliases: dict[str, tuple[str, int]] = {}
        #: Registers of the module, which PTX allowed before version 3; every function has its own copy.
        self._scope = NameScope(None, "")
        self._registers: dict[str, str] = {}

    def parse(self) -> ptx.PtxModule:
        cursor = self._cursor
        while cursor.token.kind != "end":
            if cursor.token.kind in ("file", "location"):
                cursor.take()
            elif not cursor.accept(";"):
                self._directive()
        if self._version == (0, 0):
            raise PtxSyntaxError("PTX line 1: text must begin with .version, got none", line=1)
        for name, (target, line) in self._aliases.items():
            found = self._functions.get(target)
            if found is None or found.is_entry or found.body is None:
                text = f".alias {name} must name a .func that this module defines, got {target}"
                raise PtxSyntaxError(f"PTX line {line}: {text}", line=line)
            self._functions[name] = replace(found, name=name)
        self._place_locals()
        return ptx.PtxModule(
            self._version, self._target, self._functions, self._variables, signatures(self._functions, self._variables)
        )

    def _place_locals(self) -> None:
        """Move each local variable of the module, which PTX allowed before version 3, to the functions that name it.

        Each thread has its own variable. If device functions use it, its linkage becomes "module". Several kernels each
        get a variable of their own.
        """
        shared = {name: found for name, found in self._variables.items() if found.space == "local"}
        users = {
            name: [variable for variable in shared if variable in symbols(function)]
            for name, function in (self._functions.items() if shared else ())
        }
        for name, own in users.items():
            variables = list(self._functions[name].variables)
            for variable in own:
                others = [self._functions[other] for other in users if variable in users[other]]
                is_shared = not all(item.is_entry for item in others)
                variables.append(replace(shared[variable], linkage="module") if is_shared else shared[variable])
            self._functions[name] = replace(self._functions[name], variables=tuple(variables))
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
            if int(major) > _LATEST_MAJOR:
                text = f"version must be one that is known, up to {_LATEST_MAJOR}.x, got {major}.{minor}"
                raise PtxSyntaxError(f"PTX line {line}: {text}", line=line)
            self._version = (int(major), int(minor or 0))
        elif name == "target":
            self._target = cursor.word("a target")
            while cursor.accept(","):
                cursor.word("a target option")
        elif name == "address_size":
            if (bits := constant_integer(cursor)) != 64:
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
        # Old versions of nvcc wrote declarations of functions without a semicolon.
        if cursor.accept(";") or not (is_entry or cursor.at("{")):
            declared = ptx.Function(name, is_entry, line, _renamed(parameters), _renamed(results), linkage=linkage)
            self._functions.setdefault(name, declared)
            return
        own = {variable.name: variable for variable in (*results, *parameters)}
        body = BodyParser(cursor, self._files, name, ChainMap(own, self._variables), self._scope)
        body.registers.update(self._registers)
        taken, given = _formal_registers(parameters), _formal_registers(results)
        body.parse(taken | given)
        self._variables |= {found.name: found for found in body.statics}
        self._functions[name] = ptx.Function(
            name,
            is_entry,
            line,
            _renamed(parameters),
            _renamed(results),
            _moved(tuple(body.body), taken, given, line),
            body.registers,
            tuple(body.variables),
            body.prototypes,
            body.targets,
            directives,
            linkage,
        )

    def _alias(self) -> None:
        cursor, line = self._cursor, self._cursor.line
        name = cursor.word("a function name")
        cursor.expect(",")
        target = cursor.word("a function name")
        cursor.expect(";")
        self._aliases[name] = target, line

    def _performance_directives(self) -> dict[str, tuple[int, ...]]:
        cursor = self._cursor
        found: dict[str, tuple[int, ...]] = {}
        while cursor.token.kind in ("directive", "file", "location") and cursor.token.text[1:] not in _DECLARATIONS:
            if cursor.token.kind != "directive":
                cursor.take()
                continue
            line, name = cursor.line, cursor.directive("a directive")
            if name in _LIST_DIRECTIVES:
                values = [constant_integer(cursor)]
                while cursor.accept(","):
                    values.append(constant_integer(cursor))
                if len(values) > 3 or not all(0 < value < 1 << 31 for value in values):
                    given = ", ".join(map(str, values))
                    raise PtxSyntaxError(
                        f"PTX line {line}: .{name} must have 1 to 3 positive numbers, got {given}", line=line
                    )
                found[name] = tuple(values)
            elif name in _VALUE_DIRECTIVES:
                found[name] = (constant_integer(cursor),)
            elif name in _FLAG_DIRECTIVES:
                found[name] = ()
            elif name == "pragma":
                cursor.take()
                cursor.accept(";")
            else:
                raise cursor.error(f"a known directive instead of .{name}")
        return found


#: Lines that don't matter for signatures: a branch, a label, a source location, or an instruction whose operands are
#: only registers, numbers and parameters. Instructions that name another symbol stay: it may be shared memory, or a
#: function that uses shared memory.
_SKIPPED = re.compile(
    r"^[ \t]*(?:(?:@!?%[\w$]+[ \t]+)?(?:[a-z][\w.:]*[ \t]+(?:%[\w$.]+|\d\w*|[ \t,\[\]+\-|!{}()])+;"
    r"|(?:ld|st)\.param\.[^;\n]*;|bra[\w.]*[ \t]+[\w$]+;)|\$[\w$]+:|\.loc[ \t][^\n]*)[ \t]*$",
    re.MULTILINE,
)
#: The body of a function as compilers write it; it matters only if there is shared memory. A line of inline assembly
#: may also begin with a bracket, so the text that follows identifies the last one.
_BODY = re.compile(
    r"^\{\n(?:[\t $/][^\n]*\n|\n|\}\n(?!NEXT))*\}(?=\nNEXT)".replace(
        "NEXT", r"\s*(?:\Z|// \.globl|// -- End|\.(?:file|section|visible|weak|extern|func|entry|alias)\b)"
    ),
    re.MULTILINE,
)


@lru_cache(maxsize=16)
def read_signatures(text: str) -> Mapping[str, ptx.KernelSignature]:
    """Return `parse(text).signatures` for PTX from a compiler, in a fraction of the time.

    PtxSyntaxError is raised as by `parse`, except for mistakes in skipped instructions. Those are reported when the
    text is loaded.
    """
    if ".shared" not in text:
        text = _BODY.sub(lambda body: "{" + "\n" * body[0].count("\n") + "}", text)
    return parse(_SKIPPED.sub("", text)).signatures


# In old PTX, functions pass arguments and results in registers. They are rewritten to use `.param` variables.


def _formal_registers(variables: tuple[ptx.Variable, ...]) -> dict[str, str]:
    """Return the registers among parameters or results, with their types; a vector counts as its components."""
    found: dict[str, str] = {}
    for variable in variables:
        if variable.space == "reg":
            names = [variable.name] if variable.count == 1 else [f"{variable.name}.{part}" for part in "xyzw"]
            found |= dict.fromkeys(names[: variable.count], variable.ptx_type)
    return found


def _renamed(variables: tuple[ptx.Variable, ...]) -> tuple[ptx.Variable, ...]:
    """Return parameters or results in which registers have become `.param` variables with other names."""
    return tuple(
        replace(item, name=_stored(item.name), space="param") if item.space == "reg" else item for item in variables
    )


def _moved(
    body: tuple[ptx.Statement, ...], parameters: dict[str, str], results: dict[str, str], line: int
) -> tuple[ptx.Statement, ...]:
    """Return a body that loads its register parameters first, and stores its register results before returning."""
    if not parameters and not results:
        return body
    done: list[ptx.Statement] = [
        _move("ld", kind, ptx.Register(name), _place(name, kind), line) for name, kind in parameters.items()
    ]
    stores = [_move("st", kind, _place(name, kind), ptx.Register(name), line) for name, kind in results.items()]
    for item in body:
        if isinstance(item, ptx.Instruction) and item.opcode == "ret":
            done += stores  # harmless if a guard lets the thread continue
        done.append(item)
    return (*done, *stores)


def _stored(name: str) -> str:
    return f"{name}$param"


def _place(name: str, kind: str) -> ptx.Address:
    """Return the address of a register, or of a vector's component, in the `.param` variable that replaces it."""
    base, _, part = name.rpartition(".")
    if not base:
        return ptx.Address(ptx.Symbol(_stored(name)))
    return ptx.Address(ptx.Symbol(_stored(base)), "xyzw".index(part) * ptx.type_size(kind))


def _move(opcode: str, kind: str, first: ptx.Operand, second: ptx.Operand, line: int) -> ptx.Instruction:
    return ptx.Instruction(opcode, ("param", kind), (first, second), None, line)
