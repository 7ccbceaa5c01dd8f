"""Arithmetic of ranges: the range of a sum, product, shift, quotient and so on of values whose ranges are known.

A result is computed by LLVM instructions that run before the threads. The requirements of a result, such as that
nothing overflows, become conditions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

#: The granule of zero: every power of two divides it.
ANY = 1 << 40
Bounds = tuple[int, int]
_ALL: Bounds = -1 << 63, (1 << 63) - 1
#: The greatest numbers of a launch that the device accepts; all are at least 0.
_GREATEST = {f"%{axis}{edge}": 1024 for axis in "xyz" for edge in "01"} | {f"%n{axis}": 1024 for axis in "xyz"}
_GREATEST |= {f"%tid.{axis}": 1023 for axis in "yz"} | {f"%ctaid.{axis}": (1 << 16) - 2 for axis in "yz"}
_GREATEST["%ctaid.x"] = (1 << 31) - 2
_WIDENED = re.compile(r"([sz])ext i32 (\S+) to i64")
_TWO = re.compile(r"(?:call i64 @llvm\.)?(add|sub|mul|and|smin|smax)(?:\.i64\(i64| i64) (\S+), (?:i64 )?([^\s)]+)\)?")
#: Opcodes whose result is some bits of a number.
_PARTS = ("and", "shr")


@dataclass(frozen=True)
class Range:
    """The lowest and the highest value, as i64; all differ by multiples of `granule`, which is a power of two.

    `slope` is how much the value grows from one thread to the next along x; None when that is not a known constant. In
    a row of threads only bits of a value without slope can be used: it is `low` for the first thread, and all of them
    agree in the bits above `steps`, if `steps` is not 0.
    """

    low: str
    high: str
    granule: int
    slope: int | None = 0
    steps: int = 0

    @property
    def is_single(self) -> bool:
        """Whether every thread has the same value."""
        return self.low == self.high

    @property
    def constant(self) -> int | None:
        """The value when it is a known constant."""
        known = self.is_single and self.slope == 0 and self.low.lstrip("-").isdigit()
        return int(self.low) if known else None


class RangeArithmetic:
    """Writes `lines`, which compute ranges before the threads run.

    `conditions` are the i64 values that must not be negative for the ranges to hold. For a `row`, ranges are the single
    values that the threads with one `%tid.y` and `%tid.z` would have if `%tid.x` were 0. With a `width`, a power of
    two, a row has at most that many threads, from `%row.first` on. Then a lane, which follows from the low bits of
    `%tid.x`, grows with `%tid.x`, and a warp's number is a single value. The names of all values begin with `prefix`.
    """

    def __init__(self, *, row: bool, width: int, prefix: str) -> None:
        self._row = row
        self.width = width
        self._prefix = prefix
        self.lines: list[str] = []
        self.conditions: list[str] = []
        self.guesses = False
        self._values_of: dict[str, str] = {}
        #: The least and the greatest number that a value can be.
        self._bounds: dict[str, Bounds] = {}

    def value(self, text: str) -> str:
        """Write an instruction that yields a value, unless it is already written, and return the value."""
        name = self._values_of.get(text)
        if name is None:
            name = self._values_of[text] = f"%{self._prefix}.v{len(self.lines)}"
            self.lines.append(f"  {name} = {text}")
            self._bounds[name] = _bounds(text, self._bounds)
        return name

    def require(self, text: str) -> None:
        """Add a condition: an instruction whose i64 result must not be negative."""
        if self._row or _bounds(text, self._bounds)[0] >= 0:
            return  # the ranges of the whole thread block require the condition already, or no launch can break it
        condition = self.value(text)
        if condition not in self.conditions:
            self.conditions.append(condition)

    def fine(self) -> str:
        """Write the test of all conditions and return its i1 value.

        The test is one comparison, of a number whose sign is set if that of any condition is set, since a chain of
        comparisons takes the optimiser longer than the rest of a kernel. Pairs are joined first, so that the processor
        needs few steps.
        """
        signs = list(self.conditions)
        while len(signs) > 1:
            pairs = zip(signs[::2], signs[1::2], strict=False)
            signs = [self.value(f"or i64 {a}, {b}") for a, b in pairs] + signs[len(signs) & ~1 :]
        return self.value(f"icmp sge i64 {signs[0]}, 0")

    def constant(self, value: int) -> Range:
        """Return the range that contains a single number."""
        return Range(str(value), str(value), ANY)

    def fits(self, item: Range) -> None:
        """Require that a range contains only signed 32-bit numbers."""
        self.require(f"add i64 {item.low}, {1 << 31}")
        self.require(f"sub i64 {(1 << 31) - 1}, {item.high}")

    def is_never_negative(self, item: Range) -> bool:
        """Whether no launch has a negative lowest value."""
        return item.low.isdigit() or self._bounds.get(item.low, _ALL)[0] >= 0

    def at_least_zero(self, item: Range) -> None:
        """Require that a range has no negative numbers."""
        if item.low != "0":
            self.require(f"add i64 {item.low}, 0")

    def require_whole_rows(self, width: int, *, are_warps: bool) -> None:
        """Require that the threads that run are whole rows of a width; warps must also be together."""
        edges = self.value("or i32 %x0, %x1")
        if are_warps:
            edges = self.value(f"or i32 {edges}, %nx")
            self.require(f"sub i64 {self.value('zext i1 %together to i64')}, 1")
        rest = self.value(f"zext i32 {self.value(f'and i32 {edges}, {width - 1}')} to i64")
        self.require(f"sub i64 0, {rest}")
        self.guesses = True

    def require_one_row(self) -> None:
        """Require that the running threads are a whole thread block of one row: no other thread is waited for."""
        missing = self.value(f"sub i32 {self.value('sub i32 %x1, %x0')}, %nx")
        self.require(f"sext i32 {missing} to i64")
        rows = self.value(f"sub i32 1, {self.value('mul i32 %ny, %nz')}")
        self.require(f"sext i32 {rows} to i64")

    def apply(self, opcode: str, values: list[Range]) -> Range | None:
        """Return the range of an instruction's result, from those of its operands; None when it is unknown."""
        if opcode in ("mov", "cvt"):
            return values[0]
        if self._row and opcode not in _PARTS and any(item.slope is None for item in values):
            return None
        if opcode == "neg":
            return self.apply("sub", [self.constant(0), values[0]])
        if opcode == "add":
            return self.sum(values[0], values[1])
        if opcode == "sub":
            low = self.value(f"sub i64 {values[0].low}, {values[1].high}")
            high = low
            if not (values[0].is_single and values[1].is_single):
                high = self.value(f"sub i64 {values[0].high}, {values[1].low}")
            slopes = values[0].slope, values[1].slope
            slope = None if slopes[0] is None or slopes[1] is None else slopes[0] - slopes[1]
            return Range(low, high, min(values[0].granule, values[1].granule), slope)
        if opcode == "mul":
            return self._product(values[0], values[1])
        if opcode == "mad":
            product = self._product(values[0], values[1])
            return product and self.sum(product, values[2])
        if opcode == "shl":
            amount = values[1].constant
            if amount is None or not 0 <= amount < 31:
                return None
            return self._product(values[0], self.constant(1 << amount))
        if opcode in ("min", "max"):
            if all(item.is_single and item.slope == 0 for item in values):
                single = self.value(f"call i64 @llvm.s{opcode}.i64(i64 {values[0].low}, i64 {values[1].low})")
                return Range(single, single, ANY)
            # Require that the clamp changes nothing, as for an index that is clamped to an image but lies inside it.
            kept, bound = values
            if kept.is_single and kept.slope == 0 and not (bound.is_single and bound.slope == 0):
                kept, bound = bound, kept
            if not bound.is_single or bound.slope != 0:
                return None
            greater, less = (bound.low, kept.high) if opcode == "min" else (kept.low, bound.low)
            self.require(f"sub i64 {greater}, {less}")
            return kept
        if opcode in ("div", "rem"):
            return self._divided(opcode, values[0], values[1])
        if opcode in _PARTS:  # lanes, warps and the like: parts of a number that is not negative
            return self._bits(opcode, values[0], values[1].constant)
        return None

    def sum(self, a: Range, b: Range) -> Range:
        """Return the range of a sum."""
        if a.constant == 0:
            return b
        if b.constant == 0:
            return a
        low = self.value(f"add i64 {a.low}, {b.low}")
        high = low if a.is_single and b.is_single else self.value(f"add i64 {a.high}, {b.high}")
        slope = None if a.slope is None or b.slope is None else a.slope + b.slope
        return Range(low, high, min(a.granule, b.granule), slope)

    def _product(self, a: Range, b: Range) -> Range | None:
        if not b.is_single:
            a, b = b, a
        if b.slope != 0:
            a, b = b, a
        if not b.is_single or b.slope != 0:
            return None
        factor = b.constant
        slope = 0 if a.slope == 0 else None if factor is None or a.slope is None else a.slope * factor
        first = self.value(f"mul i64 {a.low}, {b.low}")
        if a.is_single:
            return Range(first, first, ANY, slope)
        if factor is not None and abs(factor) >> 31:
            return None
        for each in (a, b):
            self.fits(each)  # otherwise numbers between first and last might overflow 64 bits
        last = self.value(f"mul i64 {a.high}, {b.low}")
        if factor is not None and factor > 0:
            return Range(first, last, a.granule * (factor & -factor), slope)
        low = self.value(f"call i64 @llvm.smin.i64(i64 {first}, i64 {last})")
        return Range(low, self.value(f"call i64 @llvm.smax.i64(i64 {first}, i64 {last})"), a.granule, slope)

    def _bits(self, opcode: str, kept: Range, part: int | None) -> Range | None:
        """Return low bits, high bits, or the result of a shift, of a number that is not negative."""
        if part is None or part < 0 or (opcode == "shr" and part > 31):
            return None
        if self._row:
            return self._bits_of_row(opcode, kept, part)
        if opcode == "shr":
            self.guesses = True
            self.at_least_zero(kept)
            low = self.value(f"lshr i64 {kept.low}, {part}")
            return Range(low, self.value(f"lshr i64 {kept.high}, {part}"), 1, None)
        if not part:
            return self.constant(0)
        step = part & -part
        # A mask of ones up to the highest possible bit keeps the order of numbers from zero on.
        low, high = (self.value(f"and i64 {edge}, {part}") for edge in (kept.low, kept.high))
        keeps_order = self.value(f"icmp ule i64 {kept.low}, {kept.high}")
        fits = self.value(f"icmp ult i64 {kept.high}, {part + step if not (part + step) & part else 0}")
        is_close = self.value(f"and i1 {keeps_order}, {fits}")
        low = self.value(f"select i1 {is_close}, i64 {low}, i64 0")
        return Range(low, self.value(f"select i1 {is_close}, i64 {high}, i64 {part}"), step, None)

    def bits_of_unknown(self, part: int) -> Range:
        """Return the range of some bits of an unknown number."""
        return Range("0", str(part), part & -part, None) if part else self.constant(0)

    def _bits_of_row(self, opcode: str, kept: Range, part: int) -> Range | None:
        """Return bits of a number that is a multiple of the row's width at the row's start, or of such bits."""
        if kept.slope is None:
            if opcode == "shr" or not kept.steps or part % kept.steps:
                return None
            only = self.value(f"and i64 {kept.low}, {part}")
            return Range(only, only, ANY)
        if not self.width or kept.slope != 1 or not kept.low.isdigit() or int(kept.low) % self.width:
            return None
        first = self.value(f"add i64 %row.first, {kept.low}")
        if opcode == "shr":
            high = self.value(f"lshr i64 {first}, {part}")
            if 1 << part >= self.width:
                return Range(high, high, ANY)
            return Range(high, high, 1, None, self.width >> part)
        if part & (part + 1) or part + 1 < self.width:
            return None
        low = self.value(f"sub i64 {self.value(f'and i64 {first}, {part}')}, %row.first")
        return Range(low, low, ANY, 1)

    def _divided(self, opcode: str, a: Range, b: Range) -> Range | None:
        """Return quotient or remainder where the quotient is the same for all threads: rows, neighbours that wrap."""
        if not b.is_single or b.slope != 0 or a.slope is None:
            return None
        self.guesses = True
        self.require(f"sub i64 {b.low}, 1")
        self.at_least_zero(a)
        first = a.low
        if self._row and a.slope:
            start = self.value(f"mul i64 {self.value('zext i32 %x0 to i64')}, {a.slope}")
            first = self.value(f"add i64 {first}, {start}")
        divisor = self.value(f"call i64 @llvm.smax.i64(i64 {b.low}, i64 1)")
        quotient = self.value(f"sdiv i64 {first}, {divisor}")
        whole = self.value(f"mul i64 {quotient}, {divisor}")
        low, high = self.value(f"sub i64 {a.low}, {whole}"), self.value(f"sub i64 {a.high}, {whole}")
        self.require(f"sub i64 {self.value(f'sub i64 {divisor}, 1')}, {high}")
        if opcode == "div":
            return Range(quotient, quotient, ANY)
        return Range(low, low if a.is_single else high, a.granule, a.slope)


def _bounds(text: str, known: Mapping[str, Bounds]) -> Bounds:
    """Return the least and the greatest result of an instruction in any launch, as far as its text tells."""
    if widened := _WIDENED.fullmatch(text):
        return (-1 << 31, (1 << 31) - 1) if widened[1] == "s" else (0, _GREATEST.get(widened[2], (1 << 32) - 1))
    found = _TWO.fullmatch(text)
    if found is None:
        return _ALL
    sources = (found[2], found[3])
    (a, b), (c, d) = ((int(item),) * 2 if item.lstrip("-").isdigit() else known.get(item, _ALL) for item in sources)
    match found[1]:
        case "add":
            low, high = a + c, b + d
        case "sub":
            low, high = a - d, b - c
        case "mul":
            products = a * c, a * d, b * c, b * d
            low, high = min(products), max(products)
        case "smin":
            low, high = min(a, c), min(b, d)
        case "smax":
            low, high = max(a, c), max(b, d)
        case _:
            masks = [most for least, most in ((a, b), (c, d)) if least >= 0]
            low, high = (0, min(masks)) if masks else _ALL
    return (low, high) if _ALL[0] <= low and high <= _ALL[1] else _ALL
