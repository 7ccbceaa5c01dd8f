"""A kernel that the host can't run is refused when it is requested; other kernels of its module run."""

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import build, native
from warploom.engine.diagnostics import KernelError, TranslatorBug
from warploom.engine.host_compiler.opcodes import table

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def kernel(name, lines=""):
    """Return a kernel that runs `lines`, then adds 1 to each element."""
    return f""".visible .entry {name}(.param .u64 x) {{
  .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;
  ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %d1;
  {lines}
  ld.global.u32 %r2, [%d2]; add.u32 %r2, %r2, 1; st.global.u32 [%d2], %r2; ret;
}}
"""


BAD = "tcgen05.wait::ld.sync.aligned;"
FUNCTIONS = f""".func inner(.param .b32 a) {{ .reg .b32 %r;
  {BAD}
  ret; }}
.func outer(.param .b32 a) {{ {{ .param .b32 b; call inner, (b); }} ret; }}
.func unused(.param .b32 a) {{ {BAD} ret; }}
.func fine(.param .b32 a) {{ ret; }}
.global .b64 table[1] = {{ inner }};
.extern .global .b32 elsewhere;
"""
PASS = "{{ .param .b32 a; call {}, (a); }}"
#: For each kind of error: the kernel's lines, the line of the error, and a word of its message.
CASES = {
    "an instruction": (BAD, 4 + FUNCTIONS.count("\n") + 3, "tcgen05"),
    "a lowered one": ("cp.async.bulk.tensor.1d.global [%d1];", 4 + FUNCTIONS.count("\n") + 3, "cp.async"),
    "a missing operand": ("ld.global.u32 %r3;", 4 + FUNCTIONS.count("\n") + 3, "operands"),
    "a function": (PASS.format("inner"), 5, "tcgen05"),
    "a function's function": (PASS.format("outer"), 5, "tcgen05"),
    "a function in a table": ("mov.u64 %d3, table;", 5, "tcgen05"),
    "a variable": ("mov.u64 %d3, elsewhere;", 4 + FUNCTIONS.count("\n") - 1, "elsewhere"),
}


def added(device, kernel):
    """Return what the kernel adds to an array of zeros."""
    buffer = device.upload(np.zeros(4, np.uint32))
    device.launch(kernel, (1,), (4,), [buffer])
    values = buffer.download().tolist()
    buffer.free()
    return values


@pytest.mark.parametrize("what", CASES)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_only_the_kernel_itself_is_refused(what, place):
    """A wrong kernel is refused alone, wherever it is among three, and a second device reads that from the cache."""
    lines, line, word = CASES[what]
    texts = [kernel("first", PASS.format("fine")), kernel("second")]
    texts.insert(place, kernel("wrong", lines))
    source = HEAD + FUNCTIONS + "".join(texts)
    if line > 5 and what != "a variable":
        line += place * kernel("x").count("\n")
    for _ in range(2):
        device = HostDevice(cores=1)
        module = device.load_module(source)
        assert set(module.kernel_names) == {"first", "second", "wrong"}
        with pytest.raises(KernelError, match=word) as refused:
            module.kernel("wrong")
        assert refused.value.line == line and f"line {line}" in str(refused.value)
        assert not isinstance(refused.value, TranslatorBug)
        assert added(device, module.kernel("first")) == added(device, module.kernel("second")) == [1, 1, 1, 1]
        device.close()


def test_a_module_without_any_kernel_that_runs_is_refused():
    """A module none of whose kernels can run is refused when it is loaded."""
    device = HostDevice(cores=1)
    with pytest.raises(KernelError, match="tcgen05"):
        device.load_module(HEAD + kernel("one", BAD) + kernel("two", BAD))
    device.close()


def test_only_the_block_that_uses_the_kernel_says_so(tmp_path):
    """A refused kernel is an error of the block that uses it; a block that uses another kernel of the file runs."""
    file = tmp_path / "two.ptx"
    file.write_text(HEAD + kernel("fine") + kernel("wrong", BAD))
    line = file.read_text()[: file.read_text().index("tcgen05")].count("\n") + 1
    patch = Patch()
    values = patch.add("io.array", data=np.zeros(256, np.uint32))  # one value for each thread
    blocks = {name: patch.add("kernel.file", file=str(file), entry=name) for name in ("fine", "wrong")}
    for block in blocks.values():
        copied = patch.add("buffer.copy")
        patch.connect(values["out"], copied["x"])
        patch.connect(copied["out"], block["x"])
    with Engine(patch, device="host") as engine:
        problems = engine.step().diagnostics
        found = [item for item in problems if "tcgen05" in item.message]
        assert [(item.node, item.line, item.file) for item in found] == [(blocks["wrong"].id, line, str(file))]
        assert not [item for item in problems if item.node == blocks["fine"].id]


def broken(*_):
    """Emit text that LLVM rejects."""
    body = _[0]
    body.code.do("%broken = mul i64 , 32")


def failing(*_):
    """Fail with an assertion, as a bug in the translator would."""
    raise AssertionError("a register is left")


@pytest.mark.parametrize("emitter", [broken, failing])
@pytest.mark.parametrize("instruction", ["popc.b32 %r3, %r1;", "bar.sync 0; popc.b32 %r3, %r1;"])
def test_a_fault_of_the_translator_names_kernel_and_instruction(monkeypatch, emitter, instruction):
    """The error of a translator bug names the kernel and instruction and asks for a report; other kernels compile."""
    monkeypatch.setitem(table.OPCODES, "popc", emitter)
    source = HEAD + kernel("first") + kernel("wrong", instruction) + kernel("last")
    built = build.translate(source, native.cpu())
    assert set(built.scratch_bytes) == {"first", "last"}
    refusal = built.refused["wrong"]
    line = source[: source.index("popc")].count("\n") + 1
    assert refusal.is_bug and refusal.line == line
    for part in ("kernel wrong", f"PTX line {line} (popc.b32)", "bug in Warploom and not in the kernel", "report it"):
        assert part in refusal.message
    assert isinstance(refusal.error(), TranslatorBug)
