"""Pixels of pictures: how kernels read half4 and uchar4 as linear RGBA in f32, and write it.

A half4 holds linear numbers, rounded to nearest. A uchar4 holds codes from 0 to 255: those of sRGB for red, green and
blue, and 255 times alpha. Eight bits of linear light would have too few steps where it is dark. Codes are rounded to
nearest, ties to even; numbers beyond 0 and 1 become the nearest code, and NaN becomes 0. Both directions are computed
without a power, which would cost more than the rest of most kernels: codes are read within 0.004 of a step, and written
within 0.01 of one. Writing what was read gives the same code. `kernels/warploom/pixel.h` computes the same bits in CUDA
C++.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import ir

from warploom.engine.ops.emission import I8, I32, LLVM, Emission
from warploom.engine.ops.graph import OpGraph, OpNode
from warploom.engine.types import f32

_F32 = LLVM[f32]
#: The ends of sRGB's linear part in codes and in light, and its slope.
_LAST_LINEAR, _DARK, _SLOPE = 10.0, 0.0031308, 12.92
#: ((x + 0.055) / 1.055)^2.4 for codes x from 11 / 255 to 1, by powers of x.
_TO_LIGHT = (
    0.0008751549758017063,
    0.03439952805638313,
    0.4990750849246979,
    0.768050491809845,
    -0.5337648391723633,
    0.3167213499546051,
    -0.08538620918989182,
)
#: The inverse from _DARK to 1, by 1, x, the square root of x, its root, and the product of both roots.
_TO_CODE = (-0.064611562, 0.081329678, 1.1226810, 0.19613609, -0.33550082)


def from_codes(emission: Emission, codes: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
    """Return the linear RGBA of four codes (i8)."""
    builder = emission.builder
    numbers = [builder.uitofp(code, _F32) for code in codes]
    return (*(_light(emission, number) for number in numbers[:3]), builder.fmul(numbers[3], _constant(1 / 255)))


def to_codes(emission: Emission, parts: Sequence[ir.Value]) -> tuple[ir.Value, ...]:
    """Return the four codes (i8) of linear RGBA."""
    *color, alpha = [_saturated(emission, part) for part in parts]
    return tuple(_rounded(emission, part) for part in (*(_encoded(emission, part) for part in color), alpha))


def with_pixels(graph: OpGraph, pixels: Mapping[str, str]) -> OpGraph:
    """Return a graph that reads and writes these pixels, by the names of inputs and outputs, instead of float4."""
    nodes = []
    for node in graph.nodes:
        name = node.parameters.get("name") or node.id
        if node.type in ("op.input", "op.output") and name in pixels:
            node = OpNode(node.id, node.type, node.region, {**node.parameters, "type": pixels[name]})
        nodes.append(node)
    return OpGraph(tuple(nodes), graph.connections)


def _constant(number: float) -> ir.Constant:
    return ir.Constant(_F32, number)


def _fma(emission: Emission, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    return emission.call("llvm.fma.f32", _F32, [a, b, c])


def _light(emission: Emission, number: ir.Value) -> ir.Value:
    builder = emission.builder
    x = builder.fmul(number, _constant(1 / 255))
    curve: ir.Value = _constant(_TO_LIGHT[-1])
    for factor in _TO_LIGHT[-2::-1]:
        curve = _fma(emission, curve, x, _constant(factor))
    is_linear = builder.fcmp_ordered("<=", number, _constant(_LAST_LINEAR))
    return builder.select(is_linear, builder.fmul(x, _constant(1 / _SLOPE)), curve)


def _saturated(emission: Emission, part: ir.Value) -> ir.Value:
    """Return a number from 0 to 1; 0 for NaN."""
    above = emission.call("llvm.maxnum.f32", _F32, [part, _constant(0.0)])
    return emission.call("llvm.minnum.f32", _F32, [above, _constant(1.0)])


def _encoded(emission: Emission, light: ir.Value) -> ir.Value:
    builder = emission.builder
    root = emission.call("llvm.sqrt.f32", _F32, [light])
    fourth = emission.call("llvm.sqrt.f32", _F32, [root])
    curve: ir.Value = _constant(_TO_CODE[0])
    for factor, power in zip(_TO_CODE[1:], (light, root, fourth, builder.fmul(root, fourth)), strict=True):
        curve = _fma(emission, power, _constant(factor), curve)
    is_dark = builder.fcmp_ordered("<=", light, _constant(_DARK))
    return _saturated(emission, builder.select(is_dark, builder.fmul(light, _constant(_SLOPE)), curve))


def _rounded(emission: Emission, share: ir.Value) -> ir.Value:
    number = emission.call("llvm.roundeven.f32", _F32, [emission.builder.fmul(share, _constant(255.0))])
    return emission.builder.trunc(emission.builder.fptoui(number, I32), I8)
