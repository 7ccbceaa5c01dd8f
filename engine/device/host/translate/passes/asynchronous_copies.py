"""cp.async, st.async, red.async and their bulk forms: done at once, which is one of the orders the manual allows."""

from __future__ import annotations

from collections.abc import Callable

from engine.device.host.translate.passes.lowering import Writer, lowers, moved, refused
from engine.ptx.tree import Address, Guard, Instruction, Integer, Negated, Operand, Register, Vector

#: Bytes of what asynchronous stores and reductions move.
_BYTES = {f"{letter}{bits}": bits // 8 for letter in "busf" for bits in (8, 16, 32, 64)}
_BYTES |= {"bf16": 2, "b128": 16}
_OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


@lowers("cp")
def _copy(writer: Writer, instruction: Instruction) -> None:
    modifiers = instruction.modifiers
    if "bulk" in modifiers:
        _bulk(writer, instruction)
    elif "mbarrier" in modifiers:
        # Without .noinc the barrier expects one arrival more, and this is it.
        if "noinc" in modifiers:
            space = ".shared" if any(item.startswith("shared") for item in modifiers) else ""
            writer.emit(f"mbarrier.arrive{space}.b64", writer.register("b64"), instruction.operands[0])
    elif not {"commit_group", "wait_group", "wait_all"} & set(modifiers):
        _words(writer, instruction)


def _words(writer: Writer, instruction: Instruction) -> None:
    target, source, size, *rest = instruction.operands
    if not isinstance(size, Integer) or size.value not in (4, 8, 16):
        raise refused(instruction, "copy 4, 8 or 16 bytes")
    hinted = any(item.endswith("cache_hint") for item in instruction.modifiers)
    limit = rest[0] if len(rest) > (1 if hinted else 0) else None
    count = size.value // 4
    words = tuple(writer.register("b32") for _ in range(count))
    shape = {1: "", 2: ".v2", 4: ".v4"}[count]
    whole: Operand = Vector(words) if count > 1 else words[0]
    done = writer.label("copied")
    if limit is not None:
        for word in words:
            writer.emit("mov.b32", word, 0)
        _part(writer, source, words, limit, done)
    writer.emit(f"ld.global{shape}.b32", whole, source)
    writer.place(done)
    writer.emit(f"st.shared{shape}.b32", target, whole)


def _part(writer: Writer, source: Operand, words: tuple[Register, ...], limit: Operand, done: str) -> None:
    """Go on behind only when all bytes are wanted; else load what is wanted, the rest being zero, and go to `done`."""
    if isinstance(limit, Negated):
        writer.jump(done, Guard(limit.register, True))
        return
    if isinstance(limit, Register) and writer.registers.get(limit.name) == "pred":
        writer.jump(done, Guard(limit, False))  # the source is ignored
        return
    full = writer.label("full")
    wanted = writer.value("mov.u32", limit)
    writer.jump(full, Guard(writer.value("setp.ge.u32", wanted, 4 * len(words)), False))
    for index in range(4 * len(words)):
        writer.jump(done, Guard(writer.value("setp.le.u32", wanted, index), False))
        byte = writer.register("b32")
        writer.emit("ld.global.u8", byte, moved(source, index))
        word = words[index // 4]
        writer.emit("or.b32", word, word, writer.value("shl.b32", byte, index % 4 * 8))
    writer.jump(done)
    writer.place(full)


def _bulk(writer: Writer, instruction: Instruction) -> None:
    """Copy a block of memory in words of 16 bytes; a barrier object learns of it as of any transaction."""
    modifiers = instruction.modifiers
    if {"commit_group", "wait_group"} & set(modifiers):
        return
    spaces = [item.split("::")[0] for item in modifiers if item.split("::")[0] in ("shared", "global")]
    if "tensor" in modifiers or "tensor::2d" in modifiers or "ignore_oob" in modifiers:
        raise refused(instruction, "use cp.async.bulk without a tensor map, or loads and stores, from each thread")
    if "prefetch" in modifiers:
        return
    if len(spaces) != 2:
        raise refused(instruction, "copy between .shared and .global")
    target, source, size, *rest = instruction.operands
    hinted = any(item.endswith("cache_hint") for item in modifiers)
    barrier = rest.pop(0) if rest and isinstance(rest[0], Address) else None
    mask = rest[0] if len(rest) > (1 if hinted else 0) else None
    if modifiers[0] == "reduce":
        kind = next(item for item in modifiers if item in _BYTES)
        operation = next(item for item in modifiers if item in _OPERATIONS)
        rounds = ".noftz" if "noftz" in modifiers else ""
        value = writer.register(f"b{8 * _BYTES[kind]}")

        def move(to: Address, start: Address) -> None:
            writer.emit(f"ld.{spaces[1]}.b{8 * _BYTES[kind]}", value, start)
            writer.emit(f"red.{spaces[0]}.{operation}{rounds}.{kind}", to, value)

        _block(writer, target, source, size, _BYTES[kind], move)
    elif mask is not None and "cp_mask" in modifiers:
        _masked(writer, spaces, target, source, size, mask)
    else:
        done = writer.label("other")
        if mask is not None:  # of the thread blocks that receive a copy; the only one there is has rank 0
            here = writer.value("and.b32", writer.value("cvt.u32.u16", mask), 1)
            writer.jump(done, Guard(writer.value("setp.eq.u32", here, 0), False))
        words = Vector(tuple(writer.register("b32") for _ in range(4)))

        def move(to: Address, start: Address) -> None:
            writer.emit(f"ld.{spaces[1]}.v4.b32", words, start)
            writer.emit(f"st.{spaces[0]}.v4.b32", to, words)

        _block(writer, target, source, size, 16, move)
        writer.place(done)
    if barrier is not None:
        writer.emit("mbarrier.complete_tx.shared.b64", barrier, size)


def _block(
    writer: Writer,
    target: Operand,
    source: Operand | None,
    size: Operand,
    step: int,
    move: Callable[[Address, Address], None],
) -> None:
    """Write a loop that does `move` for every `step` bytes; without a source it is given the target twice."""
    to, to_offset = _pointer(writer, target)
    start, start_offset = (to, to_offset) if source is None else _pointer(writer, source)
    left = writer.value("mov.u32", size)
    again, done = writer.label("copy"), writer.label("copied")
    writer.place(again)
    writer.jump(done, Guard(writer.value("setp.lt.u32", left, step), False))
    move(Address(to, to_offset), Address(start, start_offset))
    writer.emit("add.s64", to, to, step)
    if start is not to:
        writer.emit("add.s64", start, start, step)
    writer.emit("sub.u32", left, left, step)
    writer.jump(again)
    writer.place(done)


def _pointer(writer: Writer, address: Operand) -> tuple[Register, int]:
    """Return a register of its own that holds an address, and the offset to it."""
    assert isinstance(address, Address)
    at = writer.register("b64")
    writer.emit("mov.b64", at, address.base)
    return at, address.offset


def _masked(writer: Writer, spaces: list[str], target: Operand, source: Operand, size: Operand, mask: Operand) -> None:
    """Copy those bytes of every 16 whose bit is set in the mask."""
    wide = writer.value("cvt.u32.u16", mask)
    wanted = []
    for index in range(16):
        bit = writer.value("and.b32", wide, 1 << index)
        wanted.append(Guard(writer.value("setp.ne.u32", bit, 0), False))

    def move(to: Address, start: Address) -> None:
        byte = writer.register("b32")
        for index, guard in enumerate(wanted):
            writer.emit(f"ld.{spaces[1]}.u8", byte, moved(start, index), guard=guard)
            writer.emit(f"st.{spaces[0]}.u8", moved(to, index), byte, guard=guard)

    _block(writer, target, source, size, 16, move)


# -- stores and reductions that do not wait -----------------------------------------------------------------------


@lowers("st")
def _store(writer: Writer, instruction: Instruction) -> None:
    modifiers = instruction.modifiers
    if "bulk" in modifiers:  # fills with zeros, the only value there is
        space = ".shared" if any(item.startswith("shared") for item in modifiers) else ""
        target, size = instruction.operands[:2]
        _block(writer, target, None, size, 8, lambda to, _: writer.emit(f"st{space}.b64", to, 0))
    elif "async" in modifiers:
        _announced(writer, instruction, "st")
    else:
        writer.done.append(instruction)


@lowers("red")
def _reduce(writer: Writer, instruction: Instruction) -> None:
    if "async" in instruction.modifiers:
        _announced(writer, instruction, "red")
    else:
        writer.done.append(instruction)


def _announced(writer: Writer, instruction: Instruction, opcode: str) -> None:
    """Do what an asynchronous instruction does; where there is a barrier object, tell it the bytes."""
    modifiers = instruction.modifiers
    target, value, *rest = instruction.operands
    space = next(item.split("::")[0] for item in modifiers if item.split("::")[0] in ("shared", "global"))
    kept = [item for item in modifiers if item in _BYTES or item in _OPERATIONS or item in ("v2", "v4", "release")]
    if space == "shared":
        kept = [item for item in kept if item != "release"]
    writer.emit(".".join((opcode, space, *kept)), target, value)
    if rest:
        count = len(value.elements) if isinstance(value, Vector) else 1
        size = count * _BYTES[next(item for item in modifiers if item in _BYTES)]
        writer.emit("mbarrier.complete_tx.shared.b64", rest[0], size)
