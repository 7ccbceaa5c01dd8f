"""Fast variants for f32, from the approximations that GPUs have an instruction for."""

import math

from llvmlite import ir

from engine.ops.functions.value import Value


def _approximate(instruction: str, x: Value) -> Value:
    kind = x.format.type
    assembly = ir.InlineAsm(ir.FunctionType(kind, [kind]), f"{instruction} $0, $1;", "=f,f")
    return Value(x.builder, x.format, x.builder.call(assembly, [x.raw]))


def sin(x: Value) -> Value:
    return _approximate("sin.approx.f32", x)


def cos(x: Value) -> Value:
    return _approximate("cos.approx.f32", x)


def tan(x: Value) -> Value:
    return sin(x) / cos(x)


def exp2(x: Value) -> Value:
    return _approximate("ex2.approx.f32", x)


def exp(x: Value) -> Value:
    return exp2(x * math.log2(math.e))


def exp10(x: Value) -> Value:
    return exp2(x * math.log2(10))


def log2(x: Value) -> Value:
    return _approximate("lg2.approx.f32", x)


def log(x: Value) -> Value:
    return log2(x) * math.log(2)


def log10(x: Value) -> Value:
    return log2(x) * math.log10(2)


def pow(x: Value, y: Value) -> Value:
    return exp2(y * log2(x))


def tanh(x: Value) -> Value:
    return _approximate("tanh.approx.f32", x)


def rsqrt(x: Value) -> Value:
    return _approximate("rsqrt.approx.f32", x)


def sqrt(x: Value) -> Value:
    return _approximate("sqrt.approx.f32", x)
