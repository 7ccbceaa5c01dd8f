"""Every legal form of the PTX manual loads: instructions, modifiers and operands, from the tables in `forms/`.

A row of a table is a pattern. `<a|b>` stands for either. Operands of one letter are registers: `b`, `h`, `r`, `x` and
`q` have 8, 16, 32, 64 and 128 bits, `p` is a predicate, `R` is a register with a selector, and `T` and `A` have the
size of the last and the first type among the modifiers. `VAR` is a variable in the space that the instruction names.
"""

import itertools
import re
from pathlib import Path

import pytest

from warploom.engine.device.host.modules import native
from warploom.engine.diagnostics import KernelError, TranslatorBug
from warploom.engine.host_compiler.module import translate_module
from warploom.engine.host_compiler.opcodes.table import OPCODES
from warploom.engine.ptx import parse

_BITS = {"f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "f32x2": 64, "bf16": 16, "pred": 1}
_LETTERS = {1: "p", 8: "h", 16: "h", 32: "r", 64: "x", 128: "q"}
_REGISTER = re.compile(r"(?<![\w.:%])[bhrxqpTAR](?![\w:(])")
_VARIABLES = {"global": "gv", "const": "cv", "shared": "sh", "local": "lc"}
_BEFORE = """.version 9.0
.target sm_100a
.address_size 64
.global .align 16 .b8 gv[256];
.const .align 16 .b8 cv[256];
.func fn() { ret; }
.visible .entry k(.param .u64 kp) {
  .reg .b8 %b<40>; .reg .b16 %h<40>; .reg .b32 %r<40>; .reg .b64 %x<40>; .reg .b128 %q<40>; .reg .pred %p<40>;
  .shared .align 16 .b8 sh[256]; .shared .align 8 .b64 mb;
  .local .align 16 .b8 lc[256]; .local .align 16 .b32 arr[16];
"""


def _bits(modifier: str) -> int | None:
    match = re.fullmatch(r"[busf](8|16|32|64|128)", modifier)
    return int(match[1]) if match else _BITS.get(modifier)


def _forms(pattern: str) -> list[str]:
    """Return every instruction that a pattern stands for."""
    parts = re.split(r"<([^>]*)>", pattern)
    choices = [part.split("|") if index % 2 else [part] for index, part in enumerate(parts)]
    return [_concrete("".join(chosen)) for chosen in itertools.product(*choices)]


def _concrete(text: str) -> str:
    opcode, _, operands = text.partition(" ")
    modifiers = opcode.split(".")[1:]
    sizes = [size for size in map(_bits, modifiers) if size]
    spaces = [item for item in modifiers if item in _VARIABLES]
    operands = operands.replace("VAR", _VARIABLES[spaces[-1]] if spaces else "gv")
    operands = operands.replace("CAS", "q, q" if "cas" in modifiers else "q")
    counts: dict[str, int] = {}

    def register(match: re.Match[str]) -> str:
        letter = match[0]
        if letter in "TA":
            letter = _LETTERS[sizes[-1 if letter == "T" else 0]]
        letter = letter.lower()
        counts[letter] = counts.get(letter, -1) + 1
        return f"%{letter}{counts[letter]}"

    return f"{opcode} {_REGISTER.sub(register, operands)};"


def _rows(name: str) -> list[str]:
    text = (Path(__file__).parent / "forms" / f"{name}.txt").read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _translate(forms: list[str]) -> str:
    module = parse("\n".join([_BEFORE, *forms, "ret; }"]))
    return translate_module(module, native.triple(), *native.cpu()).text


#: The line of the first form.
_LINE = _BEFORE.count("\n") + 2
TABLES = ("arithmetic", "conversions", "immediates", "logic", "matrices", "memory", "synchronisation")


#: The forms of a kernel. With many waiting instructions, a kernel takes long to translate.
_FORMS_A_KERNEL = 16


@pytest.mark.parametrize("table", TABLES)
def test_legal_forms_load(table):
    """All forms of a table are translated to well-formed LLVM text."""
    forms = [form for row in _rows(table) for form in _forms(row)]
    for first in range(0, len(forms), _FORMS_A_KERNEL):
        native.verified(_translate(forms[first : first + _FORMS_A_KERNEL]))


@pytest.mark.parametrize("row", _rows("refused"))
def test_other_forms_are_refused_with_a_remedy(row):
    """A form that the host can't run is refused at loading with the opcode, the line and a replacement."""
    pattern, _, remedy = row.partition(" => ")
    for form in _forms(pattern):
        with pytest.raises(KernelError) as caught:
            _translate([form])
        message = str(caught.value)
        assert f"PTX line {_LINE}: " in message
        assert form.split()[0].rstrip(";") in message
        assert "must not be used on the host device" in message
        assert remedy in message, message


SPECIAL = """%tid.<x|y|z|w> %ntid.<x|y|z|w> %ctaid.<x|y|z|w> %nctaid.<x|y|z|w> %laneid %warpid %nwarpid %smid %nsmid
%lanemask_<eq|le|lt|ge|gt> %clock %clock_hi %pm<0|1|2|3|4|5|6|7> %envreg<0|1|15|31> %globaltimer_<lo|hi>
%clusterid.<x|y|z|w> %nclusterid.<x|y|z|w> %cluster_ctaid.<x|y|z|w> %cluster_nctaid.<x|y|z|w> %cluster_ctarank
%cluster_nctarank %total_smem_size %aggr_smem_size %dynamic_smem_size
%reserved_smem_offset_<begin|end|cap|0|1>"""


@pytest.mark.parametrize("row", SPECIAL.split())
def test_special_registers_load(row):
    """A special register can be read wherever a register can."""
    parts = re.split(r"<([^>]*)>", row)
    names = [parts[0] + item for item in parts[1].split("|")] if len(parts) > 1 else parts
    forms = [text for name in names for text in (f"mov.u32 %r0, {name};", f"add.u32 %r1, {name}, {name};")]
    native.verified(_translate(forms))


@pytest.mark.parametrize("name", ["%clock64", "%globaltimer", "%gridid", "%current_graph_exec", "%pm0_64", "%pm7_64"])
def test_wide_special_registers_load(name):
    """Special registers of 64 bits can be read."""
    native.verified(_translate([f"mov.u64 %x0, {name};", f"add.u64 %x1, %x0, {name};"]))


def test_special_registers_of_other_shapes_load():
    """A predicate, the vectors of four, and the 16-bit forms of PTX 1 can be read."""
    forms = ["mov.pred %p0, %is_explicit_cluster;", "mov.v4.u32 {%r0, %r1, %r2, %r3}, %tid;", "mov.u16 %h0, %tid.x;"]
    forms += ["mov.v4.u32 {%r0, _, _, %r3}, %nctaid;", "cvt.u32.u16 %r0, %ctaid.x;", "mov.u32 %r0, %gridid;"]
    native.verified(_translate(forms))


@pytest.mark.parametrize(
    "form",
    [
        "ld.const.u8 %h0;",
        "mov.b32 ;",
        "mbarrier %r0, %x0;",
        "st.shared.volatile.u32 %x1, %r0;",
        "ld.volatile.shared.u32 %r0, %r1;",
        "cp.async.ca.shared.global [sh], [gv];",
        "shfl.sync.b32 %r0, %r1;",
        "mma.sync.aligned %r0, %r1, %r2, %r3;",
        "add.s32 %r0, %r1;",
        "add %r0, %r1, %r2;",
        "fma.rn.f32 [%x0], %r1, %r2, %r3;",
    ],
)
def test_operands_that_are_missing_or_of_another_kind_are_refused(form):
    """A missing or wrong operand is refused with the line and opcode, whichever part of the translator detects it."""
    with pytest.raises(KernelError) as caught:
        _translate([form])
    assert caught.value.line == _LINE
    assert form.split()[0].rstrip(";") in str(caught.value)


def test_a_broken_assertion_is_not_blamed_on_the_kernel(monkeypatch):
    """An AssertionError of an emitter is reported as a bug of the translator, not of the kernel."""

    def broken(_body, _instruction):
        raise AssertionError("two and two")

    monkeypatch.setitem(OPCODES, "add", broken)
    with pytest.raises(TranslatorBug, match="two and two"):
        _translate(["add.s32 %r0, %r1, %r2;"])
