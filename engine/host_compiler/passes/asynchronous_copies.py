"""cp.async, st.async, red.async and their bulk forms, which are performed at once: an order that the manual allows."""

from collections.abc import Callable

from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.passes.lowering import Rewriter, lowers, moved
from warploom.engine.host_compiler.types import TYPES, bits, type_of
from warploom.engine.ptx.tree import Address, Guard, Instruction, Integer, Negated, Operand, Register, Vector

_OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


@lowers("cp")
def _copy(rewriter: Rewriter, instruction: Instruction) -> None:
    modifiers = instruction.modifiers
    if "bulk" in modifiers:
        _bulk(rewriter, instruction)
    elif "mbarrier" in modifiers:
        # Without .noinc the barrier expects one more arrival, which is this one.
        if "noinc" in modifiers:
            space = ".shared" if any(item.startswith("shared") for item in modifiers) else ""
            rewriter.emit(f"mbarrier.arrive{space}.b64", rewriter.register("b64"), instruction.operands[0])
    elif not {"commit_group", "wait_group", "wait_all"} & set(modifiers):
        _words(rewriter, instruction)


def _words(rewriter: Rewriter, instruction: Instruction) -> None:
    target, source, size, *rest = instruction.operands
    if not isinstance(size, Integer) or size.value not in (4, 8, 16):
        raise unsupported(instruction, "copy 4, 8 or 16 bytes")
    hinted = any(item.endswith("cache_hint") for item in instruction.modifiers)
    limit = rest[0] if len(rest) > (1 if hinted else 0) else None
    count = size.value // 4
    words = tuple(rewriter.register("b32") for _ in range(count))
    shape = {1: "", 2: ".v2", 4: ".v4"}[count]
    whole: Operand = Vector(words) if count > 1 else words[0]
    done = rewriter.label("copied")
    if limit is not None:
        for word in words:
            rewriter.emit("mov.b32", word, 0)
        _part(rewriter, source, words, limit, done)
    rewriter.emit(f"ld.global{shape}.b32", whole, source)
    rewriter.place(done)
    rewriter.emit(f"st.shared{shape}.b32", target, whole)


def _part(rewriter: Rewriter, source: Operand, words: tuple[Register, ...], limit: Operand, done: str) -> None:
    """Fall through if all bytes are wanted; otherwise load the wanted bytes into zeroed words and jump to `done`."""
    if isinstance(limit, Negated):
        rewriter.jump(done, Guard(limit.register, True))
        return
    if isinstance(limit, Register) and rewriter.registers.get(limit.name) == "pred":
        rewriter.jump(done, Guard(limit, False))  # the source is ignored
        return
    full = rewriter.label("full")
    wanted = rewriter.value("mov.u32", limit)
    rewriter.jump(full, Guard(rewriter.value("setp.ge.u32", wanted, 4 * len(words)), False))
    for index in range(4 * len(words)):
        rewriter.jump(done, Guard(rewriter.value("setp.le.u32", wanted, index), False))
        byte = rewriter.register("b32")
        rewriter.emit("ld.global.u8", byte, moved(source, index))
        word = words[index // 4]
        rewriter.emit("or.b32", word, word, rewriter.value("shl.b32", byte, index % 4 * 8))
    rewriter.jump(done)
    rewriter.place(full)


def _bulk(rewriter: Rewriter, instruction: Instruction) -> None:
    """Copy a block of memory in words of 16 bytes, and count them at the barrier object."""
    modifiers = instruction.modifiers
    if {"commit_group", "wait_group"} & set(modifiers):
        return
    spaces = [item.split("::")[0] for item in modifiers if item.split("::")[0] in ("shared", "global")]
    if "tensor" in modifiers or "tensor::2d" in modifiers or "ignore_oob" in modifiers:
        raise unsupported(instruction, "use cp.async.bulk without a tensor map, or loads and stores, from each thread")
    if "prefetch" in modifiers:
        return
    if len(spaces) != 2:
        raise unsupported(instruction, "copy between .shared and .global")
    target, source, size, *rest = instruction.operands
    hinted = any(item.endswith("cache_hint") for item in modifiers)
    barrier = rest.pop(0) if rest and isinstance(rest[0], Address) else None
    mask = rest[0] if len(rest) > (1 if hinted else 0) else None
    if modifiers[0] == "reduce":
        kind = type_of(instruction)
        operation = next(item for item in modifiers if item in _OPERATIONS)
        rounds = ".noftz" if "noftz" in modifiers else ""
        value = rewriter.register(f"b{bits(kind)}")

        def move(to: Address, start: Address) -> None:
            rewriter.emit(f"ld.{spaces[1]}.b{bits(kind)}", value, start)
            rewriter.emit(f"red.{spaces[0]}.{operation}{rounds}.{kind}", to, value)

        _block(rewriter, target, source, size, bits(kind) // 8, move)
    elif mask is not None and "cp_mask" in modifiers:
        _masked(rewriter, spaces, target, source, size, mask)
    else:
        done = rewriter.label("other")
        if mask is not None:  # selects the thread blocks that receive a copy; the only one has rank 0
            here = rewriter.value("and.b32", rewriter.value("cvt.u32.u16", mask), 1)
            rewriter.jump(done, Guard(rewriter.value("setp.eq.u32", here, 0), False))
        words = Vector(tuple(rewriter.register("b32") for _ in range(4)))

        def move(to: Address, start: Address) -> None:
            rewriter.emit(f"ld.{spaces[1]}.v4.b32", words, start)
            rewriter.emit(f"st.{spaces[0]}.v4.b32", to, words)

        _block(rewriter, target, source, size, 16, move)
        rewriter.place(done)
    if barrier is not None:
        rewriter.emit("mbarrier.complete_tx.shared.b64", barrier, size)


def _block(
    rewriter: Rewriter,
    target: Operand,
    source: Operand | None,
    size: Operand,
    step: int,
    move: Callable[[Address, Address], None],
) -> None:
    """Write a loop that calls `move` for every `step` bytes; without a source, `move` gets the target twice."""
    to, to_offset = _pointer(rewriter, target)
    start, start_offset = (to, to_offset) if source is None else _pointer(rewriter, source)
    left = rewriter.value("mov.u32", size)
    again, done = rewriter.label("copy"), rewriter.label("copied")
    rewriter.place(again)
    rewriter.jump(done, Guard(rewriter.value("setp.lt.u32", left, step), False))
    move(Address(to, to_offset), Address(start, start_offset))
    rewriter.emit("add.s64", to, to, step)
    if start is not to:
        rewriter.emit("add.s64", start, start, step)
    rewriter.emit("sub.u32", left, left, step)
    rewriter.jump(again)
    rewriter.place(done)


def _pointer(rewriter: Rewriter, address: Operand) -> tuple[Register, int]:
    """Return a fresh register with the base of an address, and the offset."""
    if not isinstance(address, Address):
        raise TypeError("address expected")
    at = rewriter.register("b64")
    rewriter.emit("mov.b64", at, address.base)
    return at, address.offset


def _masked(
    rewriter: Rewriter, spaces: list[str], target: Operand, source: Operand, size: Operand, mask: Operand
) -> None:
    """Copy those bytes of every 16 whose bit is set in the mask."""
    wide = rewriter.value("cvt.u32.u16", mask)
    wanted = []
    for index in range(16):
        bit = rewriter.value("and.b32", wide, 1 << index)
        wanted.append(Guard(rewriter.value("setp.ne.u32", bit, 0), False))

    def move(to: Address, start: Address) -> None:
        byte = rewriter.register("b32")
        for index, guard in enumerate(wanted):
            rewriter.emit(f"ld.{spaces[1]}.u8", byte, moved(start, index), guard=guard)
            rewriter.emit(f"st.{spaces[0]}.u8", moved(to, index), byte, guard=guard)

    _block(rewriter, target, source, size, 16, move)


# -- asynchronous stores and reductions ---------------------------------------------------------------------------


@lowers("st")
def _store(rewriter: Rewriter, instruction: Instruction) -> None:
    modifiers = instruction.modifiers
    if "bulk" in modifiers:  # a fill with zeros, the only value that PTX allows
        space = ".shared" if any(item.startswith("shared") for item in modifiers) else ""
        target, size = instruction.operands[:2]
        _block(rewriter, target, None, size, 8, lambda to, _: rewriter.emit(f"st{space}.b64", to, 0))
    elif "async" in modifiers:
        _with_transaction(rewriter, instruction, "st")
    else:
        rewriter.done.append(instruction)


@lowers("red")
def _reduce(rewriter: Rewriter, instruction: Instruction) -> None:
    if "async" in instruction.modifiers:
        _with_transaction(rewriter, instruction, "red")
    else:
        rewriter.done.append(instruction)


def _with_transaction(rewriter: Rewriter, instruction: Instruction, opcode: str) -> None:
    """Perform an asynchronous instruction's operation, and count its bytes at the barrier object if there is one."""
    modifiers = instruction.modifiers
    target, value, *rest = instruction.operands
    space = next(item.split("::")[0] for item in modifiers if item.split("::")[0] in ("shared", "global"))
    kept = [item for item in modifiers if item in TYPES or item in _OPERATIONS or item in ("v2", "v4", "release")]
    if space == "shared":
        kept = [item for item in kept if item != "release"]
    rewriter.emit(".".join((opcode, space, *kept)), target, value)
    if rest:
        count = len(value.elements) if isinstance(value, Vector) else 1
        size = count * bits(type_of(instruction)) // 8
        rewriter.emit("mbarrier.complete_tx.shared.b64", rest[0], size)
