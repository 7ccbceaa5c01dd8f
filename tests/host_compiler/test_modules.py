"""Whole modules from `forms/modules.txt`: directives, linkage, declarations, and old and new syntax."""

from pathlib import Path

import numpy as np
import pytest

from warploom.engine.device.host.modules import native
from warploom.engine.diagnostics import KernelError
from warploom.engine.host_compiler.module import translate_module
from warploom.engine.ptx import parse

_HEAD = ".version 9.0\n.target sm_100a\n.address_size 64\n"


def _modules() -> dict[str, str]:
    """Return the texts by name; a text without .version gets a header."""
    text = (Path(__file__).parent / "forms" / "modules.txt").read_text()
    parts = (part.partition("\n") for part in text.split("=== ")[1:])
    return {name: body if body.lstrip().startswith(".version") else _HEAD + body for name, _, body in parts}


MODULES = _modules()


def _load(text: str) -> str:
    return translate_module(parse(text), native.triple(), *native.cpu()).text


@pytest.mark.parametrize("name", MODULES)
def test_legal_modules_load(name):
    """Legal modules load, and the line ends of other systems give the same translation."""
    text = _load(MODULES[name])
    native.verified(text)
    assert _load(MODULES[name].replace("\n", "\r\n")) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must begin with .version"),
        (".version 8.0\n.target sm_80\n.address_size 32", "PTX line 3: .address_size must be 64.*-m64"),
        (_HEAD + ".entry k() .reqnctapercluster 2 { ret; }", "line 4: kernel k .*clusters of one thread block.*global"),
        (_HEAD + ".entry k() .reqnctapercluster 1, 1, 4 { ret; }", "line 4: kernel k .*clusters of one thread block"),
        (
            _HEAD + ".extern .global .u32 g; .entry k() { .reg .u64 a; mov.u64 a, g; ret; }",
            "line 4: variable g .*extern",
        ),
        (_HEAD + ".extern .func f();\n.entry k() { call f; ret; }", "line 5: .*function f must have a body"),
        (
            _HEAD + ".global .b8 g[1000000000];\n.entry k() { .reg .b64 %d; mov.u64 %d, g; ret; }",
            "line 4: variable g .*pass a buffer",
        ),
        (_HEAD + ".entry k() { bra L; }", "line 4: branch must go to a label"),
        (_HEAD + ".entry k() { mov.u32 %r, 1; }", "line 4: mov.u32: register %r must be declared"),
        (_HEAD + ".entry k() { .reg .b32 r; ld.param.u32 r, [p]; }", "line 4: ld.param.u32: symbol p must be declared"),
        (_HEAD + ".entry k() { .reg .b32 r; frob.u32 r, r; }", "line 4: frob.u32 is not an instruction"),
        (_HEAD + ".func f() { f: ret; }\n.entry k() { .reg .b64 a; call a; ret; }", "line 5: call .*callprototype"),
        (_HEAD + ".entry k() { .reg .b64 a; N: .branchtargets L<0>; brx.idx a, N; }", "line 4: targets must be 1"),
        (_HEAD + ".entry k() { /* ", "line 4: comment must end"),
        (_HEAD + ".entry k() { .local .b8 l[600000]; st.local.u8 [l], 1; ret; }", "local memory must be at most"),
        (_HEAD + ".wat 5", "line 4: module must not hold .wat"),
    ],
)
def test_what_cannot_run_is_refused_with_its_line(host, text, message):
    """A module that can't run is refused with its line and, if there is one, a remedy."""
    with pytest.raises(KernelError, match=message):
        host.load_module(text)


STATICS = """.version 2.0
.target sm_20
.address_size 64
.reg .u32 common;
.local .align 4 .b32 own[4];
.func (.reg .u32 count) next () {
  .global .u32 calls = 10; .const .u32 step = 3; .reg .u32 s;
  ld.const.u32 s, [step]; atom.global.add.u32 count, [calls], s; ret; }
.entry k(.param .u64 out) {
  .global .u32 calls = 500;
  .reg .u64 o; .reg .u32 r, t; ld.param.u64 o, [out];
  .reg .u64 wide; mov.u32 t, %tid.x; mul.wide.u32 wide, t, 8; add.u64 o, o, wide;
  call (common), next; st.local.u32 [own+8], common;
  bar.sync 0;
  ld.global.u32 r, [calls]; st.global.u32 [o], r;
  targets: .branchtargets way<3>;
  brx.idx t, targets;
  way0: mov.u32 r, 7; bra done;
  way1: ld.local.u32 r, [own+8]; and.b32 r, r, 0; add.u32 r, r, 8; bra done;
  way2: mov.u32 r, common;
  done: st.global.u32 [o+4], r; ret; }"""


def test_variables_inside_functions_and_registers_outside(run):
    """Globals of one name in two functions are separate.

    Modules may have registers, locals and jump target families.
    """
    out = run(STATICS, "k", 1, 3, np.zeros((3, 2), np.uint32))[0]
    assert (out[:, 0] == 500).all()
    assert list(out[:2, 1]) == [7, 8]
    assert out[2, 1] in (10, 13, 16)
