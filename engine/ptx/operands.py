"""Parsing of instruction operands."""

import re
from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from warploom.engine.ptx import tree as ptx
from warploom.engine.ptx.constants import constant_integer, immediate, offset
from warploom.engine.ptx.lexer import Cursor

#: Bytes or half words of a register, as video instructions select them.
_SELECTOR = re.compile(r"b[0-7]{1,4}|h[0-3]{1,2}")

#: Resolves a name in the current scope to the register, registers or symbol it stands for.
Resolve = Callable[[str], ptx.Register | ptx.Symbol | ptx.Vector]


class ArrayElement(msgspec.Struct, frozen=True):
    """The operand `array[register + number]`; the element type is that of the array's declaration."""

    array: ptx.Symbol
    register: ptx.Register | None
    number: int


class Sum(msgspec.Struct, frozen=True):
    """The operand `register + number`."""

    register: ptx.Register
    number: int


def instruction_operands(
    cursor: Cursor, resolve: Resolve, *, groups: bool
) -> tuple[ptx.Operand | ArrayElement | Sum, ...]:
    """Return an instruction's operands, and step over its semicolon. In a call, parentheses hold lists."""
    operands: list[ptx.Operand | ArrayElement | Sum] = []
    while not cursor.accept(";"):
        if operands:
            cursor.expect(",")
        if cursor.following.text == "[" and cursor.token.kind == "word":
            operands.append(_element(cursor, resolve))
        else:
            found = operand(cursor, resolve, groups=groups)
            is_sum = bool(operands) and isinstance(found, ptx.Register) and cursor.at("+")
            operands.append(Sum(found, offset(cursor)) if is_sum and isinstance(found, ptx.Register) else found)
    return tuple(operands)


def operand_list(cursor: Cursor, resolve: Resolve, end: str) -> tuple[ptx.Operand, ...]:
    """Return the operands up to `end`, and step over `end`."""
    operands: list[ptx.Operand] = []
    with cursor.nested():
        while not cursor.accept(end):
            if operands:
                cursor.expect(",")
            operands.append(operand(cursor, resolve))
    return tuple(operands)


def operand(cursor: Cursor, resolve: Resolve, *, groups: bool = False) -> ptx.Operand:
    """Return one operand; with `groups`, parentheses hold lists as in a call."""
    if groups and cursor.accept("("):
        return ptx.OperandList(operand_list(cursor, resolve, ")"))
    first = _single(cursor, resolve)
    if cursor.accept("|"):
        return ptx.Pair(first, _single(cursor, resolve))
    return first


def _single(cursor: Cursor, resolve: Resolve) -> ptx.Operand:
    if cursor.accept("{"):
        return ptx.Vector(operand_list(cursor, resolve, "}"))
    if cursor.accept("["):
        return _address(cursor, resolve)
    if cursor.at("!") and cursor.following.kind == "word" and cursor.following.text != "WARP_SZ":
        cursor.take()
        register = resolve(cursor.word("a predicate"))
        if not isinstance(register, ptx.Register):
            raise cursor.error("a predicate register after '!'")
        return ptx.Negated(register)
    if cursor.token.kind == "word" and cursor.token.text != "WARP_SZ":
        name = cursor.take().text
        if name == "_":
            return ptx.Sink()
        base, _, selector = name.rpartition(".")
        if base and _SELECTOR.fullmatch(selector):
            selected = resolve(base)
            if isinstance(selected, ptx.Register):
                return ptx.RegisterPart(selected, selector)
        target = resolve(name)
        return ptx.Symbol(target.name, target.offset + offset(cursor)) if isinstance(target, ptx.Symbol) else target
    if cursor.at("-") and cursor.following.kind == "word" and cursor.following.text != "WARP_SZ":
        cursor.take()
        negated = _single(cursor, resolve)
        if isinstance(negated, ptx.Register):
            return ptx.RegisterPart(negated, "", negative=True)
        if isinstance(negated, ptx.RegisterPart):
            return ptx.RegisterPart(negated.register, negated.selector, negative=not negated.negative)
        raise cursor.error("a register after '-'")
    return immediate(cursor)


def _element(cursor: Cursor, resolve: Resolve) -> ArrayElement:
    """Return `array[number]`, `array[register]` or `array[register+number]`."""
    array = resolve(cursor.take().text)
    if not isinstance(array, ptx.Symbol):
        raise cursor.error("an operand without an index")
    cursor.expect("[")
    register, number = None, 0
    if cursor.token.kind == "word" and cursor.token.text != "WARP_SZ":
        found = resolve(cursor.take().text)
        if not isinstance(found, ptx.Register):
            raise cursor.error("a register or a number as an index")
        register, number = found, offset(cursor)
    else:
        number = constant_integer(cursor)
    cursor.expect("]")
    return ArrayElement(array, register, number)


def _address(cursor: Cursor, resolve: Resolve) -> ptx.Address:
    base: ptx.Register | ptx.Symbol | ptx.Integer
    if cursor.token.kind == "word" and cursor.token.text != "WARP_SZ":
        found = resolve(cursor.take().text)
        if isinstance(found, ptx.Vector):
            raise cursor.error("one component of the vector register as an address")
        base = found
    else:
        value = immediate(cursor)
        if isinstance(value, ptx.Float):
            raise cursor.error("an address")
        base = value
    added = offset(cursor)
    if cursor.accept(","):
        return ptx.Address(base, added, operand_list(cursor, resolve, "]"))
    cursor.expect("]")
    return ptx.Address(base, added)


def with_elements(
    instruction: ptx.Instruction,
    operands: tuple[ptx.Operand | ArrayElement | Sum, ...],
    variables: Mapping[str, ptx.Variable],
    registers: dict[str, str],
) -> list[ptx.Instruction]:
    """Return an instruction, preceded by instructions that compute its sums and element addresses.

    `variables` are those in scope; new registers are added to `registers`. `mov` takes an element's address; any other
    instruction accesses the element.
    """
    done: list[ptx.Instruction] = []
    plain: list[ptx.Operand] = []
    for operand in operands:
        if isinstance(operand, Sum):
            bits = 8 * ptx.type_size(registers.get(operand.register.name, "b32"))
            plain.append(ptx.Register(f"%sum${len(registers)}"))
            registers[f"%sum${len(registers)}"] = f"b{bits}"
            sources = (plain[-1], operand.register, ptx.Integer(operand.number))
            done.append(ptx.Instruction("add", (f"s{bits}",), sources, None, instruction.line, instruction.source))
            continue
        if not isinstance(operand, ArrayElement):
            plain.append(operand)
            continue
        declared = variables.get(operand.array.name)
        size = ptx.type_size(declared.ptx_type) if declared else 1
        first = ptx.Symbol(operand.array.name, operand.number * size)
        base: ptx.Register | ptx.Symbol = first
        if operand.register is not None:
            base = _computed(instruction, operand.register, size, first, registers, done)
        plain.append(base if instruction.opcode == "mov" else _element_address(base))
    return [*done, replace(instruction, operands=tuple(plain))]


def _element_address(base: ptx.Register | ptx.Symbol) -> ptx.Address:
    return ptx.Address(ptx.Symbol(base.name), base.offset) if isinstance(base, ptx.Symbol) else ptx.Address(base)


def _computed(
    instruction: ptx.Instruction,
    index: ptx.Register,
    size: int,
    first: ptx.Symbol,
    registers: dict[str, str],
    done: list[ptx.Instruction],
) -> ptx.Register:
    """Append instructions that compute the address of the element `index` places after `first`; return its register."""

    def write(opcode: str, modifiers: tuple[str, ...], *sources: ptx.Operand) -> ptx.Register:
        target = ptx.Register(f"%element${len(registers)}")
        registers[target.name] = "b64"
        done.append(ptx.Instruction(opcode, modifiers, (target, *sources), None, instruction.line, instruction.source))
        return target

    start = write("mov", ("b64",), first)
    kind = registers.get(index.name, "b32")
    wide = index if ptx.type_size(kind) == 8 else write("cvt", ("s64", f"s{8 * ptx.type_size(kind)}"), index)
    return write("mad", ("lo", "s64"), wide, ptx.Integer(size), start)
