"""ld and st in every space, scalar and vector; prefetches, which do nothing."""

from __future__ import annotations

from engine.device.host.translate.accesses import space_of
from engine.device.host.translate.body import Body
from engine.device.host.translate.table import opcode
from engine.device.host.translate.types import bits, llvm_type, type_of
from engine.ptx.tree import Address, Instruction, Operand, Symbol, Vector


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _ordering(instruction: Instruction) -> str:
    """Return the LLVM ordering of an access, "" for a plain one; none is possible for 128 bits."""
    modifiers = instruction.modifiers
    if bits(type_of(instruction)) > 64:
        return ""
    if "acquire" in modifiers or "release" in modifiers:
        return "acquire" if "acquire" in modifiers else "release"
    return "monotonic" if "relaxed" in modifiers or "volatile" in modifiers or "mmio" in modifiers else ""


def _suffix(body: Body, instruction: Instruction, space: str) -> str:
    """Return what the optimiser may know of a load: kernel arguments never change."""
    if space != "param":
        return body.accesses.suffix
    address = instruction.operands[1]
    is_argument = (
        isinstance(address, Address)
        and isinstance(address.base, Symbol)
        and address.base.name in body.layout.parameters
    )
    return ", !invariant.load !0" if is_argument else ""


def _group(body: Body, instruction: Instruction, size: int, count: int) -> int:
    """Return how many elements of a vector access to move at once, 8 bytes at most.

    When the optimiser runs many threads at once, few wide accesses with a stride are cheaper than many narrow ones.
    """
    wide = body.accesses.branch_free and space_of(instruction) != "param" and not _ordering(instruction)
    return min(count, 8 // size) if wide else 1


@opcode("ld", "ldu")
def _load(body: Body, instruction: Instruction) -> None:
    kind, code, space = type_of(instruction), body.code, space_of(instruction)
    llvm, size = llvm_type(kind), max(bits(kind) // 8, 1)
    elements, order = _elements(instruction.operands[0]), _ordering(instruction)
    # A scalar may be written in braces, and a vector access is aligned to its whole size only on the device.
    with body.accesses.at(instruction, instruction.operands[1], size * len(elements)) as pointer:
        values = []
        group = _group(body, instruction, size, len(elements))
        if group > 1:
            for first in range(0, len(elements), group):
                place = code.value(f"getelementptr i8, ptr {pointer}, i64 {first * size}")
                whole = f"i{8 * size * group}"
                packed = code.value(f"load {whole}, ptr {place}, align 1{body.accesses.suffix}")
                for index in range(group):
                    part = code.value(f"lshr {whole} {packed}, {8 * size * index}")
                    values.append(body.convert(part, whole, llvm))
        for index in range(len(values), len(elements)):
            place = code.value(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
            if order:
                atomic = code.value(f"load atomic i{8 * size}, ptr {place} {order}, align {size}")
                values.append(body.convert(atomic, f"i{8 * size}", llvm))
            else:
                alignment = size if space in ("local", "shared") else 1
                suffix = _suffix(body, instruction, space)
                values.append(code.value(f"load {llvm}, ptr {place}, align {alignment}{suffix}"))
        for element, value in zip(elements, values, strict=True):
            body.write(element, kind, value, instruction.line)


@opcode("st")
def _store(body: Body, instruction: Instruction) -> None:
    kind, code = type_of(instruction), body.code
    llvm, size = llvm_type(kind), max(bits(kind) // 8, 1)
    elements, order = _elements(instruction.operands[1]), _ordering(instruction)
    # Shared memory is read back by arithmetic, and stored to in the hottest loops: NaNs stay there as they are.
    read = body.read_loose if space_of(instruction) == "shared" and not body.layout.flushes else body.read
    values = [read(element, kind, instruction.line) for element in elements]
    with body.accesses.at(instruction, instruction.operands[0], size * len(elements)) as pointer:
        group = _group(body, instruction, size, len(elements))
        if group > 1:
            for first in range(0, len(elements), group):
                place = code.value(f"getelementptr i8, ptr {pointer}, i64 {first * size}")
                whole, packed = f"i{8 * size * group}", "0"
                for index, value in enumerate(values[first : first + group]):
                    part = code.value(f"shl {whole} {body.convert(value, llvm, whole)}, {8 * size * index}")
                    packed = code.value(f"or {whole} {packed}, {part}")
                code.do(f"store {whole} {packed}, ptr {place}, align 1{body.accesses.suffix}")
            return
        for index, value in enumerate(values):
            place = code.value(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
            if order:
                raw = body.convert(value, llvm, f"i{8 * size}")
                code.do(f"store atomic i{8 * size} {raw}, ptr {place} {order}, align {size}")
            else:
                code.do(f"store {llvm} {value}, ptr {place}, align 1{body.accesses.suffix}")


@opcode("prefetch", "prefetchu", "applypriority", "discard")
def _prefetch(body: Body, instruction: Instruction) -> None:
    """A hint about caches: the host has nothing to do."""


@opcode("createpolicy")
def _policy(body: Body, instruction: Instruction) -> None:
    """A policy is only ever handed on to hints."""
    body.write(instruction.operands[0], "b64", "0", instruction.line)
