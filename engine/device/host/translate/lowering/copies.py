"""cp.async: copies that are done at once, which is one of the orders the manual allows."""

from __future__ import annotations

from engine.device.host.translate.lowering.writer import Writer, lowers, moved, refused
from engine.ptx.tree import Address, Guard, Instruction, Integer, Negated, Operand, Register, Vector


@lowers("cp")
def _copy(writer: Writer, instruction: Instruction) -> None:
    modifiers = instruction.modifiers
    if "bulk" in modifiers or modifiers[0] != "async":
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
    if "prefetch" in modifiers:
        return
    if "tensor" in modifiers or "reduce" in modifiers or any("multicast" in item for item in modifiers):
        raise refused(instruction, "use cp.async of 16 bytes, or loads and stores, from each thread")
    spaces = [item.split("::")[0] for item in modifiers if item.split("::")[0] in ("shared", "global")]
    if len(spaces) != 2:
        raise refused(instruction, "copy between .shared and .global")
    target, source, size, *rest = instruction.operands
    assert isinstance(target, Address)
    assert isinstance(source, Address)
    pair = []
    for address in (target, source):
        at = writer.register("b64")
        writer.emit("mov.b64", at, address.base)
        pair.append((at, address.offset))
    (to, to_offset), (start, start_offset) = pair
    left = writer.value("mov.u32", size)
    again, done = writer.label("copy"), writer.label("copied")
    words = Vector(tuple(writer.register("b32") for _ in range(4)))
    writer.place(again)
    writer.jump(done, Guard(writer.value("setp.eq.u32", left, 0), False))
    writer.emit(f"ld.{spaces[1]}.v4.b32", words, Address(start, start_offset))
    writer.emit(f"st.{spaces[0]}.v4.b32", Address(to, to_offset), words)
    writer.emit("add.s64", to, to, 16)
    writer.emit("add.s64", start, start, 16)
    writer.emit("sub.u32", left, left, 16)
    writer.jump(again)
    writer.place(done)
    if rest and isinstance(rest[0], Address):
        writer.emit("mbarrier.complete_tx.shared.b64", rest[0], size)
