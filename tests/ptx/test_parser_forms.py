"""The parser reads constant expressions, vector registers, and declarations of old and new PTX."""

import pytest

from warploom.engine.ptx import PtxSyntaxError, parse
from warploom.engine.ptx.tree import Address, Float, Integer, Register, Symbol, SymbolValue, Vector

HEAD = ".version 8.3\n.target sm_80\n.address_size 64\n"


def _operand(text):
    body = parse(HEAD + ".entry k() { .reg .b64 %r; mov.b64 %r, " + text + "; }").functions["k"].instructions
    return body[0].operands[1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("1 << 4 | 3", 19),
        ("0x10 ^ 017 & 0b11", 19),
        ("5 > 3 ? 10 : 20", 10),
        ("!(3 == 3) || 2 && 0", 0),
        ("~0", -1),
        ("0U - 1", 2**64 - 1),
        ("(.s64) 0xFFFFFFFFFFFFFFFF >> 60", -1),
        ("(.u64) -1 >> 60", 15),
        ("(.s64) 2.75", 2),
        ("1.5 < 2", 1),
        ("WARP_SZ * 2", 64),
        ("-1 < 0U", 0),
    ],
)
def test_constant_expressions(text, value):
    """Constant expressions have C's operators on .s64 and .u64; mixing both types gives .u64."""
    assert _operand(text) == Integer(value)


def test_float_expressions():
    """A single float literal keeps its bits; arithmetic on literals is done in f64."""
    assert _operand("-0f3F800000") == Float(0xBF800000, 32)
    assert _operand("1.0 / 4") == Float(0x3FD0000000000000, 64)


def test_vector_registers():
    """A vector register stands for its components, each of which has its own name."""
    text = HEAD + ".entry k() { .reg .v4 .f32 v<2>; .reg .v2 .u16 w; mov.v4.f32 v0, v1; mov.u16 w.y, w.r; }"
    function = parse(text).functions["k"]
    first, second = function.instructions
    assert first.operands[0] == Vector(tuple(Register(f"v0.{part}") for part in "xyzw"))
    assert second.operands == (Register("w.y"), Register("w.x"))
    assert function.registers["v1.w"] == "f32"


def test_debug_information_and_directives_are_stepped_over():
    """The parser skips debug sections of old and new PTX, aliases, attributes and performance directives."""
    module = parse(
        """.version 9.0
        .target sm_100a, debug
        .address_size 64
        @@DWARF .section .debug_info, "", @progbits
        .section .debug_abbrev, "", @progbits
        .byte 0x01, 2
        .global .attribute(.managed) .u8 one = 1;
        .func f(.param .b64 _) .noreturn;
        .func .attribute(.unified(1, 2)) .noreturn g(.param .b64 a) { ret; }
        .visible .entry k(.param .align 8 .b8 p[12]) .maxntid 4, 4 .minnctapersm 2 .reqnctapercluster 1, 1, 1
        .pragma "nounroll"; { .loc 1 2 3, function_name $L, inlined_at 1 4 5
        ret; }
        .section .debug_str { $L: .b8 49 }
        """
    )
    assert module.signatures["k"].max_threads == 16
    assert module.variables["one"].initial == (Integer(1),)


def test_masks_select_bytes_of_an_address():
    """`0xFF00(x)` is the second byte of the address of x."""
    variable = parse(HEAD + ".global .u8 b[] = {0xFF(x), 0xFF00(x+3)}; .global .u8 x;").variables["b"]
    assert variable.initial == (SymbolValue("x", mask=0xFF), SymbolValue("x", 3, mask=0xFF00))


def test_elements_of_arrays_are_addresses():
    """An index counts elements of the declared type, and an index in a register is multiplied by the element size.

    A mov yields the address itself.
    """
    text = (
        HEAD
        + """.global .u16 table[2][4];
    .entry k() { .reg .u64 x; .reg .s32 i; .local .b32 own[4];
      ld.global.u16 x, table[3]; mov.u64 x, own[2]; st.local.b32 own[i+1], 5; }"""
    )
    load, move, start, wide, place, store = parse(text).functions["k"].instructions
    assert load.operands[1] == Address(Symbol("table"), 6)
    assert move.operands[1] == Symbol("own", 8)
    assert (start.text, start.operands[1]) == ("mov.b64", Symbol("own", 4))
    assert (wide.text, wide.operands[1]) == ("cvt.s64.s32", Register("i"))
    assert (place.text, place.operands[1:]) == ("mad.lo.s64", (wide.operands[0], Integer(4), start.operands[0]))
    assert store.operands[0] == Address(place.operands[0])


def test_sums_of_a_register_and_a_number_are_computed_first():
    """A source may be a register plus a number, added with the register's width. A destination may not."""
    text = HEAD + ".entry k() { .reg .u64 x, y; .reg .u16 h; st.u64 [x], y + 1; add.u16 h, 3, h+-2; }"
    first, store, second, add = parse(text).functions["k"].instructions
    assert (first.text, first.operands[1:]) == ("add.s64", (Register("y"), Integer(1)))
    assert store.operands == (Address(Register("x")), first.operands[0])
    assert (second.text, second.operands[1:]) == ("add.s16", (Register("h"), Integer(-2)))
    assert add.operands == (Register("h"), Integer(3), second.operands[0])
    with pytest.raises(PtxSyntaxError, match="line"):
        parse(HEAD + ".entry k() { .reg .u64 y; mov.u64 y + 1, y; }")


def test_families_of_targets():
    """`N<3>` in a list of branch targets stands for N0, N1 and N2."""
    text = HEAD + ".entry k() { .reg .u32 r; all: .branchtargets N<3>, E; brx.idx r, all; N0: N1: N2: E: ret; }"
    assert parse(text).functions["k"].targets["all"] == ("N0", "N1", "N2", "E")


def test_variables_of_functions_and_registers_of_modules():
    """Global variables in functions get unique names in the module, and functions see the module's declarations."""
    text = (
        HEAD
        + """.reg .u32 common; .local .b32 own;
    .func f() { .global .u32 g = 1; .const .u32 c; mov.u32 common, g; ret; }
    .entry k() { .global .u32 g = 2; { .global .u32 g = 3; } st.local.b32 [own], common; }"""
    )
    module = parse(text)
    values = {item.initial[0].value for item in module.variables.values() if item.initial}
    assert values == {1, 2, 3}
    assert "own" not in module.variables
    assert [item.name for item in module.functions["k"].variables] == ["own"]
    assert all(item.registers["common"] == "u32" for item in module.functions.values())
    taken = module.functions["f"].instructions[0].operands[1]
    assert module.variables[taken.name].initial == (Integer(1),)


def test_a_local_variable_that_functions_use_is_one_for_each_thread():
    """A module's local variable has module linkage if a function uses it; otherwise each kernel has its own."""
    body = "{ st.local.b32 [own], 1; st.local.b32 [other], 1; }"
    function = ".func f() { st.local.b32 [own], 1; }"
    text = f"{HEAD}.local .b32 own; .local .b32 other; {function} .entry k() {body} .entry l() {body}"
    functions = parse(text).functions
    found = {(name, item.name): item.linkage for name, function in functions.items() for item in function.variables}
    kernels = {
        (name, variable): "module" if variable == "own" else "" for name in "kl" for variable in ("own", "other")
    }
    assert found == {("f", "own"): "module", **kernels}


@pytest.mark.parametrize(
    "text",
    [
        ".func (.param .b32 r) f (.param .b32 a)\n.func g ()\n.visible .entry k() { ret; }",
        ".extern .func f (.param .b32 a)\n.global .u32 x;\n.visible .entry k() { ret; }",
        '.visible .entry k()\n.file 1 "a.cu"\n.loc 1 2 3\n{ ret; }',
        ".global .u64 x, temp; .visible .entry k() { st.u64 [x], temp + 1; ret; }",
        ".local .b32 own; .entry k() { st.local.u32 [own], 1; ret; } .entry j() { st.local.u32 [own], 2; ret; }",
    ],
)
def test_forms_of_old_compilers_are_read(text):
    """Missing semicolons, file names before a body, sums of addresses, and local variables of a module are read."""
    assert "k" in parse(HEAD + text).signatures


@pytest.mark.parametrize(
    "text",
    [
        ".visible .entry k() {\n.loc 1 99999999999999999999999 1\nret; }",
        ".visible .entry k()\n.maxntid 99999999999999999999999\n{ ret; }",
        ".visible .entry k()\n.reqntid 1, 2, 3, 4\n{ ret; }",
        ".visible .entry k(\n.param .b8 x[99999999999999999999999]) { ret; }",
        ".visible .entry k() {\n.local .align 3 .b8 x[4]; ret; }",
    ],
)
def test_numbers_that_nothing_can_hold_are_refused_with_their_line(text):
    """The parser refuses impossible numbers with their line when it reads them, not when they are used."""
    with pytest.raises(PtxSyntaxError, match="must") as caught:
        parse(HEAD + text)
    assert caught.value.line == 5
