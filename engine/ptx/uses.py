"""How a function uses its parameters: as addresses to read, to write or to pass on, or not as addresses."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from warploom.engine.ptx.tree import (
    Address,
    Function,
    Instruction,
    Operand,
    OperandList,
    PtxModule,
    Register,
    Symbol,
    Vector,
)

# A kernel reads or writes, or both, through its pointer parameters. Each register has the set of parameters whose
# address it may hold on any path. A memory access then counts for all parameters in its address. If an address is
# passed to a function, the function's accesses count too. If an address is stored, taken apart or passed to an unknown
# function, the parameter's direction is unknown rather than guessed.


# Instructions that pass an address on, with the positions of these operands after the destination; () means all.
_CARRIES: dict[str, tuple[int, ...]] = {
    "mov": (), "cvta": (), "cvt": (), "add": (), "sub": (), "or": (), "and": (), "min": (), "max": (),
    "selp": (0, 1), "mad": (2,),
}  # fmt: skip
# Instructions that use an address without passing it on.
_LOOKS = frozenset({"setp", "set", "isspacep", "prefetch", "prefetchu", "applypriority", "discard"})
_READS = frozenset({"ld", "ldu"})
_WRITES = frozenset({"st"})
_UPDATES = frozenset({"atom", "red"})
# Spaces that a kernel's parameters do not point to.
_OTHER_SPACES = frozenset({"param", "shared", "local", "const"})
UNTYPED = frozenset({"b8", "b16", "b32", "b64", "b128"})

Direction = Literal["in", "out", "inout", "unknown"]
Effect = Literal["read", "write", "update", "elsewhere", "unknown"]


@dataclass
class ParameterUse:
    """How one parameter is used; `types` are the types of the accesses through it.

    `stores` is set by a store whose address comes from this parameter alone. `writes` is also set by one whose address
    may come from another parameter: a kernel may choose between two.
    """

    reads: bool = False
    writes: bool = False
    stores: bool = False
    is_address: bool = False
    maybe_address: bool = False
    escapes: bool = False
    taken_apart: bool = False
    types: set[str] = field(default_factory=set)

    @property
    def is_pointer(self) -> bool | None:
        """True when the parameter is used as an address; None when that is unknown."""
        if self.is_address:
            return True
        return None if self.escapes or self.maybe_address else False

    @property
    def direction(self) -> Direction:
        """How the kernel accesses the memory that the parameter points to."""
        if not self.is_address or self.escapes or self.taken_apart or not (self.reads or self.writes):
            return "unknown"
        if self.reads and self.writes:
            return "inout"
        return "in" if self.reads else "out"

    @property
    def element_type(self) -> str | None:
        """The scalar type of the accesses, if they agree on one that is more than a size."""
        (only,) = self.types if len(self.types) == 1 else (None,)
        return None if only in UNTYPED else only

    def add(self, inner: "ParameterUse") -> None:
        """Add the uses of a function that gets the parameter's address."""
        for name in ("reads", "writes", "stores", "is_address", "maybe_address", "escapes", "taken_apart"):
            setattr(self, name, getattr(self, name) or getattr(inner, name))
        self.types |= inner.types


#: How functions use their parameters, in order. A function's own uses are unknown while its code is examined.
KnownUses = dict[str, list[ParameterUse]]


class KernelUses(msgspec.Struct, frozen=True):
    """The indices of the parameters that a kernel certainly stores through, and of those that it may store through.

    `addresses` are the parameters that are certainly used as addresses.
    """

    stored: tuple[int, ...]
    written: tuple[int, ...]
    addresses: tuple[int, ...]


def kernel_uses(module: PtxModule, numbers: Mapping[str, Collection[int]]) -> dict[str, KernelUses]:
    """Return the accesses of each kernel of a module through its parameters.

    `numbers` are, by kernel, the indices of parameters that are known not to be pointers.
    """
    known, found = KnownUses(), {}
    for name in module.signatures:
        uses = [*parameter_uses(module.functions[name], module.functions, known, numbers.get(name, ())).values()]
        found[name] = KernelUses(
            tuple(index for index, use in enumerate(uses) if use.stores),
            tuple(index for index, use in enumerate(uses) if use.writes or use.escapes or use.taken_apart),
            tuple(index for index, use in enumerate(uses) if use.is_address),
        )
    return found


def parameter_uses(
    kernel: Function,
    functions: Mapping[str, Function] | None = None,
    known: KnownUses | None = None,
    numbers: Collection[int] = (),
) -> dict[str, ParameterUse]:
    """Return how `kernel` uses each of its parameters, by name; only parameters of 8 bytes can be pointers.

    `functions` are those that it may call, and `known` are the results for them so far. An address passed to any other
    function, or by recursion, has an unknown use. `numbers` are the indices of parameters known not to be pointers.
    """
    known = {} if known is None else known
    uses = {parameter.name: ParameterUse(is_address=parameter.is_pointer) for parameter in kernel.parameters}
    wide = {item.name for index, item in enumerate(kernel.parameters) if item.size_bytes == 8 and index not in numbers}
    origins = _origins(kernel, wide)
    for instruction in kernel.instructions:
        _note_accesses(instruction, origins, uses)
        if instruction.opcode == "call":
            _note_call(instruction, origins, uses, functions or {}, known)
        else:
            _note_escapes(instruction, origins, uses, {result.name for result in kernel.results})
        if instruction.opcode == "cvta":
            for name in _held(instruction.operands[1:], origins):
                uses[name].is_address = True
    return uses


def _origins(kernel: Function, wide: set[str]) -> dict[str, set[str]]:
    """Return the parameters whose address each register may hold, as a fixed point over all instructions."""
    origins: dict[str, set[str]] = defaultdict(set)
    changed = True
    while changed:
        changed = False
        for instruction in kernel.instructions:
            if not instruction.operands:
                continue
            target, sources = instruction.operands[0], instruction.operands[1:]
            if (argument := _argument(instruction)) is not None:
                found = _held(sources, origins)
                changed |= not found <= origins[argument]
                origins[argument] |= found
            if not isinstance(target, Register):
                continue
            found = set(_loaded_parameters(instruction, wide))
            if instruction.opcode in _CARRIES:
                places = _CARRIES[instruction.opcode] or range(len(sources))
                found |= _held(tuple(sources[place] for place in places if place < len(sources)), origins)
            if not found <= origins[target.name]:
                origins[target.name] |= found
                changed = True
    return origins


def _argument(instruction: Instruction) -> str | None:
    """Return the variable that an instruction writes, if it is an argument or the result of a call."""
    target = instruction.operands[0] if instruction.operands else None
    if instruction.opcode == "st" and "param" in instruction.modifiers and isinstance(target, Address):
        return target.base.name if isinstance(target.base, Symbol) else None
    return None


def _note_call(
    instruction: Instruction,
    origins: dict[str, set[str]],
    uses: dict[str, ParameterUse],
    functions: Mapping[str, Function],
    known: KnownUses,
) -> None:
    """Count the called function's uses of the addresses that it gets."""
    name = next((item.name for item in instruction.operands if isinstance(item, Symbol)), "")
    called = functions.get(name)
    if name not in known and called is not None and called.body is not None:
        known[name] = []
        known[name] = list(parameter_uses(called, functions, known).values())
    lists = [item.elements for item in instruction.operands if isinstance(item, OperandList)]
    inner = known.get(name, [])
    for index, item in enumerate(lists[-1] if lists else ()):
        passed = item.name if isinstance(item, Register | Symbol) else ""
        names = origins.get(passed, set())
        for origin in names:
            use = inner[index] if index < len(inner) else ParameterUse(escapes=True)
            uses[origin].add(use if len(names) == 1 else replace(use, stores=False))


def _loaded_parameters(instruction: Instruction, wide: set[str]) -> Iterator[str]:
    if instruction.opcode == "ld" and "param" in instruction.modifiers:
        for operand in instruction.operands[1:]:
            if isinstance(operand, Address) and isinstance(operand.base, Symbol) and operand.base.name in wide:
                yield operand.base.name


def _note_accesses(instruction: Instruction, origins: dict[str, set[str]], uses: dict[str, ParameterUse]) -> None:
    for place, operand in enumerate(instruction.operands):
        if not isinstance(operand, Address) or not isinstance(operand.base, Register):
            continue
        effect = _effect(instruction, place)
        names = origins[operand.base.name] if effect != "elsewhere" else set()
        for name in names:
            use = uses[name]
            use.is_address |= len(names) == 1
            use.maybe_address = True
            use.reads |= effect in ("read", "update")
            use.writes |= effect in ("write", "update")
            use.stores |= effect in ("write", "update") and len(names) == 1
            use.escapes |= effect == "unknown"
            if instruction.opcode in _READS | _WRITES | _UPDATES:
                use.types.add(instruction.modifiers[-1])


def _effect(instruction: Instruction, place: int) -> Effect:
    """Return an instruction's effect on the memory that its operand at `place` points to."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode == "cp":
        # An asynchronous copy names both spaces, target first, and has the two addresses in the same order.
        spaces = [modifier for modifier in modifiers if modifier.split("::")[0] in _OTHER_SPACES | {"global"}]
        if len(spaces) != 2 or place > 1:
            return "unknown"
        if spaces[place] != "global":
            return "elsewhere"
        return "read" if place else "write"
    if any(modifier.split("::")[0] in _OTHER_SPACES for modifier in modifiers) or opcode in _LOOKS:
        return "elsewhere"
    if opcode in _READS or (opcode == "wmma" and modifiers[0] == "load"):
        return "read"
    if opcode in _WRITES or (opcode == "wmma" and modifiers[0] == "store"):
        return "write"
    return "update" if opcode in _UPDATES else "unknown"


def _note_escapes(
    instruction: Instruction, origins: dict[str, set[str]], uses: dict[str, ParameterUse], results: set[str]
) -> None:
    opcode, operands = instruction.opcode, instruction.operands
    argument = _argument(instruction)
    if opcode in _LOOKS or (argument is not None and argument not in results):
        return
    if opcode in _WRITES | _UPDATES:
        for name in _held(operands, origins):
            uses[name].escapes = True
        return
    if not operands:
        return
    if isinstance(operands[0], Vector):
        for name in _held(operands[1:], origins):
            uses[name].taken_apart = True
    places = _CARRIES.get(opcode, ())
    carries_all = opcode in _CARRIES and not places
    for place, operand in enumerate(operands[1:]):
        if not carries_all and place not in places:
            for name in _held((operand,), origins):
                uses[name].taken_apart = True


def _held(operands: tuple[Operand, ...], origins: dict[str, set[str]]) -> set[str]:
    """Return the parameters whose address one of these operands may hold; memory operands are left out."""
    names: set[str] = set()
    for operand in operands:
        if isinstance(operand, Register):
            names |= origins.get(operand.name, set())
        elif hasattr(operand, "elements"):
            names |= _held(operand.elements, origins)
    return names
