"""atom and red: read-modify-writes of one value, or of each element of a vector.

Shared memory belongs to one thread block, whose threads take turns, so there a plain load and store will do.
"""

from warploom.engine.host_compiler.accesses import space_of
from warploom.engine.host_compiler.analysis.control_flow import elements_of
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.extremes import extreme
from warploom.engine.host_compiler.opcodes.half import HALVES, flush_half, join, shrink, split_elements, widen
from warploom.engine.host_compiler.opcodes.integers import intrinsic
from warploom.engine.host_compiler.opcodes.reductions import reduce_all
from warploom.engine.host_compiler.opcodes.rounding import flush
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.host_compiler.types import PACKED, bits, is_float, is_signed, llvm_type, type_of
from warploom.engine.ptx.tree import Instruction, Operand, Sink

_SIMPLE = {"exch": "xchg", "and": "and", "or": "or", "xor": "xor", "inc": "uinc_wrap", "dec": "udec_wrap"}
_OPERATIONS = (*_SIMPLE, "add", "min", "max", "cas")


@opcode("atom", "red")
def _atomic(body: Body, instruction: Instruction) -> None:
    modifiers, kind = instruction.modifiers, type_of(instruction)
    name = next((item for item in _OPERATIONS if item in modifiers), "")
    if not name or bits(kind) < 16 or (name in ("inc", "dec") and kind != "u32"):
        raise unsupported(instruction, "use a type and an operation that PTX defines for one thread block")
    operands: tuple[Operand, ...] = instruction.operands
    target = None
    if instruction.opcode == "atom":
        target, operands = operands[0], operands[1:]
    given = [elements_of(operand) for operand in operands[1 : 3 if name == "cas" else 2]]
    size, count = bits(kind) // 8, len(given[0])
    # Elements are accessed one by one: only each element is atomic, and here the vector need not be aligned to its
    # size.
    values = [[body.read(element, kind) for element in elements] for elements in given]
    with body.accesses.at(instruction, operands[0], size * count) as pointer:
        if body.accesses.branch_free:
            reduce_all(body, name, kind, pointer, values[0][0], is_private=space_of(instruction) == "shared")
            return
        old = []
        for index in range(count):
            place = body.code.value(f"getelementptr i8, ptr {pointer}, i64 {index * size}") if index else pointer
            old.append(_modify(body, instruction, name, kind, place, [item[index] for item in values]))
        if target is not None and not isinstance(target, Sink):
            for element, value in zip(elements_of(target), old, strict=True):
                body.write(element, kind, value)


def _modify(body: Body, instruction: Instruction, name: str, kind: str, pointer: str, values: list[str]) -> str:
    """Change one value in memory and return the old value."""
    code, llvm, size = body.code, llvm_type(kind), bits(kind) // 8
    is_private = space_of(instruction) == "shared"
    if is_private:
        old = code.value(f"load {llvm}, ptr {pointer}, align {size}")
        code.do(f"store {llvm} {_changed(body, instruction, name, kind, old, values)}, ptr {pointer}, align {size}")
        return old
    if name == "cas":
        pair = code.value(f"cmpxchg ptr {pointer}, {llvm} {values[0]}, {llvm} {values[1]} acq_rel acquire")
        return code.value(f"extractvalue {{{llvm}, i1}} {pair}, 0")
    if not is_float(kind) or name in ("exch", "and", "or", "xor"):
        operation = _SIMPLE.get(name) or (name if name == "add" or is_signed(kind) else f"u{name}")
        return code.value(f"atomicrmw {operation} ptr {pointer}, {llvm} {values[0]} acq_rel, align {size}")
    return _retried(body, instruction, name, kind, pointer, values)


def _retried(body: Body, instruction: Instruction, name: str, kind: str, pointer: str, values: list[str]) -> str:
    """Compute and compare-and-swap until no other thread has changed the value in between."""
    code, llvm, raw = body.code, llvm_type(kind), f"i{bits(kind)}"
    size = bits(kind) // 8
    slot = code.slot(raw, "seen")
    code.do(f"store {raw} {code.value(f'load atomic {raw}, ptr {pointer} monotonic, align {size}')}, ptr {slot}")
    again, done = code.name("again"), code.name("swapped")
    code.jump(again)
    code.label(again)
    seen = code.value(f"load {raw}, ptr {slot}")
    old = body.convert(seen, raw, llvm)
    new = body.convert(_changed(body, instruction, name, kind, old, values), llvm, raw)
    pair = code.value(f"cmpxchg ptr {pointer}, {raw} {seen}, {raw} {new} acq_rel acquire, align {size}")
    code.do(f"store {raw} {code.value(f'extractvalue {{{raw}, i1}} {pair}, 0')}, ptr {slot}")
    code.branch(code.value(f"extractvalue {{{raw}, i1}} {pair}, 1"), done, again)
    code.label(done)
    return body.convert(code.value(f"load {raw}, ptr {slot}"), raw, llvm)


def _changed(body: Body, instruction: Instruction, name: str, kind: str, old: str, values: list[str]) -> str:
    """Return the value that takes the place of `old`."""
    code, llvm, value = body.code, llvm_type(kind), values[0]
    if name == "exch":
        return value
    if name == "cas":
        same = code.value(f"icmp eq {llvm} {old}, {value}")
        return code.value(f"select i1 {same}, {llvm} {values[1]}, {llvm} {old}")
    if name in ("and", "or", "xor"):
        return code.value(f"{name} {llvm} {old}, {value}")
    if kind in PACKED:
        element = PACKED[kind]
        parts = zip(split_elements(body, old, kind), split_elements(body, value, kind), strict=True)
        return join(body, [_changed(body, instruction, name, element, a, [b]) for a, b in parts], kind)
    if is_float(kind):
        return _changed_float(body, instruction, name, kind, old, value)
    if name == "add":
        return code.value(f"add {llvm} {old}, {value}")
    if name in ("min", "max"):
        return intrinsic(body, name, kind, old, value)
    if name == "inc":
        wraps = code.value(f"icmp uge {llvm} {old}, {value}")
        return code.value(f"select i1 {wraps}, {llvm} 0, {llvm} {code.value(f'add {llvm} {old}, 1')}")
    zero = code.value(f"icmp eq {llvm} {old}, 0")
    above = code.value(f"icmp ugt {llvm} {old}, {value}")
    wraps = code.value(f"or i1 {zero}, {above}")
    return code.value(f"select i1 {wraps}, {llvm} {value}, {llvm} {code.value(f'sub {llvm} {old}, 1')}")


def _changed_float(body: Body, instruction: Instruction, name: str, kind: str, old: str, value: str) -> str:
    """Return a sum, minimum or maximum; sums of f32 outside shared memory flush subnormals, as on the device."""
    code = body.code
    if kind in HALVES:
        a, b = widen(body, old, kind), widen(body, value, kind)
        if name != "add":
            return shrink(body, extreme(body, name, "f32", a, b), kind)
        result = shrink(body, code.value(f"fadd float {a}, {b}"), kind)
        return result if "noftz" in instruction.modifiers or kind == "bf16" else flush_half(body, result)
    if name != "add":
        return extreme(body, name, kind, old, value)
    if kind == "f32" and space_of(instruction) != "shared":
        return flush(body, code.value(f"fadd float {flush(body, old)}, {flush(body, value)}"))
    return code.value(f"fadd {llvm_type(kind)} {old}, {value}")
