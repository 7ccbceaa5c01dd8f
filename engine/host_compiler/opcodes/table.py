"""The table of opcodes: the function that writes each instruction."""

from collections.abc import Callable

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import error_at, unsupported
from warploom.engine.ptx.tree import Instruction

Emit = Callable[[Body, Instruction], None]

OPCODES: dict[str, Emit] = {}


#: Instructions of hardware that the host does not imitate, with advice for each.
_INSTEAD = {
    **dict.fromkeys(
        ("tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep"),
        "use a buffer and compute the coordinates, or interpolate, in the kernel",
    ),
    **dict.fromkeys(("wgmma", "tcgen05"), "use mma.sync or wmma: compile for compute_80"),
    "tensormap": "use a buffer, and loads or cp.async from each thread",
    "multimem": "use one atomic or load for each copy",
    "clusterlaunchcontrol": "use a launch for each kernel",
}


def opcode(*names: str) -> Callable[[Emit], Emit]:
    """Register a function in the table under each name."""

    def enter(emit: Emit) -> Emit:
        for name in names:
            OPCODES[name] = emit
        return emit

    return enter


def emit(body: Body, instruction: Instruction) -> None:
    """Write an instruction whose guard is already written; must be called inside `errors.reading`."""
    if instruction.opcode in _INSTEAD:
        raise unsupported(instruction, _INSTEAD[instruction.opcode])
    function = OPCODES.get(instruction.opcode)
    if function is None:
        raise error_at(
            instruction.line,
            f"{instruction.text} is not an instruction that the host device runs; "
            "use plain CUDA C++ arithmetic, memory, atomic, barrier and shuffle operations instead",
        )
    function(body, instruction)
