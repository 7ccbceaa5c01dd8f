"""Features that only CUDA devices have: CUBIN, driver limits and errors, page-locked memory, and GPU faults."""

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device
from warploom.engine.device.protocol import ConditionalKind, LaunchConfig
from warploom.engine.diagnostics import DeviceError, KernelError
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.ptx import parse

pytestmark = pytest.mark.gpu

SOURCE = """
extern "C" __global__ void scale(float* data, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}
extern "C" __global__ void __launch_bounds__(128) last_of(const float* data, float* out, int n) {
    extern __shared__ float scratch[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) scratch[i] = data[i];
    __syncthreads();
    if (threadIdx.x == 0) *out = scratch[n - 1];
}
struct Pair { float a; int b; };
extern "C" __global__ void store_pair(char tag, Pair pair, double* out) { out[0] = tag + pair.a + pair.b; }
extern "C" __global__ void nothing() {}
"""
PATH = Path("kernels.cu")
ONE = LaunchConfig((1, 1, 1), (32, 1, 1))


def open_or_skip() -> Device:
    """Open the first GPU, or skip the test with the reason why none can be used."""
    try:
        return open_device("cuda:0")
    except DeviceError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    """The first GPU; without one, the test is skipped with the reason."""
    opened = open_or_skip()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def cubin(device: Device) -> bytes:
    """The kernels, compiled for the first GPU."""
    compiled = compile_cuda(SOURCE, PATH, device.info.architecture, [])
    assert compiled.cubin is not None
    return compiled.cubin


def test_a_cubin_loads_and_runs(device: Device, cubin: bytes) -> None:
    """A CUBIN loads and runs, even one from an NVRTC newer than the driver."""
    module = device.load_module(cubin)
    assert set(module.kernel_names) == {"scale", "last_of", "store_pair", "nothing"}
    buffer = device.upload(np.arange(100, dtype=np.float32))
    device.launch(module.kernel("scale"), (4,), (32,), [buffer, np.float32(3), np.int32(100)])
    np.testing.assert_array_equal(buffer.download(), np.arange(100, dtype=np.float32) * 3)


def test_a_cubin_tells_places_and_limits(device: Device, cubin: bytes) -> None:
    """A CUBIN reports parameter offsets and sizes as in CUDA C++, no PTX types, and the largest thread block."""
    module = device.load_module(cubin)
    places = {name: [(p.offset, p.size_bytes) for p in module.kernel(name).parameters] for name in module.kernel_names}
    assert places == {
        "scale": [(0, 8), (8, 4), (12, 4)],
        "last_of": [(0, 8), (8, 8), (16, 4)],
        "store_pair": [(0, 1), (4, 8), (16, 8)],
        "nothing": [],
    }
    assert all(p.ptx_type is None for p in module.kernel("scale").parameters)
    assert module.kernel("last_of").max_threads == 128
    assert module.kernel("scale").max_threads == 1024


def test_the_ptx_of_a_compile_describes_its_cubin(device: Device, cubin: bytes) -> None:
    """The parameters in the PTX of a compilation have the offsets and sizes of those in its CUBIN."""
    module, signatures = device.load_module(cubin), parse(compile_cuda(SOURCE, PATH, "compute_75", []).ptx).signatures
    for name, signature in signatures.items():
        places = [(p.offset, p.size_bytes) for p in signature.parameters]
        assert places == [(p.offset, p.size_bytes) for p in module.kernel(name).parameters]


def test_structs_and_small_values_are_passed(device: Device, cubin: bytes) -> None:
    """A kernel reads each struct and each small value from its own offset."""
    pair = np.array((2.5, 40), np.dtype([("a", np.float32), ("b", np.int32)]))
    out = device.upload(np.zeros(1))
    device.launch(device.load_module(cubin).kernel("store_pair"), (1,), (1,), [100, pair, out])
    assert out.download()[0] == 142.5


def test_a_kernel_without_parameters_runs_in_a_graph(device: Device, cubin: bytes) -> None:
    """A kernel without parameters, whose argument block is empty, runs in a graph."""
    kernel = device.load_module(cubin).kernel("nothing")
    graph, stream = device.create_graph(), device.create_stream()
    node = graph.add_kernel(kernel, ONE, pack_arguments([], []), [])
    executable = graph.instantiate()
    executable.update_kernel(node, kernel, ONE, pack_arguments([], []))
    executable.launch(stream)
    stream.synchronize()


@pytest.mark.parametrize("in_graph", [False, True])
def test_more_than_48_kb_of_shared_memory_can_be_asked_for(device: Device, cubin: bytes, in_graph: bool) -> None:
    """A kernel may request more than 48 KB of shared memory; 60000 bytes fit every GPU since Turing."""
    n = 15000
    kernel = device.load_module(cubin).kernel("last_of")
    data, out = device.upload(np.arange(n, dtype=np.float32)), device.upload(np.zeros(1, np.float32))
    if in_graph:
        graph, stream = device.create_graph(), device.create_stream()
        arguments = pack_arguments(kernel.parameters, [data, out, n])
        graph.add_kernel(kernel, LaunchConfig((1, 1, 1), (128, 1, 1), 4 * n), arguments, [])
        graph.instantiate().launch(stream)
        stream.synchronize()
    else:
        device.launch(kernel, (1,), (128,), [data, out, n], shared_bytes=4 * n)
    assert out.download()[0] == n - 1


def test_launches_outside_the_limits_say_which(device: Device, cubin: bytes) -> None:
    """The error of a launch outside the limits names the limit, and the device keeps working."""
    module = device.load_module(cubin)
    scale, last_of = module.kernel("scale"), module.kernel("last_of")
    buffer = device.upload(np.ones(4, np.float32))
    with pytest.raises(
        DeviceError, match=r"thread block of kernel last_of must have at most 128 threads, got 129 in \(129, 1"
    ):
        device.launch(last_of, (1,), (129,), [buffer, buffer, 1])
    with pytest.raises(DeviceError, match=r"grid of kernel scale must be from \(1, 1, 1\) to .*got \(0, 1, 1\)"):
        device.launch(scale, (0,), (32,), [buffer, 1.0, 4])
    with pytest.raises(DeviceError, match=r"shared memory of kernel last_of must fit .*got 10000000 bytes"):
        device.launch(last_of, (1,), (32,), [buffer, buffer, 1], shared_bytes=10_000_000)
    assert list(buffer.download()) == [1, 1, 1, 1]


def test_too_large_an_allocation_names_both_sizes(device: Device) -> None:
    """The error of an oversized allocation has the requested and the free size, and the device keeps working."""
    asked = 1 << 50
    with pytest.raises(DeviceError, match=rf"asked for {asked} bytes, free are \d+ of \d+ bytes"):
        device.allocate(asked)
    with pytest.raises(DeviceError, match="at least 1 byte, got 0"):
        device.allocate(0)
    assert device.upload(np.ones(1)).download()[0] == 1


def test_memory_is_not_used_after_it_was_freed(device: Device) -> None:
    """Freed memory is refused, since using it would fault the GPU."""
    memory = device.allocate(16)
    memory.free()
    with pytest.raises(DeviceError, match="before it is freed"):
        device.fill(memory, 0)


PTX = ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n"


@pytest.mark.parametrize(
    ("image", "message", "line"),
    [
        (PTX.replace("ret", "frobnicate"), "module must be valid PTX, got CUDA_ERROR_INVALID_PTX: ptxas", 6),
        (PTX.replace("7.5", "99.9"), r"takes \(it supports CUDA \d+\.\d\), got PTX 99\.9; update the driver", None),
        (b"\x7fELF and then nothing of use" + bytes(256), "module must be a CUBIN, got CUDA_ERROR", None),
    ],
)
def test_a_bad_module_says_what_is_wrong(device: Device, image: str | bytes, message: str, line: int | None) -> None:
    """A module that does not compile raises an error with the driver's log and the line in the PTX."""
    with pytest.raises(KernelError, match=message) as caught:
        device.load_module(image)
    assert caught.value.line == line


def test_a_cubin_for_another_gpu_says_so(device: Device) -> None:
    """A CUBIN for another major architecture is refused with an error that says so."""
    other = "sm_75" if device.info.architecture != "sm_75" else "sm_90"
    cubin = compile_cuda(SOURCE, PATH, other, []).cubin
    assert cubin is not None
    with pytest.raises(KernelError, match="must be built for this GPU's architecture"):
        device.load_module(cubin)


def test_long_fills_and_copies_are_split(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long fills and copies are split into pieces, also of unequal size, and later nodes wait for all pieces."""
    from warploom.engine.device.cuda.graph import native_nodes

    monkeypatch.setattr(native_nodes, "PIECE_BYTES", 1000)
    source, target = device.allocate(4321), device.pinned(np.zeros(4321, np.uint8))
    graph, stream = device.create_graph(), device.create_stream()
    fill = graph.add_memset(source, 7, 4321, [])
    graph.add_copy(target, source, 4321, [fill, fill])
    graph.instantiate().launch(stream)
    stream.synchronize()
    assert (target.array == 7).all()


def test_a_gigabyte_and_more_is_filled_to_its_end(device: Device) -> None:
    """A fill of 5 GB, which is more than 32 bits can count, reaches the last byte."""
    size = 5_000_000_001
    if device.info.memory_bytes < 2 * size:
        pytest.skip(f"the GPU has {device.info.memory_bytes} bytes")
    memory, tail = device.allocate(size), np.zeros(size, np.uint8)
    graph, stream = device.create_graph(), device.create_stream()
    graph.add_memset(memory, 9, size, [])
    graph.instantiate().launch(stream)
    stream.synchronize()
    device.read(memory, tail)
    memory.free()
    assert tail[0] == tail[2**32 - 1] == tail[2**32] == tail[-1] == 9
    assert int(tail.min()) == 9


def test_two_executables_of_one_graph_are_updated_apart(device: Device, cubin: bytes) -> None:
    """An update changes only its own executable of a graph."""
    kernel = device.load_module(cubin).kernel("scale")
    buffer = device.upload(np.ones(4, np.float32))
    graph, stream = device.create_graph(), device.create_stream()
    node = graph.add_kernel(kernel, ONE, pack_arguments(kernel.parameters, [buffer, 2.0, 4]), [])
    first, second = graph.instantiate(), graph.instantiate()
    first.update_kernel(node, kernel, ONE, pack_arguments(kernel.parameters, [buffer, 5.0, 4]))
    second.launch(stream)
    stream.synchronize()
    assert buffer.download()[0] == 2
    first.launch(stream)
    stream.synchronize()
    assert buffer.download()[0] == 10


def test_a_graph_with_conditions_has_one_executable(device: Device) -> None:
    """A second executable of a graph with conditions is refused, since the driver allows only one."""
    graph = device.create_graph()
    graph.add_conditional(ConditionalKind.IF, graph.create_condition(1), [])
    graph.instantiate()
    with pytest.raises(DeviceError, match="graph with conditions must be instantiated once"):
        graph.instantiate()


def test_free_memory_shrinks_by_what_is_allocated(device: Device) -> None:
    """Free memory shrinks by an allocation and grows when it is freed.

    The test compares with half of the size, since other programs on this GPU may allocate memory meanwhile.
    """
    before, size = device.memory_free_bytes, device.memory_free_bytes // 16
    memory = device.allocate(size)
    assert before - device.memory_free_bytes > size // 2
    memory.free()
    assert before - device.memory_free_bytes < size // 2


def test_updates_keep_nothing(device: Device, cubin: bytes) -> None:
    """Ten thousand updates of an argument keep less than 10 kB of Python memory."""
    kernel = device.load_module(cubin).kernel("scale")
    arguments = pack_arguments(kernel.parameters, [device.upload(np.ones(4, np.float32)), 2.0, 4])
    graph = device.create_graph()
    node = graph.add_kernel(kernel, ONE, arguments, [])
    executable = graph.instantiate()
    executable.update_kernel(node, kernel, ONE, arguments)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for step in range(10_000):
            arguments.set(1, float(step))
            executable.update_kernel(node, kernel, ONE, arguments)
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()


def test_events_say_when_they_cannot_be_timed(device: Device) -> None:
    """Reading the time of an event that was not recorded is an error."""
    first, second = device.create_event(), device.create_event()
    with pytest.raises(DeviceError, match="recorded before its time is read"):
        second.elapsed_ns(first)


def test_kernels_and_streams_of_another_device_are_refused(device: Device, cubin: bytes) -> None:
    """A kernel or stream of another device is refused before the driver is called."""
    kernel = device.load_module(cubin).kernel("nothing")
    stranger = SimpleNamespace(name="blur", parameters=(), max_threads=1024)
    with pytest.raises(DeviceError, match="kernel blur must be loaded on the CUDA device"):
        device.launch(stranger, (1,), (1,), [])
    with pytest.raises(DeviceError, match="stream must be a CUDA device's"):
        device.launch(kernel, (1,), (1,), [], stream=SimpleNamespace())


def test_closing_gives_back_what_was_left_over(device: Device) -> None:
    """After a device with buffers and a graph is closed, even twice, another device on the same GPU can be used."""
    other = open_device("cuda:0")
    other.upload(np.ones(1000))
    graph = other.create_graph()
    graph.add_memset(other.allocate(8), 0, 8, [])
    graph.instantiate()
    other.close()
    other.close()
    device.activate()
    assert device.upload(np.ones(1)).download()[0] == 1


def test_a_fault_names_the_call_and_the_remedy() -> None:
    """A GPU fault names the call and the remedy, and closing the device afterwards raises no error.

    The test runs in another process, since a process can't use the GPU after a fault.
    """
    open_or_skip().close()
    code = f"""
from pathlib import Path
from warploom.engine.device.open import open_device
from warploom.engine.diagnostics import DeviceError
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
device = open_device("cuda:0")
cubin = compile_cuda({SOURCE!r}, Path("k.cu"), device.info.architecture, []).cubin
kernel = device.load_module(cubin).kernel("scale")
device.launch(kernel, (1,), (32,), [64, 2.0, 4])
for _ in range(2):
    try:
        device.synchronize()
    except DeviceError as fault:
        print(fault)
device.close()
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("waiting for the device failed: CUDA_ERROR_ILLEGAL_ADDRESS")
        assert line.endswith("the GPU stays unusable until this process ends: save the patch and restart")
