"""Logic, shifts, bit counts, bit fields, masks and byte permutations."""

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.table import opcode
from warploom.engine.host_compiler.types import bits, is_signed, llvm_type, type_of
from warploom.engine.ptx.tree import Instruction, Integer, Operand, Pair


@opcode("and", "or", "xor")
def _logic(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    a, b = (body.read(operand, kind) for operand in instruction.operands[1:3])
    value = body.code.value(f"{instruction.opcode} {llvm_type(kind)} {a}, {b}")
    body.write(instruction.operands[0], kind, value)


@opcode("not")
def _not(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    a = body.read(instruction.operands[1], kind)
    body.write(instruction.operands[0], kind, body.code.value(f"xor {llvm_type(kind)} {a}, -1"))


@opcode("cnot")
def _cnot(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    a = body.read(instruction.operands[1], kind)
    zero = body.code.value(f"icmp eq {llvm_type(kind)} {a}, 0")
    body.write(instruction.operands[0], kind, body.code.value(f"zext i1 {zero} to {llvm_type(kind)}"))


@opcode("shl", "shr")
def _shift(body: Body, instruction: Instruction) -> None:
    """Shift; an amount past the width counts as the width."""
    kind, code = type_of(instruction), body.code
    llvm, size = llvm_type(kind), bits(kind)
    a = body.read(instruction.operands[1], kind)
    amount = body.read(instruction.operands[2], "u32")
    arithmetic = instruction.opcode == "shr" and is_signed(kind)
    limit = size - 1 if arithmetic else size
    clamped = code.value(f"call i32 @llvm.umin.i32(i32 {amount}, i32 {limit})")
    step = body.convert(clamped, "i32", llvm)
    if arithmetic:
        value = code.value(f"ashr {llvm} {a}, {step}")
    else:
        inside = code.value(f"icmp ult i32 {clamped}, {size}")
        step = code.value(f"select i1 {inside}, {llvm} {step}, {llvm} 0")
        shifted = code.value(f"{'shl' if instruction.opcode == 'shl' else 'lshr'} {llvm} {a}, {step}")
        value = code.value(f"select i1 {inside}, {llvm} {shifted}, {llvm} 0")
    body.write(instruction.operands[0], kind, value)


@opcode("shf")
def _funnel(body: Body, instruction: Instruction) -> None:
    """Shift two words as one; .clamp takes an amount past 31 as 32."""
    code, is_left = body.code, "l" in instruction.modifiers
    low, high, amount = (body.read(operand, "b32") for operand in instruction.operands[1:4])
    value = code.value(f"call i32 @llvm.fsh{'l' if is_left else 'r'}.i32(i32 {high}, i32 {low}, i32 {amount})")
    if "wrap" not in instruction.modifiers:
        past = code.value(f"icmp ugt i32 {amount}, 31")
        value = code.value(f"select i1 {past}, i32 {low if is_left else high}, i32 {value}")
    body.write(instruction.operands[0], "b32", value)


@opcode("lop3")
def _lookup3(body: Body, instruction: Instruction) -> None:
    """Look every bit up in a table of eight; with .and or .or also combine "any bit set" with a predicate."""
    code, target = body.code, instruction.operands[0]
    if not isinstance(instruction.operands[4], Integer):
        raise unsupported(instruction, "give the table as a constant")
    a, b, c = (body.read(operand, "b32") for operand in instruction.operands[1:4])
    table, terms = instruction.operands[4].value & 255, []
    inverse = {value: code.value(f"xor i32 {value}, -1") for value in (a, b, c)}
    for index in range(8):
        if table >> index & 1:
            parts = [value if index & bit else inverse[value] for value, bit in ((a, 4), (b, 2), (c, 1))]
            terms.append(code.value(f"and i32 {code.value(f'and i32 {parts[0]}, {parts[1]}')}, {parts[2]}"))
    result = "0"
    for term in terms:
        result = code.value(f"or i32 {result}, {term}")
    body.write(target, "b32", result)
    if isinstance(target, Pair):
        name = "or" if "or" in instruction.modifiers else "and"
        some = code.value(f"icmp ne i32 {result}, 0")
        other = body.read(instruction.operands[5], "pred")
        body.write(target.second, "pred", code.value(f"{name} i1 {some}, {other}"))


_INTRINSICS = {"popc": ("ctpop", ""), "clz": ("ctlz", ", i1 false"), "brev": ("bitreverse", "")}


@opcode(*_INTRINSICS)
def _bits(body: Body, instruction: Instruction) -> None:
    kind = type_of(instruction)
    llvm, (name, more) = llvm_type(kind), _INTRINSICS[instruction.opcode]
    a = body.read(instruction.operands[1], kind)
    value = body.code.value(f"call {llvm} @llvm.{name}.{llvm}({llvm} {a}{more})")
    wanted = kind if instruction.opcode == "brev" else "u32"
    body.write(instruction.operands[0], wanted, body.convert(value, llvm, llvm_type(wanted)))


@opcode("bfind")
def _find_leading(body: Body, instruction: Instruction) -> None:
    """Write the position of the highest bit that differs from the sign, or all ones when there is none."""
    kind, code = type_of(instruction), body.code
    llvm, size = llvm_type(kind), bits(kind)
    a = body.read(instruction.operands[1], kind)
    if is_signed(kind):
        a = code.value(f"xor {llvm} {a}, {code.value(f'ashr {llvm} {a}, {size - 1}')}")
    zeros = code.value(f"call {llvm} @llvm.ctlz.{llvm}({llvm} {a}, i1 false)")
    count = body.convert(zeros, llvm, "i32")
    if "shiftamt" not in instruction.modifiers:
        count = code.value(f"sub i32 {size - 1}, {count}")
    none = code.value(f"icmp eq {llvm} {a}, 0")
    body.write(instruction.operands[0], "u32", code.value(f"select i1 {none}, i32 -1, i32 {count}"))


# -- bit fields, masks, the n-th set bit and byte permutations ---------------------------------------------------------


@opcode("bmsk")
def _mask(body: Body, instruction: Instruction) -> None:
    code = body.code
    position, count = (body.read(operand, "b32") for operand in instruction.operands[1:3])
    if "wrap" in instruction.modifiers:
        position, count = (code.value(f"and i32 {value}, 31") for value in (position, count))
    else:
        position, count = (code.value(f"call i32 @llvm.umin.i32(i32 {value}, i32 32)") for value in (position, count))
    wide_position, wide_count = (code.value(f"zext i32 {value} to i64") for value in (position, count))
    ones = code.value(f"sub i64 {code.value(f'shl i64 1, {wide_count}')}, 1")
    mask = code.value(f"trunc i64 {code.value(f'shl i64 {ones}, {wide_position}')} to i32")
    body.write(instruction.operands[0], "b32", mask)


def _field_number(body: Body, operand: Operand, size: int) -> str:
    """Return a field's position or length, limited to `size`.

    An H200 takes 8 bits of it for 32-bit fields, all of it for 64-bit ones.
    """
    number = body.read(operand, "u32")
    if size == 32:
        number = body.code.value(f"and i32 {number}, 255")
    return body.code.value(f"call i32 @llvm.umin.i32(i32 {number}, i32 {size})")


@opcode("bfe")
def _extract(body: Body, instruction: Instruction) -> None:
    """Extract a bit field; bits past the top repeat the sign of a signed field."""
    kind, code = type_of(instruction), body.code
    llvm, size = llvm_type(kind), bits(kind)
    wide = f"i{2 * size}"
    a = body.read(instruction.operands[1], kind)
    start, length = (_field_number(body, operand, size) for operand in instruction.operands[2:4])
    signed = is_signed(kind)
    extended = code.value(f"{'sext' if signed else 'zext'} {llvm} {a} to {wide}")
    moved = code.value(f"{'ashr' if signed else 'lshr'} {wide} {extended}, {body.convert(start, 'i32', wide)}")
    rest = code.value(f"sub i32 {2 * size}, {length}")
    capped = code.value(f"call i32 @llvm.umin.i32(i32 {rest}, i32 {2 * size - 1})")
    step = body.convert(capped, "i32", wide)
    field = code.value(f"shl {wide} {moved}, {step}")
    field = code.value(f"{'ashr' if signed else 'lshr'} {wide} {field}, {step}")
    value = code.value(f"trunc {wide} {field} to {llvm}")
    empty = code.value(f"icmp eq i32 {length}, 0")
    body.write(instruction.operands[0], kind, code.value(f"select i1 {empty}, {llvm} 0, {llvm} {value}"))


@opcode("bfi")
def _insert(body: Body, instruction: Instruction) -> None:
    kind, code = type_of(instruction), body.code
    llvm, size = llvm_type(kind), bits(kind)
    wide = f"i{2 * size}"
    field, base = (body.read(operand, kind) for operand in instruction.operands[1:3])
    numbers = (_field_number(body, operand, size) for operand in instruction.operands[3:5])
    start, length = (body.convert(number, "i32", wide) for number in numbers)
    ones = code.value(f"sub {wide} {code.value(f'shl {wide} 1, {length}')}, 1")
    mask = code.value(f"trunc {wide} {code.value(f'shl {wide} {ones}, {start}')} to {llvm}")
    moved = code.value(f"shl {wide} {code.value(f'zext {llvm} {field} to {wide}')}, {start}")
    moved = code.value(f"and {llvm} {code.value(f'trunc {wide} {moved} to {llvm}')}, {mask}")
    kept = code.value(f"and {llvm} {base}, {code.value(f'xor {llvm} {mask}, -1')}")
    body.write(instruction.operands[0], kind, code.value(f"or {llvm} {kept}, {moved}"))


@opcode("szext")
def _extend(body: Body, instruction: Instruction) -> None:
    """Extend the lower bits of a word; no bits give 0, and with .clamp 32 bits or more the word itself."""
    kind, code = type_of(instruction), body.code
    value, count = (body.read(operand, "b32") for operand in instruction.operands[1:3])
    size = code.value(f"and i32 {count}, 31")
    step = code.value(f"and i32 {code.value(f'sub i32 32, {size}')}, 31")
    moved = code.value(f"shl i32 {value}, {step}")
    result = code.value(f"{'ashr' if is_signed(kind) else 'lshr'} i32 {moved}, {step}")
    none = code.value(f"icmp eq i32 {size}, 0")
    result = code.value(f"select i1 {none}, i32 0, i32 {result}")
    if "clamp" in instruction.modifiers:
        whole = code.value(f"icmp ugt i32 {count}, 31")
        result = code.value(f"select i1 {whole}, i32 {value}, i32 {result}")
    body.write(instruction.operands[0], kind, result)


@opcode("fns")
def _find_nth_set(body: Body, instruction: Instruction) -> None:
    """Write the position of the n-th set bit from a position on, downwards for a negative n; all ones when there is
    none.

    A downward search is an upward search in the reversed word. Of the bits at and above the position, the lowest n - 1
    are dropped.
    """
    code = body.code
    word, base, offset = (body.read(operand, "b32") for operand in instruction.operands[1:4])
    base = code.value(f"and i32 {base}, 31")
    down = code.value(f"icmp slt i32 {offset}, 0")
    reversed_word = code.value(f"call i32 @llvm.bitreverse.i32(i32 {word})")
    word = code.value(f"select i1 {down}, i32 {reversed_word}, i32 {word}")
    base = code.value(f"xor i32 {base}, {code.value(f'select i1 {down}, i32 31, i32 0')}")
    rest = code.value(f"and i32 {word}, {code.value(f'shl i32 -1, {base}')}")
    here = code.value(f"and i32 {word}, {code.value(f'shl i32 1, {base}')}")
    exact = code.value(f"icmp eq i32 {offset}, 0")
    rest = code.value(f"select i1 {exact}, i32 {here}, i32 {rest}")
    count = code.value(f"call i32 @llvm.abs.i32(i32 {offset}, i1 false)")
    for drop in range(1, 32):
        more = code.value(f"icmp ugt i32 {count}, {drop}")
        without = code.value(f"and i32 {rest}, {code.value(f'sub i32 {rest}, 1')}")
        rest = code.value(f"select i1 {more}, i32 {without}, i32 {rest}")
    beyond = code.value(f"icmp ugt i32 {count}, 32")
    none = code.value(f"or i1 {beyond}, {code.value(f'icmp eq i32 {rest}, 0')}")
    position = code.value(f"call i32 @llvm.cttz.i32(i32 {rest}, i1 false)")
    position = code.value(f"xor i32 {position}, {code.value(f'select i1 {down}, i32 31, i32 0')}")
    body.write(instruction.operands[0], "b32", code.value(f"select i1 {none}, i32 -1, i32 {position}"))


# prmt's modes: for each value of the selector's lower two bits, the source bytes, the lowest first.
_MODES = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


@opcode("prmt")
def _permute(body: Body, instruction: Instruction) -> None:
    """Pick four bytes of eight; without a mode, a selector's top bit requests the byte's sign in all bits."""
    code = body.code
    a, b, selector = (body.read(operand, "b32") for operand in instruction.operands[1:4])
    mode = next((item for item in instruction.modifiers if item in _MODES), "")
    if mode:
        selector = _mode_selector(body, mode, selector)
    pair = code.value(f"shl i64 {code.value(f'zext i32 {b} to i64')}, 32")
    pair = code.value(f"or i64 {pair}, {code.value(f'zext i32 {a} to i64')}")
    result = "0"
    for index in range(4):
        nibble = code.value(f"lshr i32 {selector}, {4 * index}")
        step = code.value(f"shl i32 {code.value(f'and i32 {nibble}, 7')}, 3")
        byte = code.value(f"trunc i64 {code.value(f'lshr i64 {pair}, ' + code.value(f'zext i32 {step} to i64'))} to i8")
        replicate = code.value(f"icmp ne i32 {code.value(f'and i32 {nibble}, 8')}, 0")
        sign = code.value(f"ashr i8 {byte}, 7")
        byte = code.value(f"select i1 {replicate}, i8 {sign}, i8 {byte}")
        placed = code.value(f"shl i32 {code.value(f'zext i8 {byte} to i32')}, {8 * index}")
        result = code.value(f"or i32 {result}, {placed}")
    body.write(instruction.operands[0], "b32", result)


def _mode_selector(body: Body, mode: str, selector: str) -> str:
    """Return the selectors of four bytes that a mode stands for."""
    code = body.code
    packed = [sum(byte << 4 * index for index, byte in enumerate(row)) for row in _MODES[mode]]
    table = packed[0] | packed[1] << 16 | packed[2] << 32 | packed[3] << 48
    step = code.value(f"shl i32 {code.value(f'and i32 {selector}, 3')}, 4")
    chosen = code.value(f"lshr i64 {table}, {code.value(f'zext i32 {step} to i64')}")
    return code.value(f"and i32 {code.value(f'trunc i64 {chosen} to i32')}, 65535")
