"""Inlining of the device functions that wait for other threads: only a kernel's own body can be suspended.

Those that share a local variable with their callers are inlined too, so that each thread has one.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from warploom.engine.diagnostics import KernelError
from warploom.engine.host_compiler.analysis.call_graph import callee_of, candidates, target_of
from warploom.engine.host_compiler.analysis.suspension_points import is_suspension_point
from warploom.engine.host_compiler.errors import error_at
from warploom.engine.ptx import tree as ptx


def inline_suspending(
    kernel: ptx.Function, functions: Mapping[str, ptx.Function]
) -> tuple[ptx.Function, dict[str, ptx.Function]]:
    """Return the kernel with functions that may wait inlined, and all functions; the inlined ones have empty bodies.

    Guards of waiting instructions and of inlined calls become branches around them. A call through a pointer first
    compares the pointer with each function that may wait.
    """
    waiting = _waiting({name: item for name, item in functions.items() if not item.is_entry})
    inlined = _Inliner(kernel, functions, waiting).run()
    empty = {name: replace(functions[name], body=()) for name in waiting}
    return inlined, {**functions, **empty, kernel.name: inlined}


def _waiting(functions: Mapping[str, ptx.Function]) -> set[str]:
    """Return the names of the functions that wait or share a variable, directly or in a function that they call."""
    found = {
        name
        for name, item in functions.items()
        if any(_waits(entry) for entry in item.instructions) or any(map(_is_shared, item.variables))
    }
    changed = bool(found)
    while changed:
        changed = False
        for name, item in functions.items():
            if name not in found and any(_reaches(entry, item, functions, found) for entry in item.instructions):
                found.add(name)
                changed = True
    return found


def _reaches(
    call: ptx.Instruction, caller: ptx.Function, functions: Mapping[str, ptx.Function], found: set[str]
) -> bool:
    if target_of(call) is None:
        return callee_of(call) in found
    return not found.isdisjoint(candidates(call, caller.prototypes, caller.targets, functions))


def _is_shared(variable: ptx.Variable) -> bool:
    return variable.linkage == "module"


def _waits(instruction: ptx.Instruction) -> bool:
    return is_suspension_point(instruction) or instruction.opcode in ("bar", "barrier")  # also those that only arrive


class _Inliner:
    def __init__(self, kernel: ptx.Function, functions: Mapping[str, ptx.Function], waiting: set[str]) -> None:
        self._kernel = kernel
        self._functions = functions
        self._waiting = waiting
        self._registers = dict(kernel.registers)
        self._variables = list(kernel.variables)
        self._prototypes = dict(kernel.prototypes)
        self._targets = dict(kernel.targets)
        self._count = 0
        self._shared_params: set[str] = set()

    def run(self) -> ptx.Function:
        body = self._expand(list(self._kernel.body or ()), (self._kernel.name,))
        variables = [
            replace(item, space="local") if item.name in self._shared_params else item for item in self._variables
        ]
        return replace(
            self._kernel,
            body=tuple(body),
            registers=self._registers,
            variables=tuple(variables),
            prototypes=self._prototypes,
            targets=self._targets,
        )

    def _expand(self, body: list[ptx.Statement], chain: tuple[str, ...]) -> list[ptx.Statement]:
        done: list[ptx.Statement] = []
        for item in body:
            if isinstance(item, ptx.Label):
                done.append(item)
                continue
            names = self._inlined(item)
            if item.guard is None or not (names or is_suspension_point(item)):
                done.extend(self._calls(item, names, chain) if names else [item])
                continue
            after = self._fresh("skip")
            opposite = ptx.Guard(item.guard.register, not item.guard.negated)
            done.append(ptx.Instruction("bra", (), (ptx.Symbol(after),), opposite, item.line, item.source))
            plain = replace(item, guard=None)
            done.extend(self._calls(plain, names, chain) if names else [plain])
            done.append(ptx.Label(after, item.line))
        return done

    def _inlined(self, call: ptx.Instruction) -> list[str]:
        """Return the functions that may wait and that a call may reach."""
        if target_of(call) is None:
            name = callee_of(call)
            return [name] if name in self._waiting and name is not None else []
        reached = candidates(call, self._prototypes, self._targets, self._functions)
        return [name for name in reached if name in self._waiting]

    def _calls(self, call: ptx.Instruction, names: list[str], chain: tuple[str, ...]) -> list[ptx.Statement]:
        """Return the instructions that replace a call; one through a pointer tries each inlined function, then makes
        the call.
        """
        pointer = target_of(call)
        if pointer is None:
            return self._call(call, names[0], chain)
        if set(candidates(call, self._prototypes, self._targets, self._functions)) <= set(chain):
            raise _recursive(call, names[0])
        done: list[ptx.Statement] = []
        address, differs = (ptx.Register(self._fresh(hint)) for hint in ("function", "other"))
        self._registers |= {address.name: "b64", differs.name: "pred"}
        end = self._fresh("called")

        def write(
            opcode: str, modifiers: tuple[str, ...], *operands: ptx.Operand, guard: ptx.Guard | None = None
        ) -> None:
            done.append(ptx.Instruction(opcode, modifiers, operands, guard, call.line, call.source))

        for name in (name for name in names if name not in chain):
            following = self._fresh("next")
            direct = tuple(ptx.Symbol(name) if item is pointer else item for item in call.operands[:-1])
            write("mov", ("b64",), address, ptx.Symbol(name))
            write("setp", ("ne", "u64"), differs, pointer, address)
            write("bra", (), ptx.Symbol(following), guard=ptx.Guard(differs, False))
            done += self._call(replace(call, operands=direct), name, chain)
            write("bra", (), ptx.Symbol(end))
            done.append(ptx.Label(following, call.line))
        return [*done, call, ptx.Label(end, call.line)]

    def _fresh(self, hint: str) -> str:
        self._count += 1
        return f"~{hint}~{self._count}"  # no name of PTX has a tilde

    def _call(self, call: ptx.Instruction, name: str, chain: tuple[str, ...]) -> list[ptx.Statement]:
        callee = self._functions[name]
        if name in chain:
            raise _recursive(call, name)
        groups = [operand for operand in call.operands if isinstance(operand, ptx.OperandList)]
        given = [operand for group in groups for operand in group.elements]
        formal = [*callee.results, *callee.parameters]
        if len(given) != len(formal):
            raise error_at(call.line, f"call of {name} must pass {len(formal)} values, got {len(given)}")
        suffix = self._fresh(name)
        before, after = self._pass_registers(call, given, formal, len(callee.results), suffix)
        names = {variable.name: str(operand.name) for variable, operand in zip(formal, given, strict=True)}  # type: ignore[union-attr]  # all are symbols
        self._shared_params.update(names.values())
        for variable in callee.variables:
            if _is_shared(variable):
                if variable not in self._variables:
                    self._variables.append(variable)
            elif variable.space in ("local", "param"):
                names[variable.name] = variable.name + suffix
                self._variables.append(replace(variable, name=variable.name + suffix))
            elif variable.space == "shared" and variable not in self._variables:
                self._variables.append(variable)
        for register, kind in callee.registers.items():
            self._registers[register + suffix] = kind
        labels = {item.name for item in callee.body or () if isinstance(item, ptx.Label)}
        names.update((label, label + suffix) for label in labels)
        names.update((table, table + suffix) for table in (*callee.targets, *callee.prototypes))
        for table, entries in callee.targets.items():
            self._targets[table + suffix] = tuple(names.get(entry, entry) for entry in entries)
        for prototype, shape in callee.prototypes.items():
            self._prototypes[prototype + suffix] = shape
        end = self._fresh("return")
        renamed = [_renamed(item, names, callee.registers, suffix, end) for item in callee.body or ()]
        return [*before, *self._expand(renamed, (*chain, name)), ptx.Label(end, call.line), *after]

    def _pass_registers(
        self, call: ptx.Instruction, given: list[ptx.Operand], formal: list[ptx.Variable], results: int, suffix: str
    ) -> tuple[list[ptx.Statement], list[ptx.Statement]]:
        """Replace registers and numbers in `given` by new variables; return the stores before and the loads after."""
        before: list[ptx.Statement] = []
        after: list[ptx.Statement] = []
        for index, (operand, variable) in enumerate(zip(given, formal, strict=True)):
            if isinstance(operand, ptx.Symbol):
                continue
            name = f"passed{index}{suffix}"
            self._variables.append(replace(variable, name=name, space="param"))
            given[index] = ptx.Symbol(name)
            place = ptx.Address(ptx.Symbol(name))
            kind = ("param", variable.ptx_type)
            if index < results:
                after.append(ptx.Instruction("ld", kind, (operand, place), None, call.line, call.source))
            else:
                before.append(ptx.Instruction("st", kind, (place, operand), None, call.line, call.source))
        return before, after


def _recursive(call: ptx.Instruction, name: str) -> KernelError:
    return error_at(
        call.line,
        f"function {name} must not call itself, because it waits for other threads or shares local memory; use a loop",
    )


def _renamed(
    item: ptx.Statement, names: dict[str, str], registers: dict[str, str], suffix: str, end: str
) -> ptx.Statement:
    if isinstance(item, ptx.Label):
        return ptx.Label(names[item.name], item.line)

    def operand(value: ptx.Operand) -> ptx.Operand:
        if isinstance(value, ptx.Register):
            return ptx.Register(value.name + suffix) if value.name in registers else value
        if isinstance(value, ptx.Symbol):
            return ptx.Symbol(names.get(value.name, value.name), value.offset)
        if isinstance(value, ptx.RegisterPart):
            return replace(value, register=ptx.Register(value.register.name + suffix))
        if isinstance(value, ptx.Negated):
            return ptx.Negated(ptx.Register(value.register.name + suffix))
        if isinstance(value, ptx.Address):
            return ptx.Address(operand(value.base), value.offset, tuple(map(operand, value.coordinates)))  # type: ignore[arg-type]  # a base stays a base
        if isinstance(value, ptx.Vector):
            return ptx.Vector(tuple(map(operand, value.elements)))
        if isinstance(value, ptx.OperandList):
            return ptx.OperandList(tuple(map(operand, value.elements)))
        if isinstance(value, ptx.Pair):
            return ptx.Pair(operand(value.first), operand(value.second))
        return value

    guard = item.guard and ptx.Guard(ptx.Register(item.guard.register.name + suffix), item.guard.negated)
    if item.opcode == "ret":
        return ptx.Instruction("bra", (), (ptx.Symbol(end),), guard, item.line, item.source)
    return replace(item, operands=tuple(map(operand, item.operands)), guard=guard)
