"""alloca, stacksave and stackrestore: a function that uses them has one more local variable, taken from its end."""

from __future__ import annotations

from engine.device.host.translate.lowering.writer import Writer, lowers, refused
from engine.ptx.tree import Guard, Instruction, Integer, Register, Symbol, Variable

#: Bytes that all allocas of one call of a function share; CUDA gives a thread 1 KiB of stack unless told otherwise.
STACK_BYTES = 16 << 10
_LEAST_ALIGNMENT = 8
_STACK = "%wl$stack"
_TOP = Register("%wl$stack$top")


def _top(writer: Writer) -> Register:
    """Return the register that holds how many bytes of the stack are free."""
    if _TOP.name not in writer.registers:
        writer.registers[_TOP.name] = "b64"
        writer.variables.append(Variable(_STACK, "local", "b8", STACK_BYTES, 256, writer.line))
        writer.prologue.append(Instruction("mov", ("u64",), (_TOP, Integer(STACK_BYTES)), None, writer.line))
    return _TOP


@lowers("alloca")
def _allocate(writer: Writer, instruction: Instruction) -> None:
    target, size, *rest = instruction.operands
    alignment = rest[0].value if rest and isinstance(rest[0], Integer) else _LEAST_ALIGNMENT
    if alignment & (alignment - 1) or not 0 < alignment <= 256:
        raise refused(instruction, "align to a power of two up to 256")
    top = _top(writer)
    wide = writer.value("cvt.u64.u32", size) if instruction.modifiers[-1] == "u32" else size
    fits = writer.value("setp.ge.u64", top, wide)
    writer.emit("trap", guard=Guard(fits, True))
    writer.emit("sub.u64", top, top, wide)
    writer.emit("and.b64", top, top, -alignment)
    first = writer.value("mov.u64", Symbol(_STACK))
    writer.emit("cvt.u64.u64" if wide is size else "cvt.u32.u64", target, writer.value("add.u64", first, top))


@lowers("stacksave")
def _save(writer: Writer, instruction: Instruction) -> None:
    writer.emit(f"cvt.{instruction.modifiers[-1]}.u64", instruction.operands[0], _top(writer))


@lowers("stackrestore")
def _restore(writer: Writer, instruction: Instruction) -> None:
    writer.emit(f"cvt.u64.{instruction.modifiers[-1]}", _top(writer), instruction.operands[0])
