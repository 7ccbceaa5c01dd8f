"""Parameters of device functions whose addresses are taken: each is copied to local memory first."""

from msgspec.structs import replace

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.errors import error_at
from warploom.engine.ptx.tree import Address, Function, Instruction, Label, Register, Statement, Symbol, Variable

_TAKERS = ("mov", "cvta")


def with_own_parameters(function: Function) -> Function:
    """Return the function with a local variable for each parameter whose address it takes.

    The manual puts such a parameter on the stack, and its address is one of local memory.
    """
    formal = {variable.name: variable for variable in function.parameters}
    taken = {
        operand.name: formal[operand.name]
        for item in function.instructions
        if item.opcode in _TAKERS
        for operand in item.operands[1:]
        if isinstance(operand, Symbol) and operand.name in formal
    }
    if not taken or function.is_entry:
        return function
    size_bytes = sum(variable.size_bytes for variable in taken.values())
    if size_bytes > abi.MAX_LOCAL_BYTES:
        raise error_at(
            function.line,
            f"parameters of {function.name} whose addresses are taken must have at most {abi.MAX_LOCAL_BYTES} bytes, "
            f"got {size_bytes}; pass a pointer",
        )
    own = tuple(replace(variable, name=_own(name), space="local") for name, variable in taken.items())
    registers = dict(function.registers) | {f"{_own('')}{size}": f"b{8 * size}" for size in (1, 2, 4, 8)}
    copies = [step for variable in taken.values() for step in _copy(variable, function.line)]
    body = [item if isinstance(item, Label) else _through_local(item, taken) for item in function.body or ()]
    return replace(function, body=(*copies, *body), registers=registers, variables=(*function.variables, *own))


def _own(name: str) -> str:
    return f"{name}~own"  # no name of PTX has a tilde


def _copy(variable: Variable, line: int) -> list[Statement]:
    """Return the loads and stores that copy a parameter, in the widest steps that its size and alignment allow."""
    step = next(size for size in (8, 4, 2, 1) if variable.alignment % size == 0 and variable.size_bytes % size == 0)
    register, kind = Register(f"{_own('')}{step}"), f"b{8 * step}"
    done: list[Statement] = []
    for offset in range(0, variable.size_bytes, step):
        source, target = Address(Symbol(variable.name), offset), Address(Symbol(_own(variable.name)), offset)
        done.append(Instruction("ld", ("param", kind), (register, source), None, line))
        done.append(Instruction("st", ("local", kind), (target, register), None, line))
    return done


def _through_local(item: Instruction, taken: dict[str, Variable]) -> Instruction:
    """Return an instruction with the copies in place of the parameters whose addresses it takes or uses."""
    operands, modifiers = item.operands, item.modifiers
    if item.opcode in _TAKERS:
        operands = tuple(
            Symbol(_own(operand.name), operand.offset)
            if isinstance(operand, Symbol) and operand.name in taken
            else operand
            for operand in operands
        )
    computed = any(isinstance(operand, Address) and isinstance(operand.base, Register) for operand in operands)
    if item.opcode == "cvta" or (item.opcode in ("ld", "st") and computed):
        modifiers = tuple("local" if modifier in ("param", "param::func") else modifier for modifier in modifiers)
    return replace(item, operands=operands, modifiers=modifiers)
