"""What the functions become in PTX."""

import re

import pytest
from llvmlite import ir

from engine.ops.functions import FUNCTIONS
from tests.ops.functions.running import DTYPES, compiled

#: Operations on floats that round. Without `.rn` the assembler of a GPU may merge two of them into one.
_ROUNDING = ("add", "sub", "mul", "div", "fma", "sqrt", "rcp")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation_rounds_to_nearest_and_none_is_merged(dtype: str) -> None:
    """Sums, products, quotients and roots have `.rn` and keep subnormals; each fma is one that was asked for."""
    ptx, text = compiled(tuple(FUNCTIONS), dtype)
    opcodes = re.findall(r"^\s+(?:@!?%p\d+ )?([a-z][\w.]+)", ptx, re.MULTILINE)
    rounding = {code for code in opcodes if code.endswith(f".{dtype}") and code.split(".")[0] in _ROUNDING}
    assert rounding == {f"{name}.rn.{dtype}" for name in _ROUNDING}
    assert opcodes.count(f"fma.rn.{dtype}") <= text.count(f'@"llvm.fma.{dtype}"(') - 1  # its declaration
    assert not {code for code in opcodes if "approx" in code or "ftz" in code}


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_kernel_needs_no_memory_and_calls_nothing(dtype: str) -> None:
    """All is inlined: no calls, no tables in memory, no local memory, and only `fmod` and `mod` have a loop."""
    ptx, _ = compiled(tuple(FUNCTIONS), dtype)
    assert not re.search(r"\b(call|\.func|\.extern|\.local|\.const|ld\.(const|local))\b", ptx)
    kernels = re.findall(r"\.entry (\w+)_f\d\d\((.*?)\n}", ptx, re.DOTALL)
    assert [name for name, _ in kernels] == list(FUNCTIONS)
    looping = {name for name, body in kernels if _has_loop(body)}
    assert looping == {"fmod", "mod"}


def _has_loop(body: str) -> bool:
    places = {label: match.start() for match in re.finditer(r"^(\$\w+):", body, re.MULTILINE) for label in [match[1]]}
    return any(places[match[1]] < match.start() for match in re.finditer(r"\bbra\w*(?:\.uni)? \t?(\$\w+);", body))


def test_a_module_defines_each_function_once() -> None:
    """Two calls share one definition; f64 has its own; a module's text is the same every time."""

    def module() -> ir.Module:
        made = ir.Module()
        kinds = [ir.FloatType(), ir.DoubleType()]
        function = ir.Function(made, ir.FunctionType(ir.VoidType(), kinds), "caller")
        builder = ir.IRBuilder(function.append_basic_block())
        single, double = function.args
        FUNCTIONS["exp"].emit(builder, FUNCTIONS["exp"].emit(builder, single))
        FUNCTIONS["exp"].emit(builder, double)
        builder.ret_void()
        return made

    text = str(module())
    assert text == str(module())
    assert re.findall(r"^define internal \w+ @\"(\w+)\"", text, re.MULTILINE) == [
        "warploom_exp_f32",
        "warploom_exp_f64",
    ]
    assert len(re.findall(r"call float @\"warploom_exp_f32\"", text)) == 2
