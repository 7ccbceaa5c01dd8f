"""The table of functions, and how a module gets the code of one."""

import re
from collections.abc import Callable, Sequence
from functools import cache

import msgspec
from llvmlite import ir

from warploom.engine.ops.functions import exponential, fast, logarithmic, power, rounding, trigonometric
from warploom.engine.ops.functions.value import F32, F64, Format, ScalarValue

FunctionBody = Callable[..., ScalarValue]
_PREFIX = "warploom_"
_DECLARED = re.compile(rf'^declare \w+ @"({_PREFIX}\w+)"', re.MULTILINE)


class MathFunction(msgspec.Struct, frozen=True):
    """A function of floats, for f32 and f64.

    `ulp` is the largest error, in units in the last place of the exact result, which may be subnormal. README.md
    describes how it is derived.
    """

    name: str
    #: The title of its op; "" without one, since op.modulo and op.remainder take whole numbers too.
    title: str
    body: FunctionBody
    ulp: float
    #: Built from approximate instructions, for f32 only; the relative error is about 2^-20.
    fast_body: FunctionBody | None = None
    #: True for one or two instructions, which are written in place instead of called.
    is_short: bool = False

    @property
    def doc(self) -> str:
        """The function's description, in one sentence."""
        return self.body.__doc__ or ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its arguments."""
        code = self.body.__code__
        return code.co_varnames[: code.co_argcount]

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.parameters)

    def emit(self, builder: ir.IRBuilder, *arguments: ir.Value) -> ir.Value:
        """Write the code of the function for one or two floats of the same type, and return its value.

        A longer function becomes a call of a function that the module declares; `definition` returns that function.
        """
        if self.is_short:
            return _in_place(self.body, builder, arguments)
        format, module = _format(arguments), builder.module
        name = f"{_PREFIX}{self.name}_{format.name}"
        declared = module.globals.get(name)
        if declared is None:
            declared = ir.Function(module, ir.FunctionType(format.type, [format.type] * self.arity), name)
        return builder.call(declared, arguments)

    def emit_fast(self, builder: ir.IRBuilder, *arguments: ir.Value) -> ir.Value:
        """Write the fast variant for f32, or the code of `emit` if there is none."""
        if self.fast_body is None or _format(arguments) is not F32:
            return self.emit(builder, *arguments)
        return _in_place(self.fast_body, builder, arguments)


def _format(arguments: Sequence[ir.Value]) -> Format:
    return F32 if isinstance(arguments[0].type, ir.FloatType) else F64


def _in_place(body: FunctionBody, builder: ir.IRBuilder, arguments: Sequence[ir.Value]) -> ir.Value:
    format = _format(arguments)
    return body(*(ScalarValue(builder, format, argument) for argument in arguments)).raw


class Definition(msgspec.Struct, frozen=True):
    """A function as LLVM IR that other modules can call, with the declarations of the intrinsics that it uses."""

    name: str
    text: str
    intrinsics: dict[str, str]


def called(text: str) -> list[str]:
    """Return the names of the functions that a module's LLVM IR declares but does not define."""
    return _DECLARED.findall(text)


@cache
def definition(name: str) -> Definition:
    """Return the definition of a function that a module declares by this name."""
    stem, _, dtype = name.removeprefix(_PREFIX).rpartition("_")
    found, format = FUNCTIONS[stem], F32 if dtype == F32.name else F64
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(format.type, [format.type] * found.arity), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(_in_place(found.body, builder, function.args))
    return Definition(
        name, str(function), {item.name: str(item) for item in module.globals.values() if item is not function}
    )


_FUNCTIONS = (
    MathFunction("sin", "Sine", trigonometric.sin, 1.3, fast.sin),
    MathFunction("cos", "Cosine", trigonometric.cos, 1.3, fast.cos),
    MathFunction("tan", "Tangent", trigonometric.tan, 1.3, fast.tan),
    MathFunction("asin", "Arc Sine", trigonometric.asin, 1.2),
    MathFunction("acos", "Arc Cosine", trigonometric.acos, 1.2),
    MathFunction("atan", "Arc Tangent", trigonometric.atan, 1.8),
    MathFunction("atan2", "Arc Tangent 2", trigonometric.atan2, 1.8),
    MathFunction("sinh", "Hyperbolic Sine", exponential.sinh, 1.7),
    MathFunction("cosh", "Hyperbolic Cosine", exponential.cosh, 1.5),
    MathFunction("tanh", "Hyperbolic Tangent", exponential.tanh, 1.5, fast.tanh),
    MathFunction("asinh", "Inverse Hyperbolic Sine", logarithmic.asinh, 1.8),
    MathFunction("acosh", "Inverse Hyperbolic Cosine", logarithmic.acosh, 1.8),
    MathFunction("atanh", "Inverse Hyperbolic Tangent", logarithmic.atanh, 1.8),
    MathFunction("exp", "Exponential", exponential.exp, 1.1, fast.exp),
    MathFunction("exp2", "Power of 2", exponential.exp2, 1.1, fast.exp2),
    MathFunction("exp10", "Power of 10", exponential.exp10, 1.2, fast.exp10),
    MathFunction("expm1", "Exponential Minus 1", exponential.expm1, 1.9),
    MathFunction("log", "Logarithm", logarithmic.log, 1.0, fast.log),
    MathFunction("log2", "Logarithm to Base 2", logarithmic.log2, 1.3, fast.log2),
    MathFunction("log10", "Logarithm to Base 10", logarithmic.log10, 1.0, fast.log10),
    MathFunction("log1p", "Logarithm of 1 Plus", logarithmic.log1p, 1.6),
    MathFunction("pow", "Power", power.pow, 1.2, fast.pow),
    MathFunction("sqrt", "Square Root", power.sqrt, 0.5, fast.sqrt, is_short=True),
    MathFunction("rsqrt", "Reciprocal Square Root", power.rsqrt, 1.5, fast.rsqrt, is_short=True),
    MathFunction("cbrt", "Cube Root", power.cbrt, 0.6),
    MathFunction("hypot", "Hypotenuse", power.hypot, 1.1),
    MathFunction("floor", "Floor", rounding.floor, 0.0, is_short=True),
    MathFunction("ceil", "Ceiling", rounding.ceil, 0.0, is_short=True),
    MathFunction("trunc", "Truncate", rounding.trunc, 0.0, is_short=True),
    MathFunction("round", "Round", rounding.round_half_even, 0.0, is_short=True),
    MathFunction("round_away", "Round Away", rounding.round_half_away, 0.0),
    MathFunction("fract", "Fraction", rounding.fract, 1.0),  # 1 unit for tiny negative numbers, else half
    MathFunction("fmod", "", rounding.fmod, 0.0),
    MathFunction("mod", "", rounding.mod, 0.5),
    MathFunction("erf", "Error Function", exponential.erf, 1.1),
    MathFunction("erfc", "Complementary Error Function", exponential.erfc, 1.6),
)
FUNCTIONS = {function.name: function for function in _FUNCTIONS}
