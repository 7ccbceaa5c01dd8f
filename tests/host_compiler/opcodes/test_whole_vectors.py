"""Aligned 16-byte accesses to memory that other threads may read are atomic, as on a GPU; CUB relies on that."""

import re

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.fuzzing import many
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import native
from warploom.engine.host_compiler.module import moves_16_bytes_at_once, translate_module
from warploom.engine.ptx import parse

WHOLE = moves_16_bytes_at_once(native.triple(), native.cpu()[1])
needs_16_bytes = pytest.mark.skipif(not WHOLE, reason="this processor has no access of 16 bytes")

#: Stores, loads, and the registers that hold one element each.
ACCESSES = [
    ("st.relaxed.gpu.global.v2.u64", "ld.relaxed.gpu.global.v2.u64", "b64", 2),
    ("st.release.sys.v2.b64", "ld.acquire.gpu.v2.b64", "b64", 2),
    ("st.volatile.global.v4.u32", "ld.volatile.global.v4.u32", "b32", 4),
    ("st.global.cg.v4.f32", "ld.global.cg.v4.f32", "f32", 4),
    ("st.global.wt.v4.s32", "ld.global.cv.v4.s32", "b32", 4),
    ("st.relaxed.gpu.global.v2.b32", "ld.relaxed.gpu.global.v2.b32", "b32", 2),
    ("st.relaxed.gpu.global.v4.b16", "ld.relaxed.gpu.global.v4.b16", "b16", 4),
    ("st.relaxed.gpu.global.b128", "ld.relaxed.gpu.global.b128", "b128", 1),
]


def kernel(store, load, register, count, *, waits=False):
    """Return a kernel whose first thread block writes rising numbers to all elements, and whose second reads them.

    Only the first thread of a thread block reads or writes; the other threads may wait for it in each turn.
    """
    barrier = "bar.sync 0;" if waits else ""
    vector = ", ".join(f"%v{index}" for index in range(count))
    vector = f"{{{vector}}}" if count > 1 else vector
    if register == "b128":
        fill, differ = "mov.b128 %v0, {%w, %w};", "mov.b128 {%w, %w2}, %v0; setp.ne.u64 %p, %w, %w2; @%p bra TORN;"
    else:
        convert = {"b64": "mov.b64 %v0, %w;", "f32": "cvt.rn.f32.u64 %v0, %w;", "b16": "cvt.u16.u64 %v0, %w;"}
        fill = convert.get(register, "cvt.u32.u64 %v0, %w;")
        fill += "".join(f"mov.{register} %v{index}, %v0;" for index in range(1, count))
        unequal = "setp.neu" if register == "f32" else "setp.ne"
        kind = register.replace("b", "u")
        differ = "".join(f"{unequal}.{kind} %p, %v0, %v{index}; @%p bra TORN;" for index in range(1, count))
    return f""".version 8.8\n.target sm_90\n.address_size 64
    .visible .entry k(.param .u64 cell, .param .u64 out, .param .u32 turns) {{
    .reg .b32 %r<6>; .reg .b64 %d<3>, %w, %w2; .reg .pred %p, %q; .reg .{register} %v<4>;
    ld.param.u64 %d1, [cell]; ld.param.u64 %d2, [out]; ld.param.u32 %r1, [turns]; mov.u32 %r2, %tid.x;
    setp.ne.u32 %q, %r2, 0; mov.u32 %r3, %ctaid.x; mov.u64 %w, 0; mov.u32 %r4, 0; mov.u32 %r5, 0;
    AGAIN: {barrier} @%q bra DONE; setp.ne.u32 %p, %r3, 0; @%p bra READ;
    add.u64 %w, %w, 1; {fill} {store} [%d1], {vector}; bra DONE;
    READ: {load} {vector}, [%d1]; {differ} bra DONE;
    TORN: add.u32 %r5, %r5, 1;
    DONE: add.u32 %r4, %r4, 1; setp.lt.u32 %p, %r4, %r1; @%p bra AGAIN;
    @!%q st.global.u32 [%d2], %r5; ret; }}"""


@needs_16_bytes
@pytest.mark.parametrize("access", ACCESSES, ids=[item[0] for item in ACCESSES])
def test_nobody_sees_half_of_a_vector(access):
    """A reader's vector load never mixes elements of two stores."""
    device = HostDevice(cores=2)
    loaded = device.load_module(kernel(*access)).kernel("k")
    for _ in range(many(4)):
        cell, out = device.upload(np.zeros(16, np.uint8)), device.upload(np.ones(1, np.uint32))
        device.launch(loaded, (2,), (1,), [cell, out, 100_000])
        assert out.download().tolist() == [0]
    device.close()


def machine_code(text, level):
    """Return the assembly of a kernel, optimised or not."""
    module, machine = native.verified(text), native._target_machine(level, native.cpu())
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = True
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


@needs_16_bytes
@pytest.mark.skipif(not native.triple().startswith("x86_64"), reason="looks for an instruction of x86-64")
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("is_quick", [True, False])
@pytest.mark.parametrize("access", [item for item in ACCESSES if item[3] * int(item[2].lstrip("bf")) == 128])
def test_the_machine_code_has_one_access_of_16_bytes(access, is_quick, waits):
    """Quick and optimised code access 16 bytes at once, without a locked exchange, which would write."""
    translated = translate_module(parse(kernel(*access, waits=waits)), native.triple(), *native.cpu(), quickly=is_quick)
    text = translated.text if is_quick else translated.kernels["k"]
    assert re.search(r"load atomic i128, .* align 16", text) and re.search(r"store atomic i128 .* align 16", text)
    assembly = machine_code(text, 0 if is_quick else 2)
    assert re.search(r"vmovdqa\s+\S*\(%r\w+.*\), %xmm", assembly) or re.search(r"vmovaps\s+\S*\(%r.*\), %xmm", assembly)
    assert "cmpxchg16b" not in assembly and "__atomic" not in assembly


def test_other_processors_get_accesses_of_8_bytes():
    """Code for processors without AVX accesses 8 bytes at a time, since their only 16-byte load also writes."""
    text = translate_module(parse(kernel(*ACCESSES[0])), "x86_64-unknown-linux-gnu", "x86-64", "+sse2").text
    assert "i128" not in text and "load atomic i64" in text
    assert moves_16_bytes_at_once("aarch64-unknown-linux-gnu", "+neon")
    assert not moves_16_bytes_at_once("x86_64-unknown-linux-gnu", "+sse2,+cx16")
