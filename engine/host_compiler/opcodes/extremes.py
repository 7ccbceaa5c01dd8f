"""Minima and maxima of floats.

Of a number and a NaN, the result is the number; -0 is below +0. That takes a processor five instructions or more, but
x86 with AVX-512 has one, VRANGE, whose results are the same unless a NaN is signalling. For it, the translator writes
`llvm.minimumnum` and `llvm.maximumnum` of numbers that are not, which the optimiser makes vectors of. Since LLVM would
compile these to six instructions, `with_range` puts VRANGE in their place after that.
"""

import re

from warploom.engine.host_compiler.body import Body
from warploom.engine.host_compiler.opcodes.rounding import QUIET_NAN
from warploom.engine.host_compiler.types import llvm_type

_CALL = re.compile(
    r"^ *(?P<result>%\S+) = [^@\n]*@llvm\.(?P<name>min|max)imumnum\.(?P<lanes>v\d+)?f(?P<bits>32|64)"
    r"\((?P<operands>.*)\).*$",
    re.MULTILINE,
)
_CURRENT_ROUNDING = "i32 4"


def has_range(triple: str, features: str) -> bool:
    """Return whether a processor has VRANGE for vectors of all sizes."""
    return triple.startswith("x86_64") and {"+avx512dq", "+avx512vl"} <= set(features.split(","))


def with_range(text: str) -> str:
    """Return optimised LLVM text with VRANGE in the place of minima and maxima."""

    def replaced(call: re.Match[str]) -> str:
        result, operands, bits = call["result"], call["operands"], int(call["bits"])
        element, letter = ("float", "s") if bits == 32 else ("double", "d")
        lanes = int((call["lanes"] or f"v{128 // bits}")[1:])
        if lanes * bits not in (128, 256, 512):
            return call[0]  # LLVM splits other vectors
        kind, mask = f"<{lanes} x {element}>", "i16" if lanes == 16 else "i8"
        which = f"i32 {4 if call['name'] == 'min' else 5}"  # the result keeps its sign
        if not call["lanes"]:
            function = f"@llvm.x86.avx512.mask.range.s{letter}"
            names = [f'%"{part} {result[1:].strip(chr(34))}"' for part in ("first of", "second of", "vector of")]
            lines = [
                f"{name} = insertelement {kind} poison, {operand}, i64 0"
                for name, operand in zip(names, operands.split(", "), strict=False)
            ]
            vectors = ", ".join(f"{kind} {item}" for item in (names[0], names[1], "poison"))
            lines += [
                f"{names[2]} = call {kind} {function}({vectors}, i8 -1, {which}, {_CURRENT_ROUNDING})",
                f"{result} = extractelement {kind} {names[2]}, i64 0",
            ]
            return "\n".join(lines)
        function = f"@llvm.x86.avx512.mask.range.p{letter}.{lanes * bits}"
        end = f", {_CURRENT_ROUNDING}" * (lanes * bits == 512)
        return f"{result} = call {kind} {function}({operands}, {which}, {kind} poison, {mask} -1{end})"

    return _CALL.sub(replaced, text)


def extreme(
    body: Body,
    name: str,
    kind: str,
    a: str,
    b: str,
    *,
    propagate: bool = False,
    any_nan: bool = False,
    quiet: tuple[bool, bool] = (False, False),
) -> str:
    """Return the minimum or maximum of two f32 or f64.

    Of a number and a NaN it is the number, or the NaN when `propagate`; -0 is below +0. A NaN is the GPU's, unless
    `any_nan` will do. `quiet` says which of the two is known to be no signalling NaN.
    """
    code, llvm = body.code, llvm_type(kind)
    if body.layout.has_range:
        a, b = (
            item if is_quiet else code.value(f"call {llvm} @llvm.canonicalize.{kind}({llvm} {item})")
            for item, is_quiet in zip((a, b), quiet, strict=True)
        )
        value = code.value(f"call {llvm} @llvm.{name}imumnum.{kind}({llvm} {a}, {llvm} {b})")
    else:
        value = _compared(body, name, kind, a, b)
    if propagate:
        is_nan = code.value(f"fcmp uno {llvm} {a}, {b}")
    elif any_nan:
        return value
    else:
        is_nan = code.value(f"fcmp uno {llvm} {value}, {value}")
    return code.value(f"select i1 {is_nan}, {llvm} {QUIET_NAN[kind]}, {llvm} {value}")


def _compared(body: Body, name: str, kind: str, a: str, b: str) -> str:
    """Return the minimum or maximum by comparisons."""
    code, llvm = body.code, llvm_type(kind)
    less = code.value(f"fcmp {'olt' if name == 'min' else 'ogt'} {llvm} {a}, {b}")
    value = code.value(f"select i1 {less}, {llvm} {a}, {llvm} {b}")
    integer = "i32" if kind == "f32" else "i64"
    raw_a, raw_b = (code.value(f"bitcast {llvm} {item} to {integer}") for item in (a, b))
    zeros = code.value(f"{'or' if name == 'min' else 'and'} {integer} {raw_a}, {raw_b}")
    equal = code.value(f"fcmp oeq {llvm} {a}, {b}")
    zero = code.value(f"bitcast {integer} {zeros} to {llvm}")
    value = code.value(f"select i1 {equal}, {llvm} {zero}, {llvm} {value}")
    return code.value(f"select i1 {code.value(f'fcmp uno {llvm} {b}, {b}')}, {llvm} {a}, {llvm} {value}")
