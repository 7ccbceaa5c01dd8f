"""Lowering: instructions that are rewritten as simpler ones, by a table of opcode -> rewrite."""

from collections.abc import Callable, Mapping, Set

from msgspec.structs import replace

from warploom.engine.diagnostics import KernelError
from warploom.engine.host_compiler.analysis.control_flow import defined, used
from warploom.engine.host_compiler.errors import collecting, error_at, reading
from warploom.engine.host_compiler.passes.addressed_parameters import with_own_parameters
from warploom.engine.host_compiler.passes.spin_loops import racy_functions, with_yields
from warploom.engine.host_compiler.passes.warp_synchronous import generic_functions, in_lockstep
from warploom.engine.host_compiler.special_registers import SPECIAL, SPECIAL_WIDE
from warploom.engine.ptx import tree as ptx


class Rewriter:
    """Collects the replacements of one function's instructions, with fresh registers and labels.

    The function also gets the `variables`, and starts with the `prologue`.
    """

    def __init__(self, registers: dict[str, str]) -> None:
        self.registers = registers
        self.variables: list[ptx.Variable] = []
        self.prologue: list[ptx.Statement] = []
        self.done: list[ptx.Statement] = []
        self._count = 0
        self.at: ptx.Instruction

    def register(self, ptx_type: str) -> ptx.Register:
        """Return a new register."""
        self._count += 1
        name = f"%wl${self._count}"
        self.registers[name] = ptx_type
        return ptx.Register(name)

    def emit(self, text: str, *operands: ptx.Operand | int, guard: ptx.Guard | None = None) -> None:
        """Write an instruction given as `opcode.modifiers`; numbers become immediates."""
        opcode, *modifiers = text.split(".")
        items = tuple(ptx.Integer(item) if isinstance(item, int) else item for item in operands)
        self.done.append(ptx.Instruction(opcode, tuple(modifiers), items, guard, self.at.line, self.at.source))

    def value(self, text: str, *operands: ptx.Operand | int) -> ptx.Register:
        """Write an instruction whose result is a new register of its type, and return that register."""
        opcode, *modifiers = text.split(".")
        kind = {"setp": "pred", "cvt": modifiers[0]}.get(opcode, modifiers[-1])
        target = self.register(kind)
        self.emit(text, target, *operands)
        return target

    def label(self, hint: str) -> str:
        """Return a new label, to be put down by `place`."""
        self._count += 1
        return f"$wl${hint}${self._count}"

    def place(self, label: str) -> None:
        """Put a label here."""
        self.done.append(ptx.Label(label, self.at.line))

    def jump(self, label: str, guard: ptx.Guard | None = None) -> None:
        """Write a branch."""
        self.emit("bra", ptx.Symbol(label), guard=guard)


#: Writes the replacement of an instruction, whose guard has been taken off.
Lower = Callable[[Rewriter, ptx.Instruction], None]

LOWERED: dict[str, Lower] = {}


def lowers(*opcodes: str) -> Callable[[Lower], Lower]:
    """Register a function in the table under each opcode."""

    def enter(lower: Lower) -> Lower:
        for name in opcodes:
            LOWERED[name] = lower
        return lower

    return enter


def moved(address: ptx.Operand, offset: int) -> ptx.Address:
    """Return the address `offset` bytes further on."""
    if not isinstance(address, ptx.Address):
        raise TypeError("address expected")
    return ptx.Address(address.base, address.offset + offset, address.coordinates)


#: How many operands an instruction must have, because the analyses read them without checking.
_LEAST_OPERANDS = {"mov": 2, "ld": 2, "ldu": 2, "st": 2, "atom": 3, "selp": 4}


def lowered(functions: Mapping[str, ptx.Function]) -> tuple[dict[str, ptx.Function], dict[str, KernelError]]:
    """Return the functions with all instructions of the table rewritten, and with yields in their spin loops.

    Functions that can't be rewritten are returned without bodies, and their errors separately.
    """
    found, refused = dict(functions), dict[str, KernelError]()

    def change(name: str, changed: Callable[[ptx.Function], ptx.Function]) -> None:
        with collecting(refused, name):
            found[name] = changed(found[name])
        if name in refused:
            found[name] = replace(found[name], body=None)

    for name in functions:
        change(name, _complete)
    racy, generic = racy_functions(found), generic_functions(found)
    for name in functions:
        change(name, lambda function: _lowered(function, racy, generic=function.name in generic))
    return found, refused


def _complete(function: ptx.Function) -> ptx.Function:
    """Return a function whose instructions have operands and registers that the analyses read without checking."""
    known = {*function.registers, *SPECIAL, *SPECIAL_WIDE}
    for item in function.instructions:
        if unknown := used(item) - known:
            text = f"register {min(unknown)} must be declared or be a supported special register"
            raise error_at(item.line, f"{item.text}: {text}")
        if unknown := {name for name in defined(item) if name not in function.registers}:
            raise error_at(item.line, f"{item.text}: register {min(unknown)} must be declared to be written")
        if len(item.operands) < _LEAST_OPERANDS.get(item.opcode, 0):
            raise error_at(
                item.line,
                f"{item.text} must have {_LEAST_OPERANDS[item.opcode]} operands or more, got {len(item.operands)}",
            )
    return function


def _lowered(function: ptx.Function, racy: Set[str], *, generic: bool) -> ptx.Function:
    if function.body is None:
        return function
    if max(function.directives.get("reqnctapercluster", ()), default=1) > 1:
        raise error_at(
            function.line,
            f"kernel {function.name} must run in clusters of one thread block on the host device; "
            "use global memory between thread blocks",
        )
    function = with_own_parameters(function)
    rewriter = Rewriter(dict(function.registers))
    for item in function.body or ():
        lower = None if isinstance(item, ptx.Label) else LOWERED.get(item.opcode)
        if lower is None or isinstance(item, ptx.Label):
            rewriter.done.append(item)
            continue
        rewriter.at = item
        after = rewriter.label("after")
        if item.guard is not None:
            rewriter.jump(after, ptx.Guard(item.guard.register, not item.guard.negated))
        with reading(item):
            lower(rewriter, replace(item, guard=None))
        if item.guard is not None:
            rewriter.place(after)
    rewritten = replace(
        function,
        body=(*rewriter.prologue, *rewriter.done),
        registers=rewriter.registers,
        variables=(*function.variables, *rewriter.variables),
    )
    return with_yields(in_lockstep(rewritten, generic=generic), racy)
