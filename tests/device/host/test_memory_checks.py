"""Parameter space, barriers and the device heap are checked at translation or while a kernel runs."""

import numpy as np
import pytest

from warploom.engine.diagnostics import KernelError, KernelFault, TranslatorBug

PARAMETERS = """.version 8.0
.target sm_75
.address_size 64
.func (.param .b32 r) own(.param .b32 p) { .reg .b32 %r0; FUNC ret; }
.visible .entry k(.param .u64 out, .param .u32 n, .param .u32 at) {
.reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p;
ld.param.u64 %a0, [out]; ld.param.u32 %r1, [at]; cvt.s64.s32 %a1, %r1; mov.u32 %r2, %tid.x;
BODY
ret;
}"""


@pytest.mark.parametrize(
    ("body", "function", "line"),
    [
        ("ld.param.u64 %a2, [out+1073741824]; st.global.u64 [%a0], %a2;", "", 8),
        ("ld.param.u64 %a2, [out+4];", "", 8),
        ("ld.param.u64 %a2, [out-64];", "", 8),
        ("ld.param.u32 %r3, [n+4];", "", 8),
        ("st.param.u32 [n], 5;", "", 8),
        ("{ .param .b32 p; .param .b32 r; st.param.b32 [p+1073741824], 1; call (r), own, (p); }", "", 8),
        ("{ .param .b8 p; .param .b32 r; call (r), own, (p); }", "", 8),
        ("{ .param .b32 p; .param .b32 r; call (r), own, (p); }", "ld.param.b32 %r0, [p+4096];", 4),
        ("{ .param .b32 p; .param .b32 r; call (r), own, (p); }", "st.param.b32 [r+4], %r0;", 4),
        ("bar.sync 100000000, 64;", "", 8),
        ("bar.sync 16;", "", 8),
        ("bar.sync 0, 48;", "", 8),
        ("bar.arrive 1, 48;", "", 8),
        ("setp.eq.u32 %p, %r2, 0; barrier.red.popc.aligned.u32 %r3, 17, %p;", "", 8),
    ],
)
def test_constant_mistakes_in_parameters_and_barriers_are_refused(host, body, function, line):
    """Constant offsets outside parameter space, barrier numbers above 15 and counts of partial warps are refused."""
    with pytest.raises(KernelError, match="must") as caught:
        host.load_module(PARAMETERS.replace("BODY", body).replace("FUNC", function))
    assert caught.value.line == line
    assert not isinstance(caught.value, TranslatorBug)


@pytest.mark.parametrize(
    ("body", "good", "bad", "message"),
    [
        ("ld.param.u32 %r3, [%a1];", (0, 8, 12), (16, 14, -8, 1 << 30), "the kernel's parameters"),
        ("bar.sync %r1;", (0, 15), (16, 1 << 30, -1), "used the barrier"),
        ("bar.sync 0, %r1;", (0, 64), (48, 1, -1), "multiple of 32"),
        (
            "setp.lt.u32 %p, %r2, 32; @%p bra A; bar.sync %r1, 32; bra B; A: bar.sync %r1, 32; B:",
            (3,),
            (99,),
            "barrier 99",
        ),
    ],
)
def test_computed_mistakes_in_parameters_and_barriers_are_faults(host, body, good, bad, message):
    """Computed offsets and barrier numbers are checked when they are used, and the device stays usable."""
    kernel = host.load_module(PARAMETERS.replace("BODY", body).replace("FUNC", "")).kernel("k")
    out = host.upload(np.zeros(64, np.uint32))
    for value in (*bad, *good):
        if value in good:
            host.launch(kernel, (1,), (64,), [out, 0, value])
            continue
        with pytest.raises(KernelFault, match=message if value % 4 == 0 or "param" not in message else "misaligned"):
            host.launch(kernel, (1,), (64,), [out, 0, value])


HEAP = """
extern "C" __global__ void heap(int* out, int size, int at, int frees) {
  char* block = (char*)malloc(size);
  char* other = (char*)malloc(16);
  if (frees == 1 || frees == 2) free(block);
  if (frees == 2) free(block);
  if (frees == 3) free(block + 16);
  if (at >= 0) for (int turn = 0; turn < 3; turn++) { block[at] = turn; if (frees == 4 && turn == 1) free(block); }
  out[threadIdx.x] = at >= 0 ? block[at] : 1;
  free(other); free(0);
}
extern "C" __global__ void __launch_bounds__(64) keep(long long* out) { out[0] = (long long)malloc(40); }
extern "C" __global__ void use(long long* out, int at) { *(volatile int*)(out[0] + at) = 7; }
extern "C" __global__ void drop(long long* out) { free((void*)out[0]); }
"""


@pytest.mark.parametrize(
    ("size", "at", "frees", "message"),
    [
        (64, 63, 0, None),
        (64, 64, 0, "used the address"),
        (61, 60, 0, None),
        (61, 61, 0, "used the address"),
        (64, -1, 1, None),
        (64, 5, 1, "used the address"),
        (64, 5, 4, "used the address"),
        (64, -1, 2, "no block of the device heap"),
        (64, -1, 3, "no block of the device heap"),
    ],
)
def test_the_device_heap_is_checked_by_block(host, cuda_ptx, dialect, size, at, frees, message):
    """A byte past a heap block, a use after free and a double free are faults."""
    kernel = host.load_module(cuda_ptx(HEAP, dialect)).kernel("heap")
    out = host.upload(np.zeros(8, np.int32))
    if message is None:
        host.launch(kernel, (1,), (8,), [out, size, at, frees])
        return
    with pytest.raises(KernelFault, match=message):
        host.launch(kernel, (1,), (8,), [out, size, at, frees])


def test_a_block_of_the_heap_lives_from_kernel_to_kernel(host, cuda_ptx, dialect):
    """A heap block outlives its kernel; other kernels may use it to its end until one frees it."""
    module = host.load_module(cuda_ptx(HEAP, dialect))
    out = host.upload(np.zeros(8, np.int64))
    host.launch(module.kernel("keep"), (1,), (1,), [out])
    host.launch(module.kernel("use"), (1,), (1,), [out, 36])
    with pytest.raises(KernelFault, match="past the end of the allocation of 40 bytes"):
        host.launch(module.kernel("use"), (1,), (1,), [out, 40])
    host.launch(module.kernel("drop"), (1,), (1,), [out])
    with pytest.raises(KernelFault, match="used the address"):
        host.launch(module.kernel("use"), (1,), (1,), [out, 0])
    with pytest.raises(KernelFault, match="no block of the device heap"):
        host.launch(module.kernel("drop"), (1,), (1,), [out])


def test_free_alone_needs_no_malloc(run):
    """A module that calls `free` without `malloc` faults on an address that is no heap block."""
    source = 'extern "C" __global__ void f(void** p) { free(p[0]); }'
    run(source, "f", 1, 1, np.zeros(1, np.int64))
    with pytest.raises(KernelFault, match="no block of the device heap"):
        run(source, "f", 1, 1, np.array([4096]))


UNWRITTEN = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 skips) {
.reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p;
ld.param.u64 %a0, [out]; ld.param.u32 %r1, [skips]; cvta.to.global.u64 %a1, %a0;
mov.u32 %r2, %tid.x; setp.ne.s32 %p, %r1, 0; @%p bra END;
shr.u32 %r3, %r2, 1; mul.wide.u32 %a2, %r3, 4; add.s64 %a3, %a1, %a2;
END: st.global.u32 [%a3], 1; ret; }
"""


def test_an_address_that_was_never_written_is_a_fault(host):
    """A register that was never written is zero, so an access through it is a fault."""
    kernel, out = host.load_module(UNWRITTEN).kernel("k"), host.upload(np.zeros(32, "i4"))
    host.launch(kernel, (1,), (64,), [out, 0])
    assert out.download().all()
    with pytest.raises(KernelFault):
        host.launch(kernel, (1,), (64,), [out, 1])
    out.free()
