"""Non-canonical f32 values: NaNs and subnormals that a GPU would not give, and where they become canonical.

A GPU gives one NaN for every f32 result that is not a number, and `.ftz` makes zeros of subnormals. Arithmetic cannot
distinguish NaNs, so a register that only f32 arithmetic writes may be *non-canonical*: it holds any NaN that the
processor produced. In a module that flushes in hardware, a subnormal in such a register stands for zero. Arithmetic
reads the register as it is; stores, integer instructions and all others read its *canonicalised* value. So a loop of
arithmetic canonicalises nothing.

A module flushes in hardware when all its f32 arithmetic has `.ftz` and nothing in it needs subnormals. The processor
then treats subnormal operands and results as zeros from a kernel's first instruction to its last. Like the GPU, x86
flushes results that are below the least normal number after rounding to 24 bits.
"""

from collections.abc import Callable, Iterable

from warploom.engine.host_compiler.analysis.control_flow import defined, fact, registers
from warploom.engine.host_compiler.code import Code
from warploom.engine.host_compiler.types import is_float, types_of
from warploom.engine.ptx.tree import Float, Function, Instruction, Integer, Operand, Register

_ARITHMETIC = frozenset(
    (
        *("add", "sub", "mul", "mad", "fma", "div", "rcp", "sqrt", "rsqrt", "min", "max", "abs", "neg"),
        *("ex2", "lg2", "sin", "cos"),
    )
)
#: Opcodes that give the same result for any NaN in f32 sources.
_ANY_NAN = frozenset(("add", "sub", "mul", "mad", "fma", "min", "max", "setp"))
_DIRECTED = frozenset(("rz", "rm", "rp"))
_UNEVEN = frozenset(("rm", "rp", "rmi", "rpi"))  # whether a value is 0 or subnormal changes the result
#: Opcodes that only move bits, for all types.
_BITWISE = frozenset(("ld", "ldu", "st", "mov", "selp", "shfl", "call", "copysign"))
#: The function attribute of a module that flushes in hardware. It makes LLVM's constant folding flush as well.
ATTRIBUTE = '"denormal-fp-math-f32"="preserve-sign,preserve-sign"'
_MXCSR_FLUSH = 0x8040  # FTZ for results and DAZ for operands


def is_arithmetic(instruction: Instruction) -> bool:
    """Whether an instruction computes an f32 that, as a NaN, must be the GPU's NaN."""
    kinds = types_of(instruction)
    if instruction.opcode == "cvt":
        return len(kinds) == 2 and kinds[0] == "f32" and kinds[1] not in ("f64", "bf16")
    return instruction.opcode in _ARITHMETIC and kinds[-1:] == ["f32"]


@fact
def noncanonical(function: Function) -> set[str]:
    """Return the registers of a function that may hold non-canonical values."""
    return _only_written_by(function, is_arithmetic)


@fact
def flushed(function: Function) -> set[str]:
    """Return the registers that never hold a subnormal f32, since only `.ftz` arithmetic writes them."""
    return _only_written_by(function, lambda item: is_arithmetic(item) and "ftz" in item.modifiers)


@fact
def quiet(function: Function) -> set[str]:
    """Return the registers that never hold a signalling NaN, since minima, maxima or whole numbers are written there.

    LLVM may leave out other arithmetic, such as a product with 1, and then its result is the NaN that it was made from.
    """
    return _only_written_by(function, _is_quiet)


def _is_quiet(instruction: Instruction) -> bool:
    kinds = types_of(instruction)
    if instruction.opcode == "cvt":
        return kinds[0] == "f32" and not any(map(is_float, kinds[1:]))
    return instruction.opcode in ("min", "max") and kinds == ["f32"]


def _only_written_by(function: Function, is_source: Callable[[Instruction], bool]) -> set[str]:
    """Return the registers that only source instructions write, or copies of such registers or of numbers."""
    found, others = set[str](), set[str]()
    copies: list[tuple[str, list[str]]] = []
    for instruction in function.instructions:
        if is_source(instruction):
            found |= defined(instruction)
        elif (copy := _copy(instruction)) is not None:
            copies.append(copy)
            found.add(copy[0])
        elif instruction.opcode == "call":
            others.update(name for operand in instruction.operands for name in registers(operand))
        else:
            others |= defined(instruction)
    found -= others
    while wrong := {target for target, origins in copies if target in found and not found.issuperset(origins)}:
        found -= wrong
    return found


@fact
def read_by_arithmetic(function: Function) -> set[str]:
    """Return the registers that only f32 arithmetic and comparisons read, or copies into such registers.

    Which NaN they hold makes no difference.
    """
    found, others = set[str](), set[str]()
    copies: list[tuple[str, list[str]]] = []
    for instruction in function.instructions:
        if (copy := _copy(instruction, numbers=False)) is not None:
            copies.append(copy)
            found.add(copy[0])
        elif (
            instruction.opcode not in _ANY_NAN
            or types_of(instruction) != ["f32"]
            or "xorsign" in instruction.modifiers  # the sign of a NaN counts
        ):
            others.update(name for operand in instruction.operands for name in registers(operand))
    found -= others
    while wrong := {name for target, origins in copies if target not in found for name in origins} & found:
        found -= wrong
    return found


def _copy(instruction: Instruction, *, numbers: bool = True) -> tuple[str, list[str]] | None:
    """Return the target and the sources of a copy of 32 bits; None for any other instruction.

    With `numbers`, constants in it must be canonical.
    """
    kinds = types_of(instruction)
    if instruction.opcode not in ("mov", "selp") or len(instruction.modifiers) != 1 or kinds not in (["f32"], ["b32"]):
        return None
    target = instruction.operands[0]
    constants = (Integer, Float)
    sources = [
        item for item in instruction.operands[1:3] if not (_is_number(item) if numbers else isinstance(item, constants))
    ]
    if not isinstance(target, Register) or not all(isinstance(item, Register) for item in sources):
        return None
    return target.name, [item.name for item in sources if isinstance(item, Register)]


def _is_number(operand: Operand) -> bool:
    """Whether an operand is a constant that is canonical."""
    if isinstance(operand, Integer):
        raw = operand.value
    elif isinstance(operand, Float) and operand.width == 32:
        raw = operand.bits
    else:
        return False
    magnitude = raw & 0x7FFFFFFF
    return raw in (0, 0x80000000, 0x7FFFFFFF) or 0x00800000 <= magnitude <= 0x7F800000


def canonicalised(code: Code, value: str, *, flush: bool) -> str:
    """Return an f32 with the GPU's NaN in the place of any other, and with zeros for subnormals if `flush`.

    This is done on integers, since LLVM treats all NaNs as the same float.
    """
    if flush:
        value = code.value(f"call float @llvm.canonicalize.f32(float {value})")
    raw = code.value(f"bitcast float {value} to i32")
    magnitude = code.value(f"and i32 {raw}, 2147483647")
    is_nan = code.value(f"icmp ugt i32 {magnitude}, 2139095040")
    result = code.value(f"select i1 {is_nan}, i32 2147483647, i32 {raw}")
    return code.value(f"bitcast i32 {result} to float")


def flushes_in_hardware(functions: Iterable[Function], triple: str) -> bool:
    """Whether the kernels of a module may run with the processor's own flushing of subnormals."""
    instructions = [item for function in functions for item in function.instructions]
    return (
        triple.startswith("x86_64")
        and any("ftz" in item.modifiers for item in instructions)
        and all(_allows_flushing(item) for item in instructions)
    )


def _allows_flushing(instruction: Instruction) -> bool:
    """Whether an instruction gives the right result while the processor flushes subnormals."""
    name, modifiers = instruction.opcode, set(instruction.modifiers)
    if any(isinstance(item, Float) and not _is_number(item) for item in instruction.operands):
        return False  # LLVM folds constants and does not always flush them
    if name in _BITWISE:
        return True
    if name == "cvt":
        return _conversion_allows_flushing(instruction)
    if name in ("mma", "wmma", "testp") or {"f64", "f32x2", "bf16", "bf16x2"} & modifiers:
        return False
    if name in ("atom", "red"):
        return "f32" not in modifiers or not any(item.startswith("shared") for item in modifiers)
    if name == "tanh":
        return True  # it returns small numbers unchanged
    return "f32" not in modifiers or ("ftz" in modifiers and not _DIRECTED & modifiers)


def _conversion_allows_flushing(instruction: Instruction) -> bool:
    kinds, modifiers = types_of(instruction), set(instruction.modifiers)
    floats = [kind for kind in kinds if is_float(kind)]
    if not floats or floats == ["f16"]:
        return True
    if len(kinds) != 2 or "f64" in kinds or "f32" not in kinds:
        return False
    if {"bf16", "bf16x2"} & set(kinds):
        return not {"relu", "satfinite", "sat"} & modifiers
    return "ftz" in modifiers or ((len(floats) == 1 or floats[0] != floats[1]) and not _UNEVEN & modifiers)


def flushing_entry(name: str, text: str) -> str:
    """Return a kernel's text with an entry `name` that makes the processor flush while the kernel runs."""
    inner = f'@"{name}|flushing"'
    formal = text.split(f'define i32 @"{name}"(')[1].split(") #0 ")[0]
    actual = formal.replace(" noalias", "")
    begin = f'define i32 @"{name}"({formal}) '
    return (
        text.replace(begin, f"define internal i32 {inner}({formal}) noinline ")
        + f"""{begin}#0 {{
  %mode = alloca i32
  %flushing = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %mode)
  %before = load i32, ptr %mode
  %with = or i32 %before, {_MXCSR_FLUSH}
  store i32 %with, ptr %flushing
  call void @llvm.x86.sse.ldmxcsr(ptr %flushing)
  %result = call i32 {inner}({actual})
  call void @llvm.x86.sse.ldmxcsr(ptr %mode)
  ret i32 %result
}}
"""
    )
