"""Ranges: which values a register takes over all threads of a thread block, computed before they run.

Registers that are written once, from thread numbers, thread block numbers, parameters and constants, have a range; in
a phase, so have the uniform registers with which it starts. When all addresses of an access lie inside its buffer, the
threads need not check theirs.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.device.host.translate import abi
from engine.device.host.translate.analysis.guards import Comparison
from engine.device.host.translate.analysis.phase_values import PhaseValues
from engine.device.host.translate.analysis.range_arithmetic import ANY, Range, RangeArithmetic
from engine.device.host.translate.analysis.rematerialise import computable
from engine.device.host.translate.memory_layout import MemoryLayout
from engine.device.host.translate.types import TYPES
from engine.ptx.tree import Address, Function, Instruction, Integer, Operand, Register, Symbol


class Ranges(RangeArithmetic):
    """Ranges of the registers of one kernel.

    They are computed from `%params`, `%nx` to `%nz`, `%ctaid.x` to `%ctaid.z`, and the threads that run: `%x0` up to
    `%x1` and so on.
    """

    def __init__(
        self, function: Function, layout: MemoryLayout, values: PhaseValues, *, row: bool = False, width: int = 0
    ) -> None:
        super().__init__(row=row, width=width)
        self._function, self._layout = function, layout
        self._values = values
        self._instructions: Mapping[str, Instruction] = computable(function) | values.derived
        self._found: dict[str, Range | None] = {}
        self._guarded: dict[tuple[Comparison, ...], Ranges] = {}

    @property
    def is_hopeful(self) -> bool:
        """Whether the conditions may be false for most thread blocks: quotients differ, guards are not understood."""
        return self.guesses or any(item.guesses for item in self._guarded.values())

    def guarded(self, guards: tuple[Comparison, ...]) -> Ranges:
        """Return the ranges of registers where the guards hold; they share lines and conditions with these."""
        if not guards or self._row:
            return self
        found = self._guarded.get(guards)
        if found is None:
            found = Ranges(self._function, self._layout, self._values)
            found.lines, found.conditions, found._values_of = self.lines, self.conditions, self._values_of
            self._guarded[guards] = found
            for register, comparison, other, is_unsigned in guards:
                kept = self._clip(found, register, comparison, other, is_unsigned)
                if kept is not None:
                    found._found[register.name] = kept
        return found

    def _clip(
        self, found: Ranges, register: Register, comparison: str, other: Operand, is_unsigned: bool
    ) -> Range | None:
        """Return a register's range cut off where a comparison does not hold."""
        conditions = len(self.conditions)
        have, bound = found.of(register), self.of(other)
        if have is None or bound is None or not bound.is_single or have.is_single:
            del self.conditions[conditions:]
            return None
        if is_unsigned:  # the order is that of signed numbers if none is negative
            self.at_least_zero(have)
            if bound.constant is None or bound.constant < 0:
                self.at_least_zero(bound)
        low, high = have.low, have.high
        if comparison in ("lt", "le", "eq"):
            last = bound.low if comparison != "lt" else self.value(f"sub i64 {bound.low}, 1")
            high = self.value(f"call i64 @llvm.smin.i64(i64 {high}, i64 {last})")
        if comparison in ("gt", "ge", "eq"):
            first = bound.low if comparison != "gt" else self.value(f"add i64 {bound.low}, 1")
            low = self.value(f"call i64 @llvm.smax.i64(i64 {low}, i64 {first})")
            return Range(low, high, 1, have.slope)
        if have.granule > 1:  # the highest value, too, is a multiple of the granule above the lowest
            above = self.value(f"and i64 {self.value(f'sub i64 {high}, {low}')}, {-have.granule}")
            high = self.value(f"add i64 {low}, {above}")
        return Range(low, high, have.granule, have.slope)

    def decided(self, comparison: Comparison) -> str | None:
        """Return the i1 result of a comparison, and require that all threads get the same; None when it is unknown."""
        register, order, other, _ = comparison
        left, right = self.of(register), self.of(other)
        if left is None or right is None or order not in ("lt", "le", "gt", "ge"):
            return None
        self.order(comparison)
        if order in ("gt", "ge"):
            left, right, order = right, left, {"gt": "lt", "ge": "le"}[order]
        above = self.value(f"sub i64 {right.low}, {left.high}")
        below = self.value(f"sub i64 {left.low}, {right.high}")
        if order == "lt":
            above = self.value(f"sub i64 {above}, 1")
        else:
            below = self.value(f"sub i64 {below}, 1")
        self.require(f"and i64 {above}, {below}")
        return self.value(f"icmp sge i64 {above}, 0")

    def order(self, comparison: Comparison) -> None:
        """Require that unsigned numbers compare as signed ones."""
        register, _, other, is_unsigned = comparison
        for item in (register, other) if is_unsigned else ():
            found = self.of(item)
            if found is not None:
                self.at_least_zero(found)

    def clipped(self, comparison: Comparison, first: str, end: str) -> tuple[str, str] | None:
        """Return the i64 bounds, within given ones, of the threads of a row that pass a comparison.

        None when these threads are not consecutive, or not known.
        """
        register, order, other, _ = comparison
        found, bound = self.of(register), self.of(other)
        if found is None or bound is None or found.slope != 1 or not (bound.is_single and bound.slope == 0):
            return None
        at = self.value(f"sub i64 {bound.low}, {found.low}")
        after = self.value(f"add i64 {at}, 1")
        if order in ("lt", "le", "eq"):
            end = self.value(f"call i64 @llvm.smin.i64(i64 {end}, i64 {at if order == 'lt' else after})")
        if order in ("gt", "ge", "eq"):
            first = self.value(f"call i64 @llvm.smax.i64(i64 {first}, i64 {after if order == 'gt' else at})")
        return first, end

    def of(self, operand: Operand) -> Range | None:
        """Return the range of an address or register; None when it is unknown."""
        conditions, known = len(self.conditions), set(self._found)
        result = self._of(operand)
        if result is None:  # its conditions must not apply to others
            del self.conditions[conditions:]
            for name in set(self._found) - known:
                del self._found[name]
        return result

    def _of(self, operand: Operand) -> Range | None:
        if isinstance(operand, Address):
            base = self._operand(operand.base, 64)
            return base and self.sum(base, self.constant(operand.offset))
        return self._operand(operand, 64)

    def _operand(self, operand: Operand, bits: int) -> Range | None:
        if isinstance(operand, Integer):
            value = operand.value & ((1 << bits) - 1)
            return self.constant(value - (1 << bits) if value >> (bits - 1) else value)
        if isinstance(operand, Symbol):
            offset = self._layout.shared.get(operand.name)
            return None if offset is None else self.constant(offset + operand.offset)
        if not isinstance(operand, Register):
            return None
        if operand.name.startswith("%") and "." in operand.name:
            return self._special(operand.name)
        if operand.name not in self._found:
            instruction = self._instructions.get(operand.name)
            self._found[operand.name] = None  # while it is being computed
            if operand.name in self._values.restored:
                self._found[operand.name] = self._restored(operand.name)
            elif instruction is not None:
                self._found[operand.name] = self._result(instruction)
        return self._found[operand.name]

    def _restored(self, name: str) -> Range | None:
        """Return the range of a register that is its base plus something uniform."""
        base, value = self._values.restored[name].base, self._values.restored[name].value
        only = Range(value, value, ANY)
        if not base:
            return only
        bits = TYPES[self._function.registers[name]]
        found = self._operand(Register(base), bits)
        if found is None:
            return None
        result = self.sum(found, only)
        if bits == 32:
            self.fits(result)
        return result

    def _special(self, name: str) -> Range | None:
        kind, axis = name[1:].split(".", 1)
        if axis not in ("x", "y", "z"):
            return None
        if kind == "tid":
            if self._row:
                only = "0" if axis == "x" else self.value(f"zext i32 %tid.{axis} to i64")
                return Range(only, only, ANY, int(axis == "x"))
            first, end = (self.value(f"zext i32 %{axis}{edge} to i64") for edge in "01")
            return Range(first, self.value(f"sub i64 {end}, 1"), 1, int(axis == "x"))
        if kind == "ntid":
            single = self.value(f"zext i32 %n{axis} to i64")
        elif kind == "ctaid":
            single = self.value(f"zext i32 %ctaid.{axis} to i64")
        elif kind == "nctaid":
            place = self.value(f"getelementptr i64, ptr %launch, i64 {abi.GRID['xyz'.index(axis)]}")
            single = self.value(f"load i64, ptr {place}")
        else:
            return None
        return Range(single, single, ANY)

    def _result(self, instruction: Instruction) -> Range | None:
        opcode, modifiers = instruction.opcode, instruction.modifiers
        kinds = [item for item in modifiers if item in TYPES]
        if not kinds or any(kind[0] not in "bus" for kind in kinds):
            return None
        wide = "wide" in modifiers
        # A wider register is extended, and a wider source cut off.
        if self._width(instruction.operands[0]) != TYPES[kinds[0]] << wide:
            return None
        if opcode == "ld":
            return self._parameter(instruction, kinds[-1])
        exact = self._uniform(instruction, kinds, wide=wide)
        if exact is not None:
            return exact
        bits, sources = TYPES[kinds[-1]], instruction.operands[1:]
        if bits not in (32, 64) or "sat" in modifiers or "hi" in modifiers:
            return None
        sizes = [64 if wide and index == 2 else bits for index in range(len(sources))]
        given = [self._operand(item, size) for item, size in zip(sources, sizes, strict=True)]
        if opcode == "cvt" and self._width(sources[0]) != bits:
            return None
        if any(item is None for item in given):
            return None
        values = [item for item in given if item is not None]
        if opcode == "cvta":
            is_global = "global" in modifiers and "to" in modifiers
            return values[0] if is_global else None
        unsigned = kinds[-1][0] == "u"
        if unsigned and (opcode in ("min", "max") or ((wide or opcode == "cvt") and bits == 32)):
            for item in values[:2]:
                self.at_least_zero(item)
        result = self.apply(opcode, values)
        if result is None or (opcode == "cvt" and (len(kinds) != 2 or TYPES[kinds[0]] < TYPES[kinds[1]])):
            return None
        if bits == 32 and not wide and opcode not in ("mov", "cvt") and result.constant is None:
            self.fits(result)
        return result

    def _uniform(self, instruction: Instruction, kinds: list[str], *, wide: bool) -> Range | None:
        """Return what an instruction gives for operands that are single values; None for those that `_apply` knows.

        32-bit registers are kept as signed numbers; unsigned instructions read them without their sign.
        """
        opcode, kind = instruction.opcode, kinds[-1]
        bits, is_unsigned = TYPES[kind], kind[0] == "u" or (opcode == "shr" and kind[0] == "b")
        wide = wide and is_unsigned and opcode in ("mul", "mad")
        high = opcode == "mul" and is_unsigned and bits == 32 and "hi" in instruction.modifiers
        if not (wide or high) and opcode not in ("and", "or", "xor", "not", "shr", "div", "rem", "cvt"):
            return None
        if bits not in (32, 64) or len(kinds) != 1 + (opcode == "cvt") or "sat" in instruction.modifiers:
            return None
        values: list[str] = []
        for index, operand in enumerate(instruction.operands[1:]):
            size = 64 if wide and index == 2 else 32 if opcode == "shr" and index == 1 else bits
            found = self.of(operand) if isinstance(operand, Register) else self._operand(operand, size)
            if found is None or not found.is_single or found.slope != 0:
                return None
            if isinstance(operand, Register) and self._width(operand) != size:
                return None
            is_read_unsigned = size == 32 and is_unsigned and not (opcode == "shr" and index == 1)
            values.append(self.value(f"and i64 {found.low}, {(1 << 32) - 1}") if is_read_unsigned else found.low)
        first, second = values[0], values[-1]
        match opcode:
            case "mul":
                result = self.value(f"mul i64 {first}, {second}")
                result = self.value(f"lshr i64 {result}, 32") if high else result
            case "mad":
                result = self.value(f"add i64 {self.value(f'mul i64 {first}, {values[1]}')}, {second}")
            case "not":
                result = self.value(f"xor i64 {first}, -1")
            case "cvt":
                result, bits = first, TYPES[kinds[0]]
            case "shr":
                if not second.isdigit() or int(second) >= bits:
                    return None
                result = self.value(f"{'lshr' if is_unsigned else 'ashr'} i64 {first}, {second}")
            case "div" | "rem":
                self.require(f"sub i64 {second}, 1")
                result = self.value(f"{'u' if is_unsigned else 's'}{opcode} i64 {first}, {second}")
            case _:
                result = self.value(f"{opcode} i64 {first}, {second}")
        if bits == 32 and not wide and (is_unsigned or opcode == "cvt"):
            result = self.value(f"sext i32 {self.value(f'trunc i64 {result} to i32')} to i64")
        return Range(result, result, ANY)

    def _width(self, operand: Operand) -> int:
        """Return the bits of a register; those of special registers are 32."""
        name = operand.name if isinstance(operand, Register) else ""
        return TYPES[self._function.registers.get(name, "b32")]

    def _parameter(self, instruction: Instruction, kind: str) -> Range | None:
        source, bits = instruction.operands[1], TYPES[kind]
        if bits not in (32, 64) or not isinstance(source, Address) or not isinstance(source.base, Symbol):
            return None
        offset = self._layout.parameters[source.base.name] + source.base.offset + source.offset
        place = self.value(f"getelementptr i8, ptr %params, i64 {offset}")
        single = self.value(f"load i{bits}, ptr {place}, align 1, !invariant.load !0")
        if bits == 32:
            single = self.value(f"sext i32 {single} to i64")
        return Range(single, single, ANY)
