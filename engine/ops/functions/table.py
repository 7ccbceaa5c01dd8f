"""The table of functions, and how one gets into a module."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from llvmlite import ir

from engine.ops.functions import error_function, exponential, fast, logarithmic, power, rounding, trigonometric
from engine.ops.functions.value import FORMATS, Format, Value

Body = Callable[..., Value]


@dataclass(frozen=True)
class Function:
    """A function of floats, for f32 and f64.

    `ulp` is the largest error for each dtype, in units in the last place of the exact result. Subnormals are kept.
    """

    name: str
    body: Body
    ulp: dict[str, float]
    #: From approximate instructions, for f32 only; 2^-20 or so.
    fast_body: Body | None = None
    #: One or two instructions, which are written in place.
    is_short: bool = False

    @property
    def doc(self) -> str:
        """What it gives, in a sentence."""
        return self.body.__doc__ or ""

    @property
    def arity(self) -> int:
        """How many arguments it takes."""
        return self.body.__code__.co_argcount

    def emit(self, builder: ir.IRBuilder, *arguments: ir.Value) -> ir.Value:
        """Write the function of one or two floats, which are of one type, and return its value.

        Longer functions become an internal function of the module, with `alwaysinline`, and a call: run LLVM's
        always-inline pass before PTX is written.
        """
        return self._emit(builder, self.body, arguments, "")

    def emit_fast(self, builder: ir.IRBuilder, *arguments: ir.Value) -> ir.Value:
        """Write the fast variant for f32; the same as `emit` where there is none."""
        if self.fast_body is None or not isinstance(arguments[0].type, ir.FloatType):
            return self.emit(builder, *arguments)
        return self._emit(builder, self.fast_body, arguments, "fast_")

    def _emit(self, builder: ir.IRBuilder, body: Body, arguments: tuple[ir.Value, ...], prefix: str) -> ir.Value:
        format = FORMATS["f32" if isinstance(arguments[0].type, ir.FloatType) else "f64"]
        if self.is_short or prefix:
            return body(*(Value(builder, format, argument) for argument in arguments)).raw
        name = f"warploom_{self.name}_{format.name}"
        written = _written(name, body, self.arity, format)
        module = builder.module
        if name not in module.globals:
            for declared, signature in written.declarations.items():
                if declared not in module.globals:
                    ir.Function(module, signature, declared)
            _Definition(module, written.signature, name, written.text)
        return builder.call(module.globals[name], arguments)


@dataclass(frozen=True)
class _Written:
    text: str
    signature: ir.FunctionType
    declarations: dict[str, ir.FunctionType] = field(default_factory=dict)


class _Definition(ir.Function):  # type: ignore[misc]  # llvmlite has no types
    """A function whose text is there already: making it takes llvmlite longer than all that LLVM does with it."""

    def __init__(self, module: ir.Module, signature: ir.FunctionType, name: str, text: str) -> None:
        super().__init__(module, signature, name)
        self._text = text

    @property
    def is_declaration(self) -> bool:
        return False

    def __str__(self) -> str:
        return self._text


@cache
def _written(name: str, body: Body, arity: int, format: Format) -> _Written:
    """Return the text of a function, and what it needs declared."""
    module = ir.Module()
    signature = ir.FunctionType(format.type, [format.type] * arity)
    function = ir.Function(module, signature, name)
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(body(*(Value(builder, format, argument) for argument in function.args)).raw)
    others = {item.name: item.function_type for item in module.globals.values() if item is not function}
    return _Written(str(function), signature, others)


def _all() -> tuple[Function, ...]:
    two = {"f32": 2.0, "f64": 2.0}
    exact = {"f32": 0.5, "f64": 0.5}
    return (
        Function("sin", trigonometric.sin, two, fast.sin),
        Function("cos", trigonometric.cos, two, fast.cos),
        Function("tan", trigonometric.tan, two, fast.tan),
        Function("asin", trigonometric.asin, two),
        Function("acos", trigonometric.acos, two),
        Function("atan", trigonometric.atan, two),
        Function("atan2", trigonometric.atan2, two),
        Function("sinh", exponential.sinh, two),
        Function("cosh", exponential.cosh, two),
        Function("tanh", exponential.tanh, two, fast.tanh),
        Function("asinh", logarithmic.asinh, two),
        Function("acosh", logarithmic.acosh, two),
        Function("atanh", logarithmic.atanh, two),
        Function("exp", exponential.exp, two, fast.exp),
        Function("exp2", exponential.exp2, two, fast.exp2),
        Function("exp10", exponential.exp10, two, fast.exp10),
        Function("expm1", exponential.expm1, two),
        Function("log", logarithmic.log, two, fast.log),
        Function("log2", logarithmic.log2, two, fast.log2),
        Function("log10", logarithmic.log10, two, fast.log10),
        Function("log1p", logarithmic.log1p, two),
        Function("pow", power.pow, two, fast.pow),
        Function("sqrt", power.sqrt, exact, fast.sqrt, is_short=True),
        Function("rsqrt", power.rsqrt, two, fast.rsqrt, is_short=True),
        Function("cbrt", power.cbrt, two),
        Function("hypot", power.hypot, two),
        Function("floor", rounding.floor, exact, is_short=True),
        Function("ceil", rounding.ceil, exact, is_short=True),
        Function("trunc", rounding.trunc, exact, is_short=True),
        Function("round", rounding.round_half_even, exact, is_short=True),
        Function("round_away", rounding.round_half_away, exact),
        Function("fract", rounding.fract, {"f32": 1.0, "f64": 1.0}),
        Function("fmod", rounding.fmod, exact),
        Function("mod", rounding.mod, exact),
        Function("erf", error_function.erf, two),
        Function("erfc", error_function.erfc, two),
    )


FUNCTIONS: dict[str, Function] = {function.name: function for function in _all()}
