"""Text that no compiler writes fails with an error that names its line, also for endless numbers and deep brackets."""

import pytest

from warploom.engine.ptx import parse
from warploom.engine.ptx.lexer import MAX_NESTING, PtxSyntaxError
from warploom.engine.ptx.tree import Integer

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
DEEP, LONG = 3000, "1" * 5000


def kernel(body, declarations=""):
    return f"{HEAD}{declarations}\n.visible .entry k(.param .u64 x) {{ .reg .b32 %r<3>; .reg .b64 %d;\n{body}\nret; }}"


def moved(value):
    return kernel(f"mov.u32 %r1, {value};")


@pytest.mark.parametrize(
    "text",
    [
        moved("(" * DEEP + "1" + ")" * DEEP),
        moved("-" * DEEP + "1"),
        moved("!" * DEEP + "1"),
        moved("1?1:" * DEEP + "1"),
        moved("1||1&&1|1^1&1==1<1<<1+1*(" * DEEP + "1"),
        moved("{" * DEEP + "%r2" + "}" * DEEP),
        kernel("call " + "(" * DEEP + "f" + ")" * DEEP + ";"),
        kernel("{" * DEEP + "}" * DEEP),
        kernel("", ".global .b32 t[4] = " + "{" * DEEP + "1" + "}" * DEEP + ";"),
        kernel("", ".global .b8 t[4] = {" + "0xFF(" * DEEP + "t" + ")" * DEEP + "};"),
    ],
)
def test_brackets_in_each_other_have_a_depth(text):
    """Brackets nested deeper than `MAX_NESTING` are refused before they reach Python's recursion limit."""
    with pytest.raises(PtxSyntaxError, match=f"at most {MAX_NESTING} parts in each other") as refused:
        parse(text)
    assert refused.value.line


@pytest.mark.parametrize(
    "text",
    [
        moved(LONG),
        moved(f"0x{LONG}"),
        moved(f"1.{LONG}"),
        kernel(f"ld.global.u32 %r1, [%d+{LONG}];"),
        kernel(f".reg .b32 %s<{LONG}>;"),
        kernel("", f".global .b32 t[{LONG}];"),
        kernel(f".loc 1 {LONG} 1"),
        kernel("").replace("8.0", LONG),
        kernel("").replace("8.0", f"8.{LONG}"),
        moved("(.s64)1e999"),
        moved("(.u64)(1e308*1e308-1e308*1e308)"),
        kernel(f".reg .b{LONG} %s;"),
        kernel(".reg .foo %s;"),
    ],
)
def test_numbers_have_a_length(text):
    """Overlong numbers are refused, as are infinity converted to an integer and unknown types."""
    with pytest.raises(PtxSyntaxError) as refused:
        parse(text)
    assert refused.value.line and len(str(refused.value)) < 300


def test_a_register_with_an_endless_number_is_not_one_of_a_family():
    """A register with an endless number is looked up by its name, like any other register."""
    parse(kernel(f"mov.u32 %r1, %r{LONG};"))


@pytest.mark.parametrize("target", ["k", "f", "nobody", "declared"])
def test_an_alias_stands_for_a_function_of_the_module(target):
    """An alias for a kernel, for itself, or for a function without a body is refused."""
    text = kernel("", ".visible .func f();\n.visible .func declared();") + f"\n.alias f, {target};"
    with pytest.raises(PtxSyntaxError, match=f"must name a .func that this module defines, got {target}") as refused:
        parse(text)
    assert refused.value.line == text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("2 * 3 + 1", 7),
        ("10 - 4 - 3", 3),
        ("1 << 2 + 1", 8),
        ("7 & 3 == 3", 1),
        ("1 | 6 ^ 2 & 3", 5),
        ("0 || 0 && 1", 0),
        ("100 / 5 / 2 % 3", 1),
        ("(1 ? 2 : 3) * 4", 8),
        ("1 < 2 == 1", 1),
        ("-2 * -(3 + 1)", 8),
    ],
)
def test_operators_bind_as_in_c(text, value):
    """Operators have C's precedence, and operators of equal precedence are applied from the left."""
    (instruction,) = (item for item in parse(moved(text)).functions["k"].instructions if item.opcode == "mov")
    assert instruction.operands[1] == Integer(value)
