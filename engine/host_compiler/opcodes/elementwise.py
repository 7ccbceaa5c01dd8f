"""Floating-point instructions element by element: sources read, results flushed, saturated, rounded and written."""

from collections.abc import Callable

from warploom.engine.host_compiler.analysis.canonical_floats import canonicalised
from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.errors import unsupported
from warploom.engine.host_compiler.opcodes.half import HALVES, flush_half, join, shrink, split_elements, widen
from warploom.engine.host_compiler.opcodes.rounding import double_constant, flush, relu, saturate
from warploom.engine.host_compiler.opcodes.table import Emit
from warploom.engine.host_compiler.types import PACKED, is_float, llvm_type, types_of
from warploom.engine.ptx.tree import Instruction, Operand, Register

#: Computes one element: the instruction, the element's type and its sources, in the LLVM type of `wide(type)`.
Compute = Callable[[Body, Instruction, str, list[str]], str]


def wide(kind: str) -> str:
    """Return the PTX type in which an element of a type is computed: f32 for both half types."""
    return "f32" if kind in HALVES else kind


def sources(body: Body, instruction: Instruction, kind: str, operands: tuple[Operand, ...]) -> list[list[str]]:
    """Return the sources of each element, as they are stored, flushed if the instruction requests it."""
    element = PACKED.get(kind, kind)
    flushes = "ftz" in instruction.modifiers and element in ("f32", "f16")  # rcp.ftz.f64 names a form of rcp
    if body.layout.flushes and element == "f32" and instruction.opcode in _FLUSHING:
        flushes = False
    columns = []
    for operand in operands:
        # The sign of a NaN counts for .xorsign.
        is_any = kind == "f32" and "xorsign" not in instruction.modifiers
        value = (body.read_noncanonical if is_any else body.read)(operand, kind)
        values = split_elements(body, value, kind)
        if flushes and not (isinstance(operand, Register) and operand.name in body.flushed):
            values = [flush(body, item) if element == "f32" else flush_half(body, item) for item in values]
        columns.append(values)
    return [list(row) for row in zip(*columns, strict=True)]


def finish(body: Body, instruction: Instruction, kind: str, value: str) -> None:
    """Write an f32 or f64 result, flushed and saturated if the instruction requests it."""
    if "ftz" in instruction.modifiers and kind == "f32" and not body.layout.flushes:
        value = flush(body, value)
    put(body, instruction, kind, limited(body, instruction, kind, value))


def put(body: Body, instruction: Instruction, kind: str, value: str) -> None:
    """Write the result of arithmetic: an f32 is canonicalised unless its register may hold non-canonical values."""
    target = instruction.operands[0]
    if kind == "f32" and not (isinstance(target, Register) and target.name in body.noncanonical):
        value = canonicalised(body.code, value, flush=body.layout.flushes and "ftz" in instruction.modifiers)
    body.write(target, kind, value)


def limited(body: Body, instruction: Instruction, kind: str, value: str) -> str:
    """Return an f32 or f64 clamped as the instruction says."""
    if "sat" in instruction.modifiers:
        value = saturate(body, value, llvm_type(kind))
    return relu(body, value, kind) if "relu" in instruction.modifiers else value


def elementwise(compute: Compute) -> Emit:
    """Return the emitter of an instruction that computes each element from the same element of its sources.

    With two types the result and the last source are f32, and the other sources are halves.
    """

    def emit(body: Body, instruction: Instruction) -> None:
        kinds, operands = types_of(instruction), instruction.operands[1:]
        kind = kinds[-1]
        if not is_float(kind):
            raise unsupported(instruction, "use a floating-point type")
        if len(kinds) == 2:
            if kinds[0] != "f32" or kind not in HALVES:
                raise unsupported(instruction, "use .f32.f16 or .f32.bf16")
            values = [widen(body, body.read(item, kind), kind) for item in operands[:-1]]
            values.append(body.read_noncanonical(operands[-1], "f32"))
            finish(body, instruction, "f32", compute(body, instruction, "f32", values))
            return
        element = PACKED.get(kind, kind)
        results = []
        for values in sources(body, instruction, kind, operands):
            widened = [widen(body, value, element) for value in values]
            value = compute(body, instruction, element, widened)
            if "ftz" in instruction.modifiers and element in ("f32", "f16"):
                value = _flushed(body, instruction, element, compute, widened, value)
            value = limited(body, instruction, wide(element), value)
            results.append(shrink(body, value, element) if element in HALVES else value)
        put(body, instruction, kind, join(body, results, kind))

    return emit


# Opcodes whose f32 sources and results the processor flushes, in a module that flushes in hardware.
_FLUSHING = ("add", "sub", "mul", "mad", "fma", "div", "rcp", "sqrt", "rsqrt")
# Opcodes that give no subnormal when their sources are flushed.
_NEVER_SUBNORMAL = ("min", "max", "abs", "neg", "sqrt", "rsqrt")
# Factors of the sources that double the result; other operations give no result that rounds up to the least normal.
_DOUBLED = {"mul": (2.0, 1.0), "fma": (2.0, 1.0, 2.0), "mad": (2.0, 1.0, 2.0), "div": (2.0, 1.0), "rcp": (0.5,)}


def _flushed(body: Body, instruction: Instruction, kind: str, compute: Compute, values: list[str], value: str) -> str:
    """Return a result with zeros in place of the values that a GPU counts as subnormal.

    A GPU rounds to the precision of normal numbers first. So a result that rounds up to the least normal number only
    because subnormals have fewer bits is flushed, too. An f16 `value` is not rounded yet; for f32 the same operation is
    done with a doubled result, which is normal.
    """
    code = body.code
    if instruction.opcode in _NEVER_SUBNORMAL or (kind == "f32" and body.layout.flushes):
        return value
    if kind == "f16":
        return flush(body, value, 2.0**-14 * (1 - 2.0**-12))
    factors = _DOUBLED.get(instruction.opcode)
    if factors is None or {"approx", "full"} & set(instruction.modifiers):
        return flush(body, value)
    double = [
        item if factor == 1 else code.value(f"fmul float {item}, {double_constant(factor)}")
        for item, factor in zip(values, factors, strict=True)
    ]
    return flush(body, value, 2.0**-125, compute(body, instruction, kind, double))
