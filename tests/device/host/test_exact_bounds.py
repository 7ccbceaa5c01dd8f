"""The host detects each access outside a buffer, to the byte, even if buffers share an allocation."""

import random
from contextlib import contextmanager

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom import Engine, Patch
from warploom.engine.device.device import Buffer
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.protocol import part_of
from warploom.engine.diagnostics import KernelFault

#: Each kernel accesses SIZE bytes at x + at. `%a` is the address of an access; `%x` and `%y` are arguments.
#: `at` has 32 bits: one of 64 bits could be the address, and x the offset.
WAYS = {
    "load": "add.s64 %a, %x, %at; ld.global{V}.b32 {R}, [%a];",
    "generic": "add.s64 %a, %x, %at; ld{V}.b32 {R}, [%a];",
    "store": "add.s64 %a, %x, %at; st.global{V}.b32 [%a], {R};",
    "atomic": "add.s64 %a, %x, %at; atom.global.add.u32 %r0, [%a], 1;",
    "reduction": "add.s64 %a, %x, %at; red.global.add.u32 [%a], 1;",
    "copy": "add.s64 %a, %x, %at; mov.u32 %s, box; cp.async.ca.shared.global [%s], [%a], {N}; cp.async.wait_all;",
    "barrier": "bar.sync 0; add.s64 %a, %x, %at; ld.global{V}.b32 {R}, [%a]; bar.sync 0;",
    "selected": "setp.ne.s64 %p, %at, -999; selp.b64 %a, %x, %y, %p; add.s64 %a, %a, %at; ld.global{V}.b32 {R}, [%a];",
    "table": "ld.global.b64 %a, [%y]; add.s64 %a, %a, %at; ld.global{V}.b32 {R}, [%a];",
    "loop": "mov.u32 %i, 0; AGAIN: add.s64 %a, %x, %at; ld.global.volatile{V}.b32 {R}, [%a];"
    "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra AGAIN;",
    "call": "add.s64 %a, %x, %at; { .param .b64 q; st.param.b64 [q], %a; call read{N}, (q); }",
}
COUNTS = (1, 4)
SINGLE = ("atomic", "reduction")


def module():
    """Return PTX with a kernel for each way of accessing memory and each number of elements."""
    text = [".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 box[16];"]
    kernels = []
    for count in COUNTS:
        registers = ", ".join(f"%r{index}" for index in range(count))
        registers = f"{{{registers}}}" if count > 1 else registers
        vector = f".v{count}" if count > 1 else ""
        text.append(
            f".func read{4 * count}(.param .b64 q) {{ .reg .b64 %a; .reg .b32 %r<4>; ld.param.b64 %a, [q];"
            f" ld.global{vector}.b32 {registers}, [%a]; ret; }}"
        )
        for name, way in WAYS.items():
            if name in SINGLE and count > 1:
                continue
            lines = way.replace("{V}", vector).replace("{R}", registers).replace("{N}", str(4 * count))
            kernels.append(f""".visible .entry {name}{count}(.param .u64 x, .param .u64 y, .param .s32 at) {{
            .reg .b64 %x, %y, %at, %a; .reg .b32 %r<4>, %s, %i; .reg .pred %p;
            ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.s32 %i, [at]; cvt.s64.s32 %at, %i; mov.b32 %r0, 7;
            mov.b32 %r1, 7; mov.b32 %r2, 7; mov.b32 %r3, 7; {lines} ret; }}""")
    return "\n".join(text + kernels)


@pytest.fixture(scope="module", params=[True, False], ids=["quick", "optimised"])
def loaded(request):
    """A device and its kernels, compiled quickly or optimised, in turn."""
    device = HostDevice(cores=1, quick_first=request.param)
    yield device, device.load_module(module())
    device.close()


@contextmanager
def arena(device, rng):
    """Yield buffers of random sizes in one allocation, with random gaps between them."""
    whole, at, found = device.allocate(1 << 14), 0, []
    while True:
        size = 4 * rng.choice((1, 15, 60, 61, 64, 100, rng.randint(1, 300)))
        if at + size > whole.size_bytes:
            break
        found.append(Buffer(device, part_of(whole, at, size), np.dtype(np.uint32), (size // 4,)))
        at = -(-(at + size) // 16) * 16 + rng.choice((0, 0, 16, 64, 256))
    yield found
    whole.free()


@pytest.mark.parametrize("way", WAYS)
def test_each_access_must_lie_in_its_own_buffer(loaded, way):
    """An access before, after or across the end of its buffer is a fault that names the address."""
    device, kernels = loaded
    for seed in seeds(2):
        rng = random.Random(seed)
        with arena(device, rng) as buffers:
            x, y = rng.sample(buffers, 2)
            table = device.upload(np.array([x.pointer], np.uint64))
            for count in (1,) if way in SINGLE else COUNTS:
                step, end = 4 * count, 4 * x.shape[0]
                edges = {0, end, end - step, end - step + step // 2, end - 4, -step, -4, end + 4, end + 256, -256, 8000}
                # An address from a table may lie in any argument: here in x, to which the table points, or the table.
                for at in sorted(edges | {rng.randrange(-40, end + 40) & ~3}):
                    address = x.pointer + at
                    is_fine = 0 <= at <= end - step and address % step == 0
                    own = [x, table if way == "table" else y]
                    if way in ("selected", "table", "call"):  # the address may lie in any buffer of the launch
                        inside = (item.pointer <= address <= item.pointer + item.size_bytes - step for item in own)
                        is_fine = any(inside) and address % step == 0
                    arguments = [x, own[1], at]
                    kernel = kernels.kernel(f"{way}{count}")
                    if is_fine:
                        device.launch(kernel, (1,), (1,), arguments)
                        continue
                    with pytest.raises(KernelFault) as fault:
                        device.launch(kernel, (1,), (1,), arguments)
                    assert fault.value.address == address, (way, count, at, end)
            table.free()


def test_a_table_of_pointers_may_lead_to_memory_that_is_no_argument(loaded):
    """A pointer in a table may point to memory that is no argument, whose end is checked too."""
    device, kernels = loaded
    far = device.upload(np.arange(60, dtype=np.uint32))
    table = device.upload(np.array([far.pointer], np.uint64))
    for at in (0, 236):
        device.launch(kernels.kernel("table1"), (1,), (1,), [table, table, at])
    with pytest.raises(KernelFault, match="0 bytes past the end of the allocation of 240 bytes"):
        device.launch(kernels.kernel("table1"), (1,), (1,), [table, table, 240])
    far.free()
    table.free()


SHIFTED = """extern "C" __global__ void k(const float* x, float* out, int shift, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = x[i + shift];
}"""


@pytest.mark.parametrize("count", [1, 59, 60, 61, 64, 100, 1000, 1024])
@pytest.mark.parametrize("shift", [0, 1, -1])
def test_a_kernel_of_a_patch_stays_in_its_buffers(count, shift):
    """An access past the end of a patch's buffer is a fault, even if the memory pool allocated more."""
    values = np.arange(count, dtype=np.float32)
    patch = Patch()
    kernel = patch.add("kernel.cuda", code=SHIFTED, shift=shift)
    patch.connect(patch.add("io.array", data=values)["out"], kernel["x"])
    with Engine(patch, device="host") as engine:
        if shift == 0:
            engine.step()
            np.testing.assert_array_equal(engine.read(kernel["out"]), values)
            return
        with pytest.raises(KernelFault, match=r"used the address 0x\w+ for 4 bytes, which is in no live buffer"):
            engine.step()


def test_a_buffer_that_shrinks_in_place_has_its_new_end():
    """After an edit that shrinks a buffer in place, an access past its new end is a fault."""
    patch = Patch()
    code = 'extern "C" __global__ void k(const float* x, float* out, int at) { out[0] = x[at]; }'
    source = patch.add("io.array", data=np.arange(64, dtype=np.float32))
    middle, kernel = patch.add("math.scale_offset"), patch.add("kernel.cuda", code=code, at=62)
    patch.connect(source["out"], middle["x"])
    patch.connect(middle["out"], kernel["x"])
    with Engine(patch, device="host") as engine:
        engine.step()
        assert engine.read(kernel["out"]).reshape(-1)[0] == 62
        patch.set(source, data=np.arange(60, dtype=np.float32))
        with pytest.raises(KernelFault, match="past the end of the allocation of 240 bytes"):
            engine.step()
