"""Instructions that become a few simpler ones: clusters, graph conditions, fma.oob, stack memory; and refusals."""

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.errors import PtxOperandError, unsupported
from warploom.engine.host_compiler.passes.lowering import Rewriter, lowers
from warploom.engine.ptx import tree as ptx

_CLUSTER_BARRIER = 16


@lowers("bar", "barrier")
def _barrier(rewriter: Rewriter, instruction: ptx.Instruction) -> None:
    modifiers = instruction.modifiers
    if modifiers[0] != "cluster":
        if "warp" not in modifiers:
            _check_barrier(instruction)
        rewriter.done.append(instruction)
    elif "wait" in modifiers:
        # When all threads of the thread block wait, all have arrived.
        rewriter.emit("barrier.sync", _CLUSTER_BARRIER)


def _check_barrier(instruction: ptx.Instruction) -> None:
    """Raise PtxOperandError for an impossible barrier number or count of threads."""
    operands = instruction.operands[1:-1] if "red" in instruction.modifiers else instruction.operands
    numbers = [item.value if isinstance(item, ptx.Integer) else 0 for item in operands]
    if numbers and not 0 <= numbers[0] <= abi.LAST_BARRIER:
        raise PtxOperandError(f"barrier must be 0 to {abi.LAST_BARRIER}, got {numbers[0]}")
    if len(numbers) > 1 and (numbers[1] % 32 or numbers[1] < 0):
        raise PtxOperandError(f"threads of a barrier must be a multiple of 32, got {numbers[1]}")


@lowers("mapa", "getctarank")
def _rank(rewriter: Rewriter, instruction: ptx.Instruction) -> None:
    """Write 0, the rank of the cluster's only thread block, or an address in its memory, which stays the same."""
    kind = instruction.modifiers[-1]
    target, source = instruction.operands[:2]
    if instruction.opcode == "getctarank":
        rewriter.emit("mov.u32", target, 0)
    elif kind in ("u32", "u64"):
        rewriter.emit(f"mov.b{kind[1:]}", target, source)
    else:
        raise unsupported(instruction, "give .u32 or .u64")


# -- cudaGraphSetConditional: on the host, the handle of a condition is the address of its value --------------------


NAME = "cudaGraphSetConditional"


@lowers("call")
def _set_condition(rewriter: Rewriter, instruction: ptx.Instruction) -> None:
    """Write a store; like every store it is checked, so a bad handle is a fault."""
    target, *groups = instruction.operands
    if not isinstance(target, ptx.Symbol) or target.name != NAME:
        rewriter.done.append(instruction)
        return
    given = groups[0].elements if groups and isinstance(groups[0], ptx.OperandList) else ()
    if len(given) != 2:
        raise unsupported(instruction, f"pass a handle and a value to {NAME}")
    handle, value = _value(rewriter, given[0], "b64"), _value(rewriter, given[1], "b32")
    rewriter.emit("st.global.b32", ptx.Address(rewriter.value("mov.b64", handle)), value)


def _value(rewriter: Rewriter, operand: ptx.Operand, kind: str) -> ptx.Operand:
    """Return an argument as an operand; one that is passed in a `.param` variable is loaded."""
    return rewriter.value(f"ld.param.{kind}", ptx.Address(operand)) if isinstance(operand, ptx.Symbol) else operand


# -- fma.oob: the product is zero where a factor is the NaN that tensor copies write for elements out of bounds -------


#: The NaN without its sign, in f16 and in bf16.
_OUTSIDE = 0x7FF7


@lowers("fma")
def _fma(rewriter: Rewriter, instruction: ptx.Instruction) -> None:
    """Write a plain fma, then select by the bits of its factors: arithmetic may change those of a NaN."""
    if "oob" not in instruction.modifiers:
        rewriter.done.append(instruction)
        return
    target, a, b, c = instruction.operands
    kept = ".".join(item for item in instruction.modifiers if item != "oob")
    is_pair = kept.endswith("x2")
    result = rewriter.register("b32" if is_pair else "b16")
    rewriter.emit(f"fma.{kept}", result, a, b, c)
    values, firsts, seconds = (_halves(rewriter, item, is_pair=is_pair) for item in (result, a, b))
    zeros = []
    for half, first, second in zip(values, firsts, seconds, strict=True):
        value = half
        for factor in (first, second):
            size = rewriter.value("and.b16", factor, 0x7FFF)
            value = rewriter.register("b16")
            rewriter.emit("selp.b16", value, 0, half, rewriter.value("setp.eq.u16", size, _OUTSIDE))
            half = value
        zeros.append(value)
    if is_pair:
        rewriter.emit("mov.b32", target, ptx.Vector(tuple(zeros)))
    else:
        rewriter.emit("mov.b16", target, zeros[0])


def _halves(rewriter: Rewriter, operand: ptx.Operand, *, is_pair: bool) -> list[ptx.Register]:
    """Return the one or two elements of an operand in separate registers."""
    if not is_pair:
        return [rewriter.value("mov.b16", operand)]
    parts = [rewriter.register("b16") for _ in range(2)]
    rewriter.emit("mov.b32", ptx.Vector(tuple(parts)), operand)
    return parts


# -- alloca, stacksave and stackrestore: taken from the end of one more local variable --------------------------------


#: Bytes that all allocas of one call of a function share; CUDA gives a thread 1 KiB of stack by default.
STACK_BYTES = 16 << 10
_LEAST_ALIGNMENT = 8
_STACK = "%wl$stack"
_TOP = ptx.Register("%wl$stack$top")


def _top(rewriter: Rewriter) -> ptx.Register:
    """Return the register that holds how many bytes of the stack are free."""
    if _TOP.name not in rewriter.registers:
        rewriter.registers[_TOP.name] = "b64"
        rewriter.variables.append(ptx.Variable(_STACK, "local", "b8", STACK_BYTES, 256, rewriter.at.line))
        rewriter.prologue.append(
            ptx.Instruction("mov", ("u64",), (_TOP, ptx.Integer(STACK_BYTES)), None, rewriter.at.line)
        )
    return _TOP


@lowers("alloca")
def _allocate(rewriter: Rewriter, instruction: ptx.Instruction) -> None:
    target, size, *rest = instruction.operands
    alignment = rest[0].value if rest and isinstance(rest[0], ptx.Integer) else _LEAST_ALIGNMENT
    if alignment & (alignment - 1) or not 0 < alignment <= 256:
        raise unsupported(instruction, "align to a power of two up to 256")
    top = _top(rewriter)
    wide = rewriter.value("cvt.u64.u32", size) if instruction.modifiers[-1] == "u32" else size
    fits = rewriter.value("setp.ge.u64", top, wide)
    rewriter.emit("trap", guard=ptx.Guard(fits, True))
    rewriter.emit("sub.u64", top, top, wide)
    rewriter.emit("and.b64", top, top, -alignment)
    first = rewriter.value("mov.u64", ptx.Symbol(_STACK))
    rewriter.emit("cvt.u64.u64" if wide is size else "cvt.u32.u64", target, rewriter.value("add.u64", first, top))


@lowers("stacksave")
def _save(rewriter: Rewriter, instruction: ptx.Instruction) -> None:
    rewriter.emit(f"cvt.{instruction.modifiers[-1]}.u64", instruction.operands[0], _top(rewriter))


@lowers("stackrestore")
def _restore(rewriter: Rewriter, instruction: ptx.Instruction) -> None:
    rewriter.emit(f"cvt.u64.{instruction.modifiers[-1]}", _top(rewriter), instruction.operands[0])
