"""`waiting_ptx` makes kernels begin with `griddepcontrol.wait`."""

import pytest

from warploom.engine.ptx import parse
from warploom.engine.ptx.waits import waiting_ptx

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def kernel(name: str, body: str = "ret;", rest: str = "") -> str:
    """Return the text of a kernel with one parameter."""
    return f".visible .entry {name}(\n\t.param .u64 {name}_p\n)\n{rest}\n{{\n{body}\n}}\n"


def first_instructions(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the opcode and modifiers of each function's first instruction, as the parser reads them."""
    found = {name: function.instructions[0] for name, function in parse(text).functions.items()}
    return {name: (first.opcode, first.modifiers) for name, first in found.items()}


def waits(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the functions' first instructions in the waiting text, after checking that it has as many lines."""
    made = waiting_ptx(text)
    assert made is not None
    assert made.count("\n") == text.count("\n")
    return first_instructions(made)


WAIT = ("griddepcontrol", ("wait",))


def test_every_kernel_of_a_module_begins_with_the_wait() -> None:
    """Every kernel with a body gets the wait; device functions and declarations are left alone."""
    text = (
        HEAD
        + ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; ret; }\n"
        + ".visible .entry later(.param .u64 p);\n"
        + kernel("one")
        + kernel("two$x")
        + kernel("later")
    )
    assert waits(text) == {"twice": ("ld", ("param", "b32")), "one": WAIT, "two$x": WAIT, "later": WAIT}


@pytest.mark.parametrize(
    "rest",
    [
        ".maxntid 256, 1, 1 .minnctapersm 2",
        '.pragma "nounroll { ; }";',
        "// a comment with { and ;\n/* .entry no() { */",
        ".reqntid 32",
    ],
)
def test_the_wait_goes_behind_the_brace_that_opens_the_body(rest: str) -> None:
    """The wait follows the kernel's own opening brace, not a brace in a comment, a string or a nested block."""
    body = ".reg .b32 %r<4>;\n{ .reg .b32 %r9; mov.b32 %r9, 1; }\nL: add.s32 %r1, %r1, 1;\nbra L;"
    assert waits(HEAD + kernel("k", body, rest)) == {"k": WAIT}


def test_kernels_in_comments_and_texts_are_none() -> None:
    """A file whose only kernels are in comments and strings has nothing that could wait."""
    assert waiting_ptx(HEAD + '// .entry k() { ret; }\n/* .entry l() { ret; } */\n.file 1 ".entry m() {"\n') is None


@pytest.mark.parametrize(
    ("version", "target", "expected"),
    [
        ("8.8", "sm_90", ".version 8.8\n.target sm_90\n"),
        ("7.0", "sm_75", ".version 7.8\n.target sm_90\n"),
        ("7.8", "sm_80", ".version 7.8\n.target sm_90\n"),
        ("10.0", "sm_100a, debug", ".version 10.0\n.target sm_100a, debug\n"),
        ("6.0", "sm_70", ".version 7.8\n.target sm_90\n"),
    ],
)
def test_version_and_target_become_those_that_have_the_wait(version: str, target: str, expected: str) -> None:
    """Older versions and targets are raised to the first that have the wait; later ones stay."""
    made = waiting_ptx(f".version {version}\n.target {target}\n{kernel('k')}")
    assert made is not None
    assert made.startswith(expected)


def test_code_for_lockstep_warps_is_left_alone() -> None:
    """A target with lockstep warps gets no wait, since a later target changes how threads are scheduled."""
    assert waiting_ptx(".version 6.0\n.target sm_61\n" + kernel("k")) is None


def test_loads_that_may_overtake_the_wait_become_plain_ones() -> None:
    """Loads lose their `.nc` qualifier and keep their others; other loads and comments stay unchanged."""
    loads = [
        "ld.global.nc.f32 %f1, [%rd1];",
        "ld.global.ca.nc.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];",
        "ld.weak.global.nc.b8 %r1, [%rd1]; // ld.global.nc",
        "ld.global.relaxed.sys.u32 %r1, [%rd1];",
        "ld.shared.f32 %nc.x, [%rd1];",
    ]
    made = waiting_ptx(HEAD + kernel("k", "\n".join(loads)))
    assert made is not None
    assert made.splitlines()[8:13] == [
        "ld.global.f32 %f1, [%rd1];",
        "ld.global.ca.L1::no_allocate.L2::128B.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];",
        "ld.weak.global.b8 %r1, [%rd1]; // ld.global.nc",
        "ld.global.relaxed.sys.u32 %r1, [%rd1];",
        "ld.shared.f32 %nc.x, [%rd1];",
    ]


@pytest.mark.parametrize("read", ["tex.2d.v4.f32.f32", "tld4.r.2d.v4.f32.f32", "ldu.global.f32"])
def test_kernels_that_read_textures_do_not_wait(read: str) -> None:
    """A kernel that reads textures gets no wait, since compilers move such reads before it.

    `tests/kernel_sources/test_waiting.py` shows that they do.
    """
    assert waiting_ptx(HEAD + kernel("k", f"{read} {{%f1, %f2, %f3, %f4}}, [%rd1, {{%f1, %f2}}];")) is None


def test_waits_of_the_author_stay() -> None:
    """A wait that the author wrote stays after the added one, since waiting twice is harmless."""
    made = waiting_ptx(HEAD + kernel("k", "griddepcontrol.wait;\ngriddepcontrol.launch_dependents;\nret;"))
    assert made is not None
    assert [each.modifiers for each in parse(made).functions["k"].instructions[:3]] == [
        ("wait",),
        ("wait",),
        ("launch_dependents",),
    ]
