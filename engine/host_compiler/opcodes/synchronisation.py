"""Barrier objects (mbarrier), fences, traps, and barriers at which threads only arrive.

An mbarrier has 64 bits: arrivals still pending (20), arrivals expected (20), bytes still to come (23, signed), and the
phase in the top bit. The threads of a thread block take turns, so plain loads and stores will do.
"""

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.accesses import report
from warploom.engine.host_compiler.analysis.suspension_points import is_suspension_point
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.ptx.tree import Address, Instruction

_FIELD = (1 << 20) - 1


@opcode("mbarrier")
def _mbarrier(body: Body, instruction: Instruction) -> None:
    if instruction.modifiers[0] == "pending_count":
        value = body.read(instruction.operands[1], "b64")
        body.write(instruction.operands[0], "b64", body.code.value(f"and i64 {value}, {_FIELD}"))
        return
    operands = list(instruction.operands)
    target = None if isinstance(operands[0], Address) else operands.pop(0)
    address, *rest = operands
    values = [body.read(operand, "b64") for operand in rest]
    space = "shared" if any(item.startswith("shared") for item in instruction.modifiers) else None
    with body.accesses.at(instruction, address, 8, space) as pointer:
        word = body.code.value(f"load i64, ptr {pointer}")
        new, kind, answer = _changed(body, instruction, word, values)
        if new != word:
            body.code.do(f"store i64 {new}, ptr {pointer}")
        if target is not None:
            body.write(target, kind, answer)


def _changed(body: Body, instruction: Instruction, word: str, values: list[str]) -> tuple[str, str, str]:
    """Return the new value of a barrier object, and the type and value of the result."""
    code, modifiers = body.code, instruction.modifiers
    arrivals, drops, change = "0", "0", "0"
    match modifiers[0]:
        case "init":
            count = code.value(f"and i64 {values[0]}, {_FIELD}")
            return code.value(f"or i64 {count}, {code.value(f'shl i64 {count}, 20')}"), "b64", "0"
        case "inval":
            return "0", "b64", "0"
        case "test_wait" | "try_wait":
            # The phase that a state or a parity names is complete when the current phase has the other parity.
            now = code.value(f"lshr i64 {word}, 63")
            then = f"and i64 {values[0]}, 1" if "parity" in modifiers else f"lshr i64 {values[0]}, 63"
            return word, "pred", code.value(f"icmp ne i64 {now}, {code.value(then)}")
        case "arrive" | "arrive_drop":
            is_expecting = "expect_tx" in modifiers
            arrivals = "1" if is_expecting or not values else values[0]
            drops = arrivals if modifiers[0] == "arrive_drop" else "0"
            change = values[0] if is_expecting else "0"
        case "expect_tx":
            change = values[0]
        case "complete_tx":
            change = code.value(f"sub i64 0, {values[0]}")
        case _:
            raise unsupported(instruction, "use init, arrive, arrive_drop, expect_tx, test_wait or try_wait")
    new = code.value(f"call i64 @wl.mbarrier(i64 {word}, i64 {arrivals}, i64 {drops}, i64 {change})")
    return new, "b64", word


# -- fences, arrivals and traps ----------------------------------------------------------------------------------------


@opcode("membar", "fence")
def _fence(body: Body, instruction: Instruction) -> None:
    if "proxy" not in instruction.modifiers:
        body.code.do("fence seq_cst")


@opcode("nanosleep", "pmevent", "griddepcontrol", "setmaxnreg", "brkpt")
@opcode("prefetch", "prefetchu", "applypriority", "discard")
def _nothing(body: Body, instruction: Instruction) -> None:
    """Write nothing: the instruction is a hint to a scheduler, a debugger or caches."""


@opcode("bar", "barrier")
def _arrive_at_barrier(body: Body, instruction: Instruction) -> None:
    """Count this thread at a barrier where it does not wait; all other forms are waits."""
    if not any(is_suspension_point(item) for item in body.function.instructions):
        return  # no thread waits
    code = body.code
    places = zip((abi.NUMBER, abi.COUNT), instruction.operands[:2], strict=True)
    index, count = (body.accesses.barrier(instruction, place, operand) for place, operand in places)
    counters = code.value(f"getelementptr i8, ptr %scratch, i64 {abi.ARRIVED}")
    place = code.value(f"getelementptr i32, ptr {counters}, i32 {index}")
    arrived = code.value(f"add i32 {code.value(f'load i32, ptr {place}')}, 1")
    # A barrier that is complete without any waiting thread starts again at 0.
    complete = code.value(f"icmp uge i32 {arrived}, {count}")
    rest = code.value(f"select i1 {complete}, i32 0, i32 {arrived}")
    code.do(f"store i32 {rest}, ptr {place}")


@opcode("trap")
def _trap(body: Body, instruction: Instruction) -> None:
    report(body, abi.TRAP, instruction.line, "0")
    body.code.jump(body.exit_label)


@opcode("wl")
def _yield(body: Body, _instruction: Instruction) -> None:
    """Let other thread blocks run while the rest of this thread's own block waits for it."""
    body.code.do("call i32 @sched_yield()")
