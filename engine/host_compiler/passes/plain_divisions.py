"""Plain divisions: quotients and remainders of thread numbers by powers of two become shifts and masks.

CUDA compilers divide signed numbers with a correction for negative ones: `t / 32` is `shr.s32 a, t, 31;
shr.u32 b, a, 27; add.s32 c, t, b; shr.s32 q, c, 5`, and `t % 32` subtracts `c & -32` from `t`. Thread numbers are not
negative, so lanes and warps follow from their bits, which the analysis of ranges understands.
"""

from msgspec.structs import replace

from warploom.engine.host_compiler.analysis.control_flow import writes
from warploom.engine.host_compiler.analysis.rematerialise import computable
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import Function, Instruction, Integer, Operand, Register, Statement

#: The greatest values of special registers, by CUDA's limits of thread blocks.
_MOST = {"%tid.x": 1023, "%tid.y": 1023, "%tid.z": 63, "%ntid.x": 1024, "%ntid.y": 1024, "%ntid.z": 64, "%laneid": 31}
_END = 1 << 31


def with_plain_divisions(function: Function) -> Function:
    """Return the function with divisions of thread numbers by powers of two rewritten."""
    assert function.body is not None
    written = writes(function)
    pass_ = _Rewriting(frozenset(computable(function)) | _MOST.keys())
    body: list[Statement] = []
    for item in function.body:
        target = item.operands[0] if isinstance(item, Instruction) and item.operands else None
        if (
            isinstance(item, Instruction)
            and isinstance(target, Register)
            and item.guard is None
            and len(written.get(target.name, ())) == 1
            and item.modifiers
            and item.modifiers[-1][0] in "bsu"
            and TYPES.get(item.modifiers[-1]) == 32
            and TYPES.get(function.registers.get(target.name, "")) == 32
        ):
            item = pass_.rewritten(item, target.name)
        body.append(item)
    return replace(function, body=tuple(body))


class _Rewriting:
    """Facts of the registers so far: numbers, copies, greatest values, and other registers without low bits.

    Only the registers `fixed` have one value all the time, so that others may be their copies.
    """

    def __init__(self, fixed: frozenset[str]) -> None:
        self._fixed = fixed
        self._numbers: dict[str, int] = {}
        self._copies: dict[str, str] = {}
        self._most: dict[str, int] = dict(_MOST)
        self._cut: dict[str, tuple[str, int]] = {}

    def rewritten(self, item: Instruction, target: str) -> Instruction:
        """Return the replacement of an instruction that alone writes `target`, and record the facts of its result."""
        if len(item.modifiers) > 1 + (item.opcode == "mul" and item.modifiers[0] == "lo"):
            return item
        values = [self._value(operand) for operand in item.operands[1:]]
        if item.opcode == "mov" and len(values) == 1:
            self._note(target, values[0])
            return item
        if len(values) != 2:
            return item
        result = self._computed(target, item.opcode, *values)
        if result is not None:
            self._note(target, result)
            source: Operand = Integer(result) if isinstance(result, int) else Register(result)
            return replace(item, opcode="mov", modifiers=item.modifiers[-1:], operands=(item.operands[0], source))
        if item.opcode == "sub" and isinstance(values[0], str) and isinstance(values[1], str):
            base, mask = self._cut.get(values[1], ("", 0))
            if base == values[0] and base in self._fixed:
                self._most[target] = mask
                operands = (item.operands[0], Register(base), Integer(mask))
                return replace(item, opcode="and", modifiers=("b32",), operands=operands)
        return item

    def _value(self, operand: Operand) -> int | str | None:
        """Return an operand as a signed number, or as the register that it is a copy of."""
        if isinstance(operand, Integer):
            return (operand.value + _END) % (2 * _END) - _END
        if not isinstance(operand, Register):
            return None
        return self._numbers.get(operand.name, self._copies.get(operand.name, operand.name))

    def _note(self, target: str, value: int | str | None) -> None:
        if isinstance(value, int):
            self._numbers[target] = value
        elif value in self._fixed:
            self._copies[target] = value

    def _greatest(self, value: int | str | None) -> int | None:
        """Return the greatest value of something that is not negative."""
        if isinstance(value, int):
            return value if value >= 0 else None
        return self._most.get(value) if value is not None else None

    def _computed(self, target: str, opcode: str, a: int | str | None, b: int | str | None) -> int | str | None:
        """Return the number or the register that an instruction gives; note the greatest value otherwise."""
        most, other = self._greatest(a), self._greatest(b)
        found: int | None = None
        if opcode == "add":
            if 0 in (a, b) and None not in (a, b):
                return b if a == 0 else a
            found = most + other if most is not None and other is not None else None
        elif opcode == "mul":
            found = most * other if most is not None and other is not None else None
        elif opcode == "shl" and isinstance(b, int) and 0 <= b < 32:
            found = most << b if most is not None else None
        elif opcode == "shr" and isinstance(b, int) and 0 <= b < 32 and most is not None:
            found = most >> b
            if not found:
                return 0
        elif opcode == "and" and isinstance(b, int):
            if b >= 0:
                found = b if most is None else min(b, most)
            elif most is not None:
                found = most
                if -b & (-b - 1) == 0 and isinstance(a, str):
                    self._cut[target] = (a, -b - 1)
        if found is not None and found < _END:
            self._most[target] = found
        return None
