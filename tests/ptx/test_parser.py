"""The PTX parser on hand-written text with the forms that real compilers write."""

import pytest

from warploom.engine.diagnostics import KernelError
from warploom.engine.ptx import KernelParameter, PtxSyntaxError, parse
from warploom.engine.ptx.tree import (
    Address,
    Float,
    Guard,
    Integer,
    Label,
    Negated,
    OperandList,
    Pair,
    Register,
    Sink,
    SourceLocation,
    Symbol,
    SymbolValue,
    Vector,
)

HEAD = ".version 8.3\n.target sm_80, texmode_independent\n.address_size 64\n"


def body(text, declarations=".reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .f32 %f<9>;"):
    """Return the instructions of a kernel that has the given body."""
    module = parse(f"{HEAD}.visible .entry k() {{ {declarations}\n{text}\n}}")
    return module.functions["k"].instructions


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("add.s32 %r1, %r2, -7;", (Register("%r1"), Register("%r2"), Integer(-7))),
        ("mov.f32 %f1, 0f3F800000;", (Register("%f1"), Float(0x3F800000, 32))),
        ("mov.f64 %rd1, 0d3FF0000000000000;", (Register("%rd1"), Float(0x3FF0000000000000, 64))),
        ("ld.global.u32 %r1, [%rd1+-4];", (Register("%r1"), Address(Register("%rd1"), -4))),
        ("ld.global.u32 %r1, [%rd1 + 0x10];", (Register("%r1"), Address(Register("%rd1"), 16))),
        ("st.shared.u32 [name+8], %r1;", (Address(Symbol("name"), 8), Register("%r1"))),
        ("mov.u32 %r1, name+12;", (Register("%r1"), Symbol("name", 12))),
        ("shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;",
         (Pair(Register("%r1"), Register("%p1")), Register("%r2"), Integer(1), Integer(0), Integer(-1))),
        ("setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;",
         (Pair(Register("%p1"), Register("%p2")), Register("%r1"), Register("%r2"), Negated(Register("%p3")))),
        ("mov.b64 {%r1, _}, %rd1;", (Vector((Register("%r1"), Sink())), Register("%rd1"))),
        ("ld.global.b32 { %r3 }, [ %rd3 + 0 ];", (Vector((Register("%r3"),)), Address(Register("%rd3"), 0))),
        ("mov.u32 %r1, %tid.x;", (Register("%r1"), Register("%tid.x"))),
        ("mov.u32 %r1, WARP_SZ;", (Register("%r1"), Integer(32))),
        ("mov.u32 %r1, 0xFFU;", (Register("%r1"), Integer(255))),
        ("mov.u32 %r1, 0b101;", (Register("%r1"), Integer(5))),
        ("call.uni (a), f, (b, c);",
         (OperandList((Symbol("a"),)), Symbol("f"), OperandList((Symbol("b"), Symbol("c"))))),
        ("bar.sync 0;", (Integer(0),)),
    ],
)  # fmt: skip
def test_operands(text, operands):
    """Each form of operand becomes its own kind of node."""
    assert body(text)[0].operands == operands


def test_opcode_modifiers_guards_and_lines():
    """An instruction records its opcode, its modifiers in order, its guard and its line."""
    first, second = body("@%p1 bra L;\n\n@!%p2 ld.shared::cta.v4.f32 {%f1,%f2,%f3,%f4}, [%r1];\nL:")
    assert (first.opcode, first.guard, first.line) == ("bra", Guard(Register("%p1"), False), 5)
    assert (second.opcode, second.modifiers) == ("ld", ("shared::cta", "v4", "f32"))
    assert (second.guard, second.line) == (Guard(Register("%p2"), True), 7)
    assert second.text == "ld.shared::cta.v4.f32"


def test_source_locations_follow_the_file_table():
    """A `.loc` directive needs no semicolon, and may name a file that is declared at the end of the text."""
    text = f"""{HEAD}.entry k() {{ .reg .b32 %r<3>;
    .loc 1 20 3 // k.py:20:3
    mov.b32 %r1, 0;
    .loc 1 21 9, function_name $L__info, inlined_at 1 20 3
    mov.b32 %r2, 0;
    ret;
    }}
    .file 1 "/src" "k.py"
    .section .debug_abbrev
    {{
    .b8 1 // comment
    .b32 .debug_line
    }}
    .section .debug_macinfo {{ }}
    """
    instructions = parse(text).functions["k"].instructions
    assert instructions[0].source == SourceLocation("/src", 20, 3)
    assert instructions[1].source is not None
    assert instructions[1].source.line == 21


def test_inner_scopes_get_names_of_their_own():
    """A register declared in an inner scope differs from the outer register of the same name."""
    first, second, third = body("mov.b32 %t, 1; { .reg .b32 %t; mov.b32 %t, 2; } mov.b32 %t, 3;", ".reg .b32 %t;")
    assert first.operands[0] == third.operands[0] == Register("%t")
    assert second.operands[0] != first.operands[0]


def test_keywords_as_names_and_comments():
    """Parameters called `in` and a kernel called `const` parse; comments may stand anywhere."""
    module = parse(
        f"{HEAD}// a\n/* b\n c */ .visible .entry const(.param .u64 in, .param .u32 bra) {{ .reg .b64 %x;"
        "ld.param.u64 %x, /* d */ [in]; bra: ret; }"
    )
    assert [parameter.name for parameter in module.signatures["const"].parameters] == ["in", "bra"]
    assert Label("bra", 6) in (module.functions["const"].body or ())


def test_signatures():
    """Parameters have natural alignment; thread limits and shared memory are read from the directives."""
    module = parse(
        HEAD
        + """.extern .shared .align 16 .b8 dynamic[];
    .shared .align 8 .b8 common[12];
    .func helper() { .shared .align 4 .b8 own[10]; .reg .b32 %r; mov.u32 %r, common; ret; }
    .visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 1 b, .param .align 16 .b8 c[20], .param .f32 d)
    .reqntid 32, 4
    { call helper, (); ret; }
    .entry plain() { .reg .b32 %r; mov.u32 %r, dynamic; ret; }
    .entry bounded() .maxntid 256, 1, 1 .minnctapersm 2 { ret; }"""
    )
    k = module.signatures["k"]
    assert k.parameters == (
        KernelParameter("a", 0, 1, "u8"),
        KernelParameter("b", 8, 8, "u64"),
        KernelParameter("c", 16, 20, "b8"),
        KernelParameter("d", 36, 4, "f32"),
    )
    assert (k.max_threads, k.required_threads, k.shared_bytes, k.uses_dynamic_shared) == (128, (32, 4, 1), 28, False)
    assert module.signatures["plain"].uses_dynamic_shared
    assert (module.signatures["plain"].max_threads, module.signatures["bounded"].max_threads) == (1024, 256)


def test_module_variables():
    """Initial values may be numbers, floats, addresses and nested lists; missing ones are zero."""
    variables = parse(
        HEAD
        + """.global .align 8 .u64 table[3] = {0, f+8, generic(x)};
    .const .f32 c[2] = {0f3F800000, 2.5};
    .global .b8 grid[2][2] = {{1}, {3, 4}};
    .visible .global .b32 x;
    .global .b8 text[] = {104, 105, 0};"""
    ).variables
    assert variables["table"].initial == (Integer(0), SymbolValue("f", 8), SymbolValue("x", 0, True))
    assert variables["c"].initial[0] == Float(0x3F800000, 32)
    assert (variables["grid"].count, variables["grid"].initial) == (4, (Integer(1), Integer(0), Integer(3), Integer(4)))
    assert (variables["text"].size_bytes, variables["x"].linkage) == (3, "visible")


def test_branch_targets_and_call_prototypes():
    """Branch target lists and call prototypes belong to the function that declares them."""
    function = parse(
        HEAD
        + """.entry k() { .reg .b32 %r; .reg .b64 %rd;
    T: .branchtargets A, B;
    P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);
    brx.idx %r, T; A: call (o), %rd, (a, b), P; B: ret; }"""
    ).functions["k"]
    assert function.targets == {"T": ("A", "B")}
    assert [len(item) for item in (function.prototypes["P"].results, function.prototypes["P"].parameters)] == [1, 2]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "must begin with .version"),
        (HEAD + ".entry k() {\n add.s32 %r1 %r2;\n}", 5, "','"),
        (HEAD + ".entry k() {\n ret\n}", 6, "here, got '}'"),
        (HEAD + ".entry k() {\n\n § }", 6, "must be PTX"),
        (HEAD + ".entry k() { ret;", 4, "got 'end of file'"),
        (HEAD + ".banana 3;", 4, "must not hold .banana"),
        (HEAD.replace("64", "32"), 3, "must be 64, got 32"),
        (HEAD.replace("8.3", "99.0"), 1, "version must be one that is known, up to 9.x, got 99.0"),
        (HEAD + "/* never closed", 4, "must end with"),
    ],
)
def test_mistakes_name_their_line(text, line, message):
    """A syntax error is a KernelError with the line of the mistake."""
    with pytest.raises(PtxSyntaxError) as caught:
        parse(text)
    assert isinstance(caught.value, KernelError)
    assert caught.value.line == line
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"PTX line {line}:")
