"""Fast variants for f32, from the approximations that GPUs have an instruction for."""

import math

from llvmlite import ir

from warploom.engine.ops.functions.value import ScalarValue


def _approximate(instruction: str, x: ScalarValue) -> ScalarValue:
    kind = x.format.type
    assembly = ir.InlineAsm(ir.FunctionType(kind, [kind]), f"{instruction} $0, $1;", "=f,f")
    return ScalarValue(x.builder, x.format, x.builder.call(assembly, [x.raw]))


def sin(x: ScalarValue) -> ScalarValue:
    return _approximate("sin.approx.f32", x)


def cos(x: ScalarValue) -> ScalarValue:
    return _approximate("cos.approx.f32", x)


def tan(x: ScalarValue) -> ScalarValue:
    return sin(x) / cos(x)


def exp2(x: ScalarValue) -> ScalarValue:
    return _approximate("ex2.approx.f32", x)


def exp(x: ScalarValue) -> ScalarValue:
    return exp2(x * math.log2(math.e))


def exp10(x: ScalarValue) -> ScalarValue:
    return exp2(x * math.log2(10))


def log2(x: ScalarValue) -> ScalarValue:
    return _approximate("lg2.approx.f32", x)


def log(x: ScalarValue) -> ScalarValue:
    return log2(x) * math.log(2)


def log10(x: ScalarValue) -> ScalarValue:
    return log2(x) * math.log10(2)


def pow(x: ScalarValue, y: ScalarValue) -> ScalarValue:
    return exp2(y * log2(x))


def tanh(x: ScalarValue) -> ScalarValue:
    return _approximate("tanh.approx.f32", x)


def rsqrt(x: ScalarValue) -> ScalarValue:
    return _approximate("rsqrt.approx.f32", x)


def sqrt(x: ScalarValue) -> ScalarValue:
    return _approximate("sqrt.approx.f32", x)
