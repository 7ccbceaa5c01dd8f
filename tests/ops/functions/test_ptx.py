"""The PTX of the functions."""

import re

import pytest
from llvmlite import ir

from tests.ops.functions.running import DTYPES, compiled
from warploom.engine.ops.functions import FUNCTIONS
from warploom.engine.ops.functions.table import called, definition
from warploom.engine.ops.lowering.ptx import inlined

#: Operations on floats that round. Without `.rn`, the assembler of a GPU may merge two of them.
_ROUNDING = ("add", "sub", "mul", "div", "fma", "sqrt", "rcp")


def _opcodes(ptx: str) -> list[str]:
    return re.findall(r"^\s+(?:@!?%p\d+ )?([a-z][\w.]+)", ptx, re.MULTILINE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation_rounds_to_nearest_and_none_is_merged(dtype: str) -> None:
    """Sums, products, quotients and roots have `.rn` and keep subnormals; there are no more fma than ops ask for."""
    ptx, text = compiled(tuple(FUNCTIONS), dtype)
    definitions = [definition(name).text for name in called(text)]
    fused = sum(part.count(f'@"llvm.fma.{dtype}"(') for part in definitions)
    for opcodes in (_opcodes(ptx), _opcodes(inlined(text))):
        rounding = {code for code in opcodes if code.endswith(f".{dtype}") and code.split(".")[0] in _ROUNDING}
        assert rounding == {f"{name}.rn.{dtype}" for name in _ROUNDING}
        assert opcodes.count(f"fma.rn.{dtype}") <= fused
        assert not {code for code in opcodes if "approx" in code or "ftz" in code}


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_function_needs_memory(dtype: str) -> None:
    """Functions use neither tables nor local memory, and only `fmod` and `mod` have a loop."""
    ptx, text = compiled(tuple(FUNCTIONS), dtype)
    parts = re.findall(r"\.(entry|func)\b[^\n]*?(\w+)_f\d\d\(((?:[^;{]|\n)*?\n\{.*?)\n}", ptx, re.DOTALL)
    assert not re.search(r"\.(extern|local|const)\b", ptx + inlined(text))
    assert [name for kind, name, _ in parts if kind == "entry"] == list(FUNCTIONS)
    functions = [name for kind, name, _ in parts if kind == "func"]
    assert functions == [f"warploom_{name}" for name, item in FUNCTIONS.items() if not item.is_short]
    assert {name for _, name, body in parts if _has_loop(body)} == {"warploom_fmod", "warploom_mod"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_kernels_of_inlined_ptx_call_nothing(dtype: str) -> None:
    """The inlined PTX has the same kernels, each with the loop of the function that it called."""
    inline = inlined(compiled(tuple(FUNCTIONS), dtype)[1])
    assert not re.search(r"\b(call|\.func)\b", inline)
    kernels = re.findall(r"\.entry (\w+)_f\d\d\((.*?)\n}", inline, re.DOTALL)
    assert [name for name, _ in kernels] == list(FUNCTIONS)
    assert {name for name, body in kernels if _has_loop(body)} == {"fmod", "mod"}


def _has_loop(body: str) -> bool:
    places = {label: match.start() for match in re.finditer(r"^(\$\w+):", body, re.MULTILINE) for label in [match[1]]}
    return any(places[match[1]] < match.start() for match in re.finditer(r"\bbra\w*(?:\.uni)? \t?(\$\w+);", body))


def test_a_module_has_each_function_once() -> None:
    """Two calls share one function, f64 has its own, and a module's text is always the same."""

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
    assert called(text) == ["warploom_exp_f32", "warploom_exp_f64"]
    assert len(re.findall(r"call float @\"warploom_exp_f32\"", text)) == 2
