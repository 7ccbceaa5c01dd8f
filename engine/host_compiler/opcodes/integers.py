"""Integer arithmetic. Everything wraps and nothing traps: x/0 is all ones and x%0 is x, as on the hardware."""

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.elementwise import sources
from warploom.engine.host_compiler.opcodes.half import join
from warploom.engine.host_compiler.opcodes.table import Emit, opcode
from warploom.engine.host_compiler.types import PACKED, bits, is_signed, llvm_type, type_of, types_of
from warploom.engine.ptx.tree import Instruction


def _two(body: Body, instruction: Instruction) -> tuple[str, str, str, str]:
    kind = type_of(instruction)
    a, b = (body.read(operand, kind) for operand in instruction.operands[1:3])
    return kind, llvm_type(kind), a, b


def _elementwise(body: Body, instruction: Instruction) -> None:
    """Write a result whose elements are computed one by one."""
    if "cc" in instruction.modifiers:
        with_carry(body, instruction)
        return
    kind = type_of(instruction)
    rows = sources(body, instruction, kind, instruction.operands[1:])
    results = [_element(body, instruction, PACKED.get(kind, kind), values) for values in rows]
    body.write(instruction.operands[0], kind, join(body, results, kind))


def _element(body: Body, instruction: Instruction, kind: str, values: list[str]) -> str:
    """Return one element of add, sub, neg, abs, min or max."""
    code, name, llvm = body.code, instruction.opcode, llvm_type(kind)
    if name == "neg":
        return code.value(f"sub {llvm} 0, {values[0]}")
    if name == "abs":
        return code.value(f"call {llvm} @llvm.abs.{llvm}({llvm} {values[0]}, i1 false)")
    if name in ("add", "sub"):
        a, b = values
        saturates = "sat" in instruction.modifiers
        return intrinsic(body, f"{name}.sat", kind, a, b) if saturates else code.value(f"{name} {llvm} {a}, {b}")
    value = values[0]
    for other in values[1:]:
        value = intrinsic(body, name, kind, value, other)
    return intrinsic(body, "max", kind, value, "0") if "relu" in instruction.modifiers else value


def intrinsic(body: Body, name: str, kind: str, a: str, b: str) -> str:
    """Return min, max, add.sat or sub.sat of two integers, as LLVM names them without their sign."""
    llvm, sign = llvm_type(kind), "s" if is_signed(kind) else "u"
    return body.code.value(f"call {llvm} @llvm.{sign}{name}.{llvm}({llvm} {a}, {llvm} {b})")


def product(body: Body, instruction: Instruction) -> tuple[str, str]:
    """Return the product for .lo, .hi or .wide, and its PTX type."""
    kind, llvm, a, b = _two(body, instruction)
    code, size = body.code, bits(kind)
    if "lo" in instruction.modifiers or not {"hi", "wide"} & set(instruction.modifiers):
        return code.value(f"mul {llvm} {a}, {b}"), kind
    double, extend = f"i{2 * size}", "sext" if is_signed(kind) else "zext"
    a, b = (code.value(f"{extend} {llvm} {value} to {double}") for value in (a, b))
    flags = "nsw" if is_signed(kind) else "nuw"
    wide = code.value(f"mul {flags} {double} {a}, {b}")
    if "wide" in instruction.modifiers:
        return wide, f"{kind[0]}{2 * size}"
    high = code.value(f"lshr {double} {wide}, {size}")
    return code.value(f"trunc {double} {high} to {llvm}"), kind


def _multiply(body: Body, instruction: Instruction) -> None:
    value, kind = product(body, instruction)
    body.write(instruction.operands[0], kind, value)


def _multiply_add(body: Body, instruction: Instruction) -> None:
    if "cc" in instruction.modifiers:
        with_carry(body, instruction)
        return
    value, kind = product(body, instruction)
    llvm = llvm_type(kind)
    addend = body.read(instruction.operands[3], kind)
    if "sat" in instruction.modifiers:
        value = intrinsic(body, "add.sat", kind, value, addend)
    else:
        value = body.code.value(f"add {llvm} {value}, {addend}")
    body.write(instruction.operands[0], kind, value)


@opcode("rem")
def _divide(body: Body, instruction: Instruction) -> None:
    """Write a quotient or remainder; the two cases that trap on a CPU have a GPU's results."""
    code, is_remainder = body.code, instruction.opcode == "rem"
    kind, llvm, a, b = _two(body, instruction)
    zero = code.value(f"icmp eq {llvm} {b}, 0")
    unsafe = zero
    if is_signed(kind):
        least = code.value(f"icmp eq {llvm} {a}, {-(1 << (bits(kind) - 1))}")
        minus_one = code.value(f"icmp eq {llvm} {b}, -1")
        unsafe = code.value(f"or i1 {zero}, {code.value(f'and i1 {least}, {minus_one}')}")
    divisor = code.value(f"select i1 {unsafe}, {llvm} 1, {llvm} {b}")
    name = "s" if is_signed(kind) else "u"
    if body.accesses.branch_free and bits(kind) <= 32 and not b.lstrip("-").isdigit():
        value = _vector_quotient(body, name, llvm, a, divisor)
        if is_remainder:
            value = code.value(f"sub {llvm} {a}, {code.value(f'mul {llvm} {value}, {divisor}')}")
    else:
        value = code.value(f"{name}{instruction.opcode} {llvm} {a}, {divisor}")
    value = code.value(f"select i1 {zero}, {llvm} {a if is_remainder else -1}, {llvm} {value}")
    body.write(instruction.operands[0], kind, value)


def _vector_quotient(body: Body, sign: str, llvm: str, a: str, b: str) -> str:
    """Return the quotient of two integers of up to 32 bits by f64, since processors divide no vectors of integers.

    (|a| + 1/2) / |b| is at least 1 / 2 |b| from every integer, and two roundings change it by less than 2^-19 / |b|.
    The reciprocal of a divisor that all threads have in common is computed once.
    """
    code = body.code
    number, divisor = (code.value(f"{sign}itofp {llvm} {value} to double") for value in (a, b))
    half = code.value(f"call double @llvm.copysign.f64(double 0.5, double {number})") if sign == "s" else "0.5"
    scale = code.value(f"fdiv double 1.0, {divisor}")
    quotient = code.value(f"fmul double {code.value(f'fadd double {number}, {half}')}, {scale}")
    return code.value(f"fpto{sign}i double {quotient} to {llvm}")


@opcode("sad")
def _sum_of_difference(body: Body, instruction: Instruction) -> None:
    kind, llvm, a, b = _two(body, instruction)
    code = body.code
    high, low = (intrinsic(body, name, kind, a, b) for name in ("max", "min"))
    addend = body.read(instruction.operands[3], kind)
    value = code.value(f"add {llvm} {code.value(f'sub {llvm} {high}, {low}')}, {addend}")
    body.write(instruction.operands[0], kind, value)


FORMS: dict[str, Emit] = {
    "add": _elementwise,
    "sub": _elementwise,
    "mul": _multiply,
    "div": _divide,
    "mad": _multiply_add,
    "neg": _elementwise,
    "abs": _elementwise,
    "min": _elementwise,
    "max": _elementwise,
}


# -- extended precision: add.cc, addc, sub.cc, subc, mad.cc and madc, with the carry in a slot -------------------------
# A subtraction that borrows clears the flag, as a - b is a + ~b + 1 in the hardware. The PTX manual leaves the mix of
# both families open; NVRTC's 128-bit division reads the borrow of `subc.cc` with `addc`.


@opcode("addc", "subc", "madc")
def with_carry(body: Body, instruction: Instruction) -> None:
    """Add or subtract with the carry read (`addc`) and written (`.cc`)."""
    code, kind, operands = body.code, type_of(instruction), instruction.operands
    carry_slot = body.carry
    if instruction.opcode.startswith("mad"):
        a, kind = product(body, instruction)
        b = body.read(operands[3], kind)
    else:
        a, b = (body.read(operand, kind) for operand in operands[1:3])
    llvm, size = llvm_type(kind), bits(kind)
    wide = f"i{size + 2}"
    a, b = (code.value(f"zext {llvm} {value} to {wide}") for value in (a, b))
    subtracts = instruction.opcode.startswith("sub")
    if subtracts:
        b = code.value(f"xor {wide} {b}, {(1 << size) - 1}")
    total = code.value(f"add {wide} {a}, {b}")
    if instruction.opcode.endswith("c"):
        carry = code.value(f"load i1, ptr {carry_slot}")
        total = code.value(f"add {wide} {total}, {code.value(f'zext i1 {carry} to {wide}')}")
    elif subtracts:
        total = code.value(f"add {wide} {total}, 1")
    if "cc" in instruction.modifiers:
        above = code.value(f"lshr {wide} {total}, {size}")
        code.do(f"store i1 {code.value(f'trunc {wide} {above} to i1')}, ptr {carry_slot}")
    body.write(operands[0], kind, code.value(f"trunc {wide} {total} to {llvm}"))


# -- mul24, mad24 and the dot products of bytes and half words, dp4a and dp2a ------------------------------------------


def field(body: Body, value: str, first: int, size: int, signed: bool, wide: str = "i32") -> str:
    """Return bits `first` to `first + size` of an i32, extended to `wide`."""
    code = body.code
    raw = code.value(f"lshr i32 {value}, {first}") if first else value
    if size < 32:
        raw = code.value(f"trunc i32 {raw} to i{size}")
    if wide == f"i{size}":
        return raw
    return code.value(f"{'sext' if signed else 'zext'} i{size} {raw} to {wide}")


@opcode("mul24", "mad24")
def _short_product(body: Body, instruction: Instruction) -> None:
    """Multiply the lower 24 bits: .lo takes the lower 32 bits of the product and .hi the upper 32 of its 48."""
    code, kind = body.code, type_of(instruction)
    values = []
    for operand in instruction.operands[1:3]:
        short = code.value(f"trunc i32 {body.read(operand, kind)} to i24")
        values.append(code.value(f"{'sext' if is_signed(kind) else 'zext'} i24 {short} to i64"))
    value = code.value(f"mul i64 {values[0]}, {values[1]}")
    if "hi" in instruction.modifiers:
        value = code.value(f"lshr i64 {value}, 16")
    value = code.value(f"trunc i64 {value} to i32")
    if instruction.opcode == "mad24":
        addend = body.read(instruction.operands[3], kind)
        if "sat" in instruction.modifiers:
            value = intrinsic(body, "add.sat", kind, value, addend)
        else:
            value = code.value(f"add i32 {value}, {addend}")
    body.write(instruction.operands[0], kind, value)


@opcode("dp4a", "dp2a")
def _dot_product(body: Body, instruction: Instruction) -> None:
    """Add the products of four bytes, or of two half words and the lower or upper two bytes, to a sum that wraps."""
    code = body.code
    kinds = types_of(instruction)
    if len(kinds) != 2:
        raise unsupported(instruction, "name the types of both sources")
    a, b, total = (body.read(operand, "b32") for operand in instruction.operands[1:4])
    wide = instruction.opcode == "dp2a"
    start = 16 if wide and "hi" in instruction.modifiers else 0
    size = 16 if wide else 8
    for index in range(2 if wide else 4):
        left = field(body, a, size * index, size, is_signed(kinds[0]))
        right = field(body, b, start + 8 * index, 8, is_signed(kinds[1]))
        total = code.value(f"add i32 {total}, {code.value(f'mul i32 {left}, {right}')}")
    body.write(instruction.operands[0], "b32", total)
