"""A fault's message names its cause, and a fault leaves other buffers and later launches intact."""

import numpy as np
import pytest

from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import KernelError, KernelFault

SOURCE = """extern "C" __global__ void fill(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 1.0f;
}
extern "C" __global__ void crooked(char* a) {
  *(int*)(a + 4 * threadIdx.x + (threadIdx.x == 2)) = 3;
}
__device__ __noinline__ int deep(int n) {
  volatile int own[64];
  own[n & 63] = n;
  return n < 0 ? 0 : deep(n + 1) + own[n & 63];
}
extern "C" __global__ void recursion(int* a) { a[0] = deep(0); }
__device__ __noinline__ void poke(int* own, int at) { own[at] = 3; }
extern "C" __global__ void local(int* a, int at) {
  int own[16];
  for (int k = 0; k < 16; k++) own[k] = a[k];
  poke(own, at);
  a[0] = own[a[1]];
}
extern "C" __global__ void tile(int* a, int at) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a[threadIdx.x] = s[threadIdx.x + at];
}"""


@pytest.fixture(scope="module")
def module(host, cuda_ptx):
    """The kernels above, with line information."""
    return host.load_module(cuda_ptx(SOURCE, "compute_75", "-lineinfo"))


def test_an_access_past_the_end_tells_all_that_is_known(host, module):
    """The error of an access past the end names the kernel, line, thread, thread block, address and allocation."""
    buffer = host.upload(np.zeros(1000, np.float32))
    with pytest.raises(KernelFault, match=r"test\.cu:3.*0 bytes past the end of the allocation of 4000") as caught:
        host.launch(module.kernel("fill"), (5,), (250,), [buffer, 1250])
    fault = caught.value
    assert (fault.kernel, fault.source_line, fault.thread, fault.thread_block) == ("fill", 3, (0, 0, 0), (4, 0, 0))
    assert fault.address == buffer.memory.pointer + 4000
    assert fault.source_file.endswith("test.cu")
    assert f"PTX line {fault.ptx_line} " in str(fault)
    buffer.free()


def test_a_fault_leaves_other_buffers_and_the_device_as_they_were(host, module):
    """After faults in a launch, neighbouring buffers are unchanged and the next launch works."""
    buffers = [host.upload(np.full(250, index, np.float32)) for index in range(5)]
    for _ in range(3):
        with pytest.raises(KernelFault):
            host.launch(module.kernel("fill"), (40,), (256,), [buffers[2], 10_240])
    for index in (0, 1, 3, 4):
        assert (buffers[index].download() == index).all()
    host.launch(module.kernel("fill"), (1,), (250,), [buffers[1], 250])
    assert (buffers[1].download() == 1).all()
    for buffer in buffers:
        buffer.free()


@pytest.mark.parametrize(("offset", "is_fine"), [(0, True), (12, True), (2, False), (13, False), (16, False)])
def test_local_accesses_at_constants_are_checked(host, offset, is_fine):
    """Accesses to local memory at constant addresses must be aligned and within bounds."""
    ptx = f""".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() {{
    .reg .b32 %r; .local .align 16 .b8 own[16]; st.local.u32 [own+{offset}], 5; ret; }}"""
    kernel = host.load_module(ptx).kernel("k")
    if is_fine:
        host.launch(kernel, (1,), (32,), [])
        return
    with pytest.raises(KernelFault) as caught:
        host.launch(kernel, (1,), (32,), [])
    assert "misaligned" in str(caught.value) or offset == 16


def test_a_misaligned_access_is_a_fault(host, module):
    """A misaligned access is a fault: as on CUDA, the address must be a multiple of the access size."""
    buffer = host.upload(np.zeros(64, np.uint8))
    with pytest.raises(KernelFault, match="misaligned") as caught:
        host.launch(module.kernel("crooked"), (1,), (8,), [buffer])
    assert (caught.value.thread, caught.value.address) == ((2, 0, 0), buffer.memory.pointer + 9)
    buffer.free()


def test_endless_recursion_is_a_fault(host, module):
    """Endless recursion is a fault, and never overflows the process's own stack."""
    buffer = host.upload(np.zeros(4, np.int32))
    with pytest.raises(KernelFault, match="deeper than"):
        host.launch(module.kernel("recursion"), (2,), (32,), [buffer])
    buffer.free()


@pytest.mark.parametrize("at", [1 << 26, -(1 << 26)])
def test_local_memory_has_an_end_also_through_a_pointer(host, module, at):
    """An access past the end of a local array, in a function that gets a pointer to it, is a fault."""
    buffer = host.upload(np.zeros(16, np.int32))
    with pytest.raises(KernelFault, match="in no local memory"):
        host.launch(module.kernel("local"), (1,), (1,), [buffer, at])
    host.launch(module.kernel("local"), (1,), (1,), [buffer, 0])
    assert buffer.download()[0] == 3
    buffer.free()


@pytest.mark.parametrize("at", [1, 64, -1, 1 << 29])
def test_shared_memory_has_an_end(host, module, at):
    """An access past the thread block's shared memory is a fault that names the byte and the size."""
    buffer = host.upload(np.zeros(64, np.int32))
    with pytest.raises(KernelFault, match="of shared memory, which has 256 bytes") as caught:
        host.launch(module.kernel("tile"), (1,), (64,), [buffer, at])
    assert caught.value.thread == ((63 if at == 1 else 0), 0, 0)
    host.launch(module.kernel("tile"), (1,), (64,), [buffer, 0])
    assert np.array_equal(buffer.download(), np.arange(64))
    buffer.free()


EDGE = """extern "C" __global__ void edge(const int* in, int* out, int w, int h, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int left = in[y * w + max(x - 1, 0)], up = in[max(y - 1, 0) * w + x];
  int right = in[y * w + min(x + 1, w - 1)], last = in[(n - 1) - (y * w + x)];
  out[y * w + x] = left + 3 * up + 7 * right + 31 * last;
}"""


@pytest.mark.parametrize("size", [(1, 1), (16, 16), (17, 5), (64, 33), (63, 40)])
@pytest.mark.parametrize("block", [(16, 16), (32, 8), (8, 4, 2), (1, 1)])
def test_thread_blocks_inside_and_at_the_edge_agree(run, dialect, size, block):
    """Image kernels whose thread blocks lie inside the image or across its edge return numpy's result."""
    w, h = size
    image = np.random.default_rng(0).integers(0, 1000, (h, w)).astype(np.int32)
    grid = (-(-w // block[0]), -(-h // block[1]))
    out = run(EDGE, "edge", grid, block, image, np.zeros_like(image), w, h, w * h, dialect=dialect)[1]
    padded = np.pad(image, 1, mode="edge")
    expected = padded[1:-1, :-2] + 3 * padded[:-2, 1:-1] + 7 * padded[1:-1, 2:] + 31 * image[::-1, ::-1]
    assert np.array_equal(out, expected)


def test_indices_that_wrap_around_are_faults_where_they_leave_the_buffer(run, dialect):
    """A 32-bit index far beyond the buffer is a fault, signed or unsigned, even where it wraps around."""
    source = """extern "C" __global__ void k(int* a, int base) { a[base + (int)threadIdx.x] = 1; }"""
    with pytest.raises(KernelFault) as caught:
        run(source, "k", 1, 64, np.zeros(64, np.int32), 2**31 - 10, dialect=dialect)
    assert caught.value.thread == (0, 0, 0)
    wrapped = """extern "C" __global__ void k(int* a, unsigned base) { a[base + threadIdx.x] = 1; }"""
    with pytest.raises(KernelFault):
        run(wrapped, "k", 1, 64, np.zeros(64, np.int32), 2**32 - 8, dialect=dialect)


def test_too_much_local_memory_is_refused():
    """A kernel with too much local memory is refused, as CUDA's compiler refuses it."""
    ptx = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() {\n.local .b8 x[600000];\n"
    device = HostDevice(cores=1)
    with pytest.raises(KernelError, match="local memory must be at most 524288 bytes"):
        device.load_module(ptx + "st.local.u8 [x], 1; ret; }")
    device.close()
