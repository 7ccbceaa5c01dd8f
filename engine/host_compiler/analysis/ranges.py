"""Ranges: the values that a register takes over all threads of a thread block, computed before they run.

Registers that are written once, from thread numbers, thread block numbers, parameters and constants, have a range; in
a phase, so have the uniform registers with which it starts. When all addresses of an access lie inside its buffer, the
threads need not check theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec.structs import replace

from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.analysis.control_flow import unwritten, used
from warploom.engine.host_compiler.analysis.guards import MIRRORED, Comparison
from warploom.engine.host_compiler.analysis.phase_values import PhaseValues
from warploom.engine.host_compiler.analysis.range_arithmetic import ANY, Range, RangeArithmetic
from warploom.engine.host_compiler.analysis.rematerialise import computable, masked
from warploom.engine.host_compiler.analysis.uniformity import reads_constant
from warploom.engine.host_compiler.memory_layout import MemoryLayout
from warploom.engine.host_compiler.types import TYPES
from warploom.engine.ptx.tree import Address, Function, Instruction, Integer, Operand, Register, Symbol

#: An operand whose value is unknown.
_UNKNOWN = Register("")
Limits = Callable[[Operand, int], tuple[str, str, str] | None]
#: The comparisons of LLVM.
_TESTS = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"} | {
    "lo": "ult",
    "ls": "ule",
    "hi": "ugt",
    "hs": "uge",
}
_OPPOSITE = {"min": "max", "max": "min"}
#: Opcodes for which the bounds of a result give bounds of the first operand.
_INVERTIBLE = frozenset(("shr", "and", "add"))


class Ranges(RangeArithmetic):
    """Ranges of the registers of one kernel.

    They are computed from `%params`, `%nx` to `%nz`, `%ctaid.x` to `%ctaid.z`, and the threads that run: `%x0` up to
    `%x1` and so on. With `block_x`, the name of an i32, they are those of the thread block of that number along x.

    For a `row`, `whole` are the ranges of all threads. `whole` requires the assumptions of a row's ranges, so a
    register without a range in `whole` has none in a row.
    """

    def __init__(
        self,
        function: Function,
        layout: MemoryLayout,
        values: PhaseValues,
        *,
        row: bool = False,
        width: int = 0,
        block_x: str = "",
        whole: Ranges | None = None,
    ) -> None:
        super().__init__(row=row, width=width, prefix=("row" if row else "range") if not block_x else block_x[1:])
        self._block_x, self._whole = block_x, whole
        #: Returns the lowest address of the buffer that an address points into, the greatest distance from it of an
        #: access of some bytes, and a pointer to it; None when it is unknown. With it, loads of numbers have ranges.
        self.limits: Limits | None = None
        self._function, self._layout = function, layout
        self._values = values
        self._unwritten = unwritten(function)
        self._masked = masked(function)
        known = computable(function)
        self._instructions: Mapping[str, Instruction] = (
            self._masked | _with_unknown(self._masked, values.restored.keys() - known.keys()) | known | values.derived
        )
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
            found.lines, found.conditions = self.lines, self.conditions
            found._values_of, found._bounds = self._values_of, self._bounds
            found.limits = self.limits
            self._guarded[guards] = found
            for register, comparison, other, is_unsigned in guards:
                if register.name in self._masked:  # the register may have been compared before it was written again
                    continue
                kept = self._clip(found, register, comparison, other, is_unsigned)
                if kept is not None:
                    found._keep(register.name, kept)
        return found

    def _keep(self, name: str, kept: Range) -> None:
        """Record a register's range, and that of the register that it is a shifted or displaced copy of."""
        self._found[name] = kept
        instruction = self._instructions.get(name)
        if instruction is None or instruction.opcode not in _INVERTIBLE or name in self._values.restored:
            return
        source, other = instruction.operands[1:3]
        have = self._found.get(source.name) if isinstance(source, Register) else None
        by = self._operand(other, 32)
        if not isinstance(source, Register) or have is None or have.is_single or have.granule > 1:
            return
        if by is None or by.constant is None:
            return
        low, high = kept.low, kept.high
        if instruction.opcode == "shr":
            low, high = (self.value(f"shl i64 {edge}, {by.constant}") for edge in (low, high))
            high = self.value(f"or i64 {high}, {(1 << by.constant) - 1}")
        if instruction.opcode == "and":  # an AND that keeps all bits changes nothing
            if by.constant & (by.constant + 1):
                return
            bits = self.value(f"or i64 {have.low}, {have.high}")
            is_same = self.value(f"icmp ule i64 {bits}, {by.constant}")
            low = self.value(f"select i1 {is_same}, i64 {low}, i64 {have.low}")
            high = self.value(f"select i1 {is_same}, i64 {high}, i64 {have.high}")
        if instruction.opcode == "add":
            low, high = (self.value(f"sub i64 {edge}, {by.constant}") for edge in (low, high))
        low = self.value(f"call i64 @llvm.smax.i64(i64 {have.low}, i64 {low})")
        high = self.value(f"call i64 @llvm.smin.i64(i64 {have.high}, i64 {high})")
        self._keep(source.name, Range(low, high, 1, have.slope))

    def _clip(
        self, found: Ranges, register: Register, comparison: str, other: Operand, is_unsigned: bool
    ) -> Range | None:
        """Return a register's range cut off where a comparison does not hold."""
        conditions, known, known_here = len(self.conditions), set(found._found), set(self._found)
        have, bound = found.of(register), self.of(other)
        if have is None or bound is None or not bound.is_single or have.is_single:
            found._forget(conditions, known)
            self._forget(conditions, known_here)
            return None
        low, high = have.low, have.high
        if comparison == "ne":
            for edge, sign in ((low, ""), (high, "-")):
                is_there = self.value(f"zext i1 {self.value(f'icmp eq i64 {edge}, {bound.low}')} to i64")
                moved = self.value(f"add i64 {edge}, {self.value(f'mul i64 {is_there}, {sign}{have.granule}')}")
                low, high = (moved, high) if not sign else (low, moved)
            return Range(low, high, have.granule, have.slope)
        if is_unsigned:  # the order is that of signed numbers if none is negative
            if bound.constant is None or bound.constant < 0:
                self.at_least_zero(bound)
            if _lesser((register, comparison, other, is_unsigned)) == register:
                low = self._first_from_zero(have)
            else:
                self.at_least_zero(have)
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

    def _first_from_zero(self, item: Range) -> str:
        """Return the lowest value of a range that is not negative."""
        if self.is_never_negative(item):
            return item.low
        if item.granule == 1:
            return self.value(f"call i64 @llvm.smax.i64(i64 {item.low}, i64 0)")
        missing = self.value(f"call i64 @llvm.smax.i64(i64 {self.value(f'sub i64 0, {item.low}')}, i64 0)")
        missing = self.value(f"and i64 {self.value(f'add i64 {missing}, {item.granule - 1}')}, {-item.granule}")
        return self.value(f"add i64 {item.low}, {missing}")

    def decided(self, comparison: Comparison) -> str | None:
        """Return the i1 result of a comparison, and require that it is the same in all threads; None when it is
        unknown.
        """
        register, order, other, is_unsigned = comparison
        left, right = self.of(register), self.of(other)
        if left is None or right is None or order not in ("lt", "le", "gt", "ge"):
            return None
        for item in (left, right) if is_unsigned else ():
            self.at_least_zero(item)
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

    def order(self, comparison: Comparison) -> bool:
        """Require what `clipped` needs of a comparison: known sides that are not negative if they are unsigned.

        The lesser side may be negative, since the comparison does not hold then. Return False if a side is unknown.
        """
        register, _, other, is_unsigned = comparison
        found, bound = self.of(register), self.of(other)
        if found is None or bound is None:
            return False
        for operand, item in ((register, found), (other, bound)) if is_unsigned else ():
            if operand != _lesser(comparison):
                self.at_least_zero(item)
        return True

    def clipped(self, comparison: Comparison, first: str, end: str) -> tuple[str, str] | None:
        """Return the i64 bounds, within given ones, of the threads of a row that pass a comparison.

        Return None if these threads are not consecutive, or not known.
        """
        register, order, other, _ = comparison
        found, bound = self.of(register), self.of(other)
        if found is None or bound is None or not (bound.is_single and bound.slope == 0):
            return None
        if found.slope is None or (found.slope and order == "ne"):
            return None
        lesser = _lesser(comparison)
        item = found if lesser == register else bound
        if lesser is not None and ((item.slope or 0) < 0 or not self.is_never_negative(item)):
            inside = self.clipped((lesser, "ge", Integer(0), False), first, end)
            assert inside is not None
            first, end = inside
        if found.slope == 0:
            test = order if order in ("eq", "ne") else f"s{order}"
            holds = self.value(f"icmp {test} i64 {found.low}, {bound.low}")
            return first, self.value(f"select i1 {holds}, i64 {end}, i64 {first}")
        sides, slope = (bound.low, found.low), found.slope
        if slope < 0:
            sides, slope, order = (found.low, bound.low), -slope, MIRRORED[order]
        distance = self.value(f"call i64 @llvm.ssub.sat.i64(i64 {sides[0]}, i64 {sides[1]})")
        # The first thread at or behind the bound, and the first one behind it.
        after = self.value(f"call i64 @llvm.sadd.sat.i64(i64 {self._quotient(distance, slope)}, i64 1)")
        before = self.value(f"call i64 @llvm.ssub.sat.i64(i64 {distance}, i64 1)")
        at = self.value(f"call i64 @llvm.sadd.sat.i64(i64 {self._quotient(before, slope)}, i64 1)")
        if order in ("lt", "le", "eq"):
            end = self.value(f"call i64 @llvm.smin.i64(i64 {end}, i64 {at if order == 'lt' else after})")
        if order in ("gt", "ge", "eq"):
            first = self.value(f"call i64 @llvm.smax.i64(i64 {first}, i64 {after if order == 'gt' else at})")
        return first, end

    def _quotient(self, value: str, divisor: int) -> str:
        """Return the quotient of an i64 by a positive number, rounded down."""
        if divisor == 1:
            return value
        quotient = self.value(f"sdiv i64 {value}, {divisor}")
        rest = self.value(f"sub i64 {value}, {self.value(f'mul i64 {quotient}, {divisor}')}")
        return self.value(f"add i64 {quotient}, {self.value(f'ashr i64 {rest}, 63')}")

    def of(self, operand: Operand) -> Range | None:
        """Return the range of an address or register; None when it is unknown."""
        conditions, known = len(self.conditions), set(self._found)
        result = self._of(operand)
        if result is None:
            self._forget(conditions, known)
        return result

    def knows(self, register: Register) -> bool:
        """Whether a register has a range, under some guard at least; if so, the range's conditions are required."""
        known = (item._found.get(register.name) for item in (self, *self._guarded.values()))
        return any(item is not None for item in known) or self.of(register) is not None

    def attempt(self, succeeds: Callable[[], bool]) -> bool:
        """Return a function's result; if it is False, drop its requirements."""
        conditions, known = len(self.conditions), set(self._found)
        is_done = succeeds()
        if not is_done:
            self._forget(conditions, known)
        return is_done

    def _forget(self, conditions: int, known: Collection[str]) -> None:
        """Forget the conditions from a number on, and the registers whose ranges need them: all but the known ones."""
        del self.conditions[conditions:]
        for name in self._found.keys() - known:
            del self._found[name]

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
            self._found[operand.name] = None  # no range while the range is being computed
            if operand.name in self._unwritten:
                return None
            if operand.name in self._values.restored:
                self._found[operand.name] = self._restored(operand.name)
            elif instruction is not None:
                self._found[operand.name] = self._result(instruction)
        found = self._found[operand.name]
        return None if found is not None and self._whole is not None and not self._whole.knows(operand) else found

    def _restored(self, name: str) -> Range | None:
        """Return the range of a restored register: its `base`, if any, plus a uniform value."""
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
            number = self._block_x if axis == "x" and self._block_x else f"%ctaid.{axis}"
            single = self.value(f"zext i32 {number} to i64")
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
            return self._constant(instruction) if reads_constant(instruction) else self._loaded(instruction, kinds[-1])
        if opcode == "selp":
            return self._chosen(instruction)
        exact = self._uniform(instruction, kinds, wide=wide)
        if exact is not None:
            return exact
        bits, sources = TYPES[kinds[-1]], instruction.operands[1:]
        if bits not in (16, 32, 64) or "sat" in modifiers or "hi" in modifiers or (bits == 16 and opcode == "mad"):
            return None
        sizes = [64 if wide and index == 2 else bits for index in range(len(sources))]
        given = [self._operand(item, size) for item, size in zip(sources, sizes, strict=True)]
        if opcode == "cvt" and self._width(sources[0]) != bits:
            return None
        if any(item is None for item in given):
            if opcode in _OPPOSITE:
                return self._clamped(instruction)
            mask = next((item.constant for item in given if item is not None), None)
            if opcode != "and" or mask is None or mask < 0 or bits == 16 or bits != TYPES[kinds[0]]:
                return None
            return self.bits_of_unknown(mask)
        values = [item for item in given if item is not None]
        if opcode == "cvta":
            is_global = "global" in modifiers and "to" in modifiers
            return values[0] if is_global else None
        unsigned = kinds[-1][0] == "u"
        if unsigned and (opcode in ("min", "max") or ((wide or opcode == "cvt") and bits == 32)):
            for item in values[:2]:
                self.at_least_zero(item)
        result = self.apply(opcode, values)
        is_short = TYPES[kinds[0]] == 16 and not wide
        if result is None or (opcode == "cvt" and len(kinds) != 2):
            return None
        if is_short:
            self.at_least_zero(result)
            self.require(f"sub i64 {(1 << 15) - 1}, {result.high}")
        elif opcode == "cvt" and TYPES[kinds[0]] < TYPES[kinds[1]]:
            if TYPES[kinds[0]] != 32:
                return None
            self.fits(result)
            self.require(f"sub i64 {(1 << 31) - 1}, {result.low}")  # the highest number may have overflowed 64 bits
        if bits == 32 and not wide and opcode not in ("mov", "cvt") and result.constant is None:
            self.fits(result)
        return result

    def _clamped(self, instruction: Instruction) -> Range | None:
        """Return the range of an unknown number between two that all threads have, max(min(x, last), first)."""
        opcode, kind = instruction.opcode, instruction.modifiers[-1]
        if instruction.modifiers not in (("s32",), ("s64",)):
            return None
        for inner, bound in (instruction.operands[1:], instruction.operands[:0:-1]):
            if not isinstance(inner, Register):
                continue
            before = self._instructions.get(inner.name)
            if before is None or (before.opcode, before.modifiers) != (_OPPOSITE[opcode], instruction.modifiers):
                continue
            if inner.name in self._unwritten or self._width(inner) != TYPES[kind]:
                continue
            ends = [self._operand(item, TYPES[kind]) for item in (bound, *before.operands[1:])]
            found = [item.low for item in ends if item is not None and item.is_single and item.slope == 0]
            if ends[0] is None or len(found) != 2:
                continue
            end = self.value(f"call i64 @llvm.s{opcode}.i64(i64 {found[0]}, i64 {found[1]})")
            result = Range(*((found[0], end) if opcode == "max" else (end, found[0])), 1, None)
            self.fits(result)  # otherwise a product with it might overflow 64 bits
            return result
        return None

    def _uniform(self, instruction: Instruction, kinds: list[str], *, wide: bool) -> Range | None:
        """Return an instruction's result for operands that are single values; None for those that `_apply` knows.

        The ranges of 32-bit registers are signed numbers; unsigned instructions get them converted to unsigned ones.
        """
        opcode, kind = instruction.opcode, kinds[-1]
        bits, is_unsigned = TYPES[kind], kind[0] == "u" or (opcode == "shr" and kind[0] == "b")
        wide = wide and is_unsigned and opcode == "mul"
        high = opcode == "mul" and is_unsigned and bits == 32 and "hi" in instruction.modifiers
        if not (wide or high) and opcode not in ("and", "or", "xor", "not", "shr", "div", "rem", "cvt"):
            return None
        if bits not in (32, 64) or len(kinds) != 1 + (opcode == "cvt") or "sat" in instruction.modifiers:
            return None
        values: list[str] = []
        for index, operand in enumerate(instruction.operands[1:]):
            size = 32 if opcode == "shr" and index == 1 else bits
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
            case "not":
                result = self.value(f"xor i64 {first}, -1")
            case "cvt":
                if TYPES[kinds[0]] < 32:
                    return None
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

    def _loaded(self, instruction: Instruction, kind: str) -> Range | None:
        """Return a parameter, or the value that all threads load from the same place in shared memory."""
        source, bits = instruction.operands[1], TYPES[kind]
        if bits not in (32, 64) or not isinstance(source, Address) or not isinstance(source.base, Symbol):
            return None
        offset, suffix = source.base.offset + source.offset, ""
        if "shared" in instruction.modifiers:
            offset += self._layout.shared[source.base.name]
            if offset % (bits // 8) or not 0 <= offset <= self._layout.static_shared - bits // 8:
                return None
            place = self.value(f"getelementptr i8, ptr %shared, i64 {offset}")
        else:
            offset += self._layout.parameters[source.base.name]
            place, suffix = self.value(f"getelementptr i8, ptr %params, i64 {offset}"), ", !invariant.load !0"
        single = self.value(f"load i{bits}, ptr {place}, align 1{suffix}")
        if bits == 32:
            single = self.value(f"sext i32 {single} to i64")
        return Range(single, single, ANY)

    def _constant(self, instruction: Instruction) -> Range | None:
        """Return the number that all threads load from one place in memory that doesn't change."""
        source, size = instruction.operands[1], TYPES[instruction.modifiers[-1]] // 8
        limits = None if self.limits is None else self.limits(source, size)
        place = None if limits is None else self.of(source)
        if limits is None or place is None or not place.is_single or place.slope != 0:
            return None
        base, last, pointer = limits
        distance = self.value(f"sub i64 {place.low}, {base}")
        is_outside = self.value(f"icmp ugt i64 {distance}, {last}")
        is_between = self.value(f"icmp ne i64 {self.value(f'and i64 {place.low}, {size - 1}')}, 0")
        is_bad = self.value(f"or i1 {is_outside}, {is_between}")
        self.require(f"sext i1 {is_bad} to i64")
        there = self.value(f"getelementptr i8, ptr {pointer}, i64 {distance}")
        safe = self.value(f"select i1 {is_bad}, ptr %params, ptr {there}")
        single = self.value(f"load i{8 * size}, ptr {safe}, align 1, !invariant.load !0")
        if size == 4:
            single = self.value(f"sext i32 {single} to i64")
        return Range(single, single, ANY)

    def _chosen(self, instruction: Instruction) -> Range | None:
        """Return the value that all threads select by the same predicate."""
        *sources, predicate = instruction.operands[1:]
        bits = TYPES[instruction.modifiers[-1]]
        given = [self._operand(item, bits) for item in sources]
        test = self._predicate(predicate)
        if test is None or any(item is None or not item.is_single or item.slope != 0 for item in given):
            return None
        first, second = (item.low for item in given if item is not None)
        chosen = self.value(f"select i1 {test}, i64 {first}, i64 {second}")
        return Range(chosen, chosen, ANY)

    def _predicate(self, operand: Operand) -> str | None:
        """Return the i1 value of a predicate that all threads have in common; None when it is unknown."""
        instruction = self._instructions.get(operand.name) if isinstance(operand, Register) else None
        if instruction is None or instruction.guard is not None:
            return None
        opcode, sources = instruction.opcode, instruction.operands[1:]
        if opcode in ("and", "or"):
            tests = [self._predicate(item) for item in sources]
            return None if None in tests else self.value(f"{opcode} i1 {tests[0]}, {tests[1]}")
        if opcode != "setp" or len(sources) != 2 or len(instruction.modifiers) != 2:
            return None
        order, kind = instruction.modifiers
        if order not in _TESTS or kind[0] not in "bsu" or TYPES[kind] not in (32, 64):
            return None
        given = [self._operand(item, TYPES[kind]) for item in sources]
        if any(item is None or not item.is_single or item.slope != 0 for item in given):
            return None
        test = _TESTS[order]
        if len(test) == 2 and test not in ("eq", "ne"):
            test = ("u" if kind[0] == "u" else "s") + test
        # Sign extension keeps the order of unsigned numbers too.
        first, second = (item.low for item in given if item is not None)
        return self.value(f"icmp {test} i64 {first}, {second}")


def _lesser(comparison: Comparison) -> Register | None:
    """Return the side of an unsigned comparison that is at least 0, as a signed number, if the other side is.

    A negative number is at least 2^31 as an unsigned one, so it is not below the other side.
    """
    register, order, other, is_unsigned = comparison
    lesser, greater = (register, other) if order in ("lt", "le") else (other, register)
    if not is_unsigned or order in ("eq", "ne") or (isinstance(greater, Integer) and greater.value >> 31):
        return None
    return lesser if isinstance(lesser, Register) else None


def _with_unknown(masked: Mapping[str, Instruction], restored: Collection[str]) -> dict[str, Instruction]:
    """Return the instructions of the masked registers that read restored ones, with unknown operands in their place.

    A restored register may have been written again since the phase began, or since the masked one was computed.
    """
    found: dict[str, Instruction] = {}
    for name, item in masked.items():
        if not used(item).isdisjoint(restored):
            target, *sources = item.operands
            kept = (_UNKNOWN if isinstance(each, Register) and each.name in restored else each for each in sources)
            found[name] = replace(item, operands=(target, *kept))
    return found
