"""Graphs, events, memory and the compile cache of the host device."""

import os
import threading
import time

import numpy as np
import pytest

from tests.kernel_sources.test_compile_cache import size_of
from tests.waiting import until
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.graph.program import GraphProgram
from warploom.engine.device.host.modules import build, cache
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.diagnostics import DeviceError, KernelError

SOURCE = """
__device__ int me() { return blockIdx.x * blockDim.x + threadIdx.x; }
extern "C" __global__ void add(float* x, float v, int n) { if (me() < n) x[me()] += v; }
extern "C" __global__ void mul(float* x, float v, int n) { if (me() < n) x[me()] *= v; }
__device__ unsigned calls;
extern "C" __global__ void count(unsigned* out) { *out = atomicAdd(&calls, 1u); }
"""
SMALL = LaunchConfig((1, 1, 1), (32, 1, 1))


@pytest.fixture(scope="module")
def module(host, cuda_ptx):
    return host.load_module(cuda_ptx(SOURCE))


def arguments(kernel, *values):
    return pack_arguments(kernel.parameters, values)


def test_nodes_run_after_those_they_depend_on(host, module):
    """Nodes run after their dependencies, whatever the order in which they were added."""
    x = host.upload(np.zeros(8, np.float32))
    add, mul = module.kernel("add"), module.kernel("mul")
    graph = host.create_graph()
    first = graph.add_memset(x.memory, 0, 32, [])
    second = graph.add_kernel(add, SMALL, arguments(add, x, 2.0, 8), [first])
    third = graph.add_kernel(mul, SMALL, arguments(mul, x, 5.0, 8), [second])
    graph.add_kernel(add, SMALL, arguments(add, x, 1.0, 8), [third])
    executable, stream = graph.instantiate(), host.create_stream()
    for _ in range(3):
        executable.launch(stream)
        assert x.download().tolist() == [11] * 8


def test_a_fill_is_written_once_however_often_python_runs_a_kernel(host, module, monkeypatch):
    """The cost of a launch's first run grows with its nodes, not with its kernels times its fills."""
    written = []
    real = GraphProgram._write_transfer
    monkeypatch.setattr(GraphProgram, "_write_transfer", lambda *given: written.append(given[1]) or real(*given))
    x = host.upload(np.zeros(8, np.float32))
    add, graph, last = module.kernel("add"), host.create_graph(), []
    for turn in range(20):
        last = [graph.add_memset(x.memory, 0, 32, last)]
        last = [graph.add_kernel(add, SMALL, arguments(add, x, float(turn), 8), last)]
    graph.instantiate().launch(host.create_stream())
    assert x.download().tolist() == [19] * 8
    assert len(written) == 20


def test_kernels_of_another_device_are_refused(host, module):
    """Graphs, executables and launches refuse kernels of another device."""

    class Foreign:
        name = "foreign"
        parameters = ()

    add, graph = module.kernel("add"), host.create_graph()
    node = graph.add_kernel(add, SMALL, arguments(add, 0, 1.0, 0), [])
    executable = graph.instantiate()
    none = arguments(Foreign())
    for call in (
        lambda: graph.add_kernel(Foreign(), SMALL, none, []),
        lambda: graph.set_kernel(node, Foreign(), SMALL, none),
        lambda: executable.update_kernel(node, Foreign(), SMALL, none),
        lambda: host.launch(Foreign(), (1,), (1,), []),
    ):
        with pytest.raises(DeviceError, match="kernel foreign must be loaded on the host, got Foreign"):
            call()


def test_events_of_another_device_are_refused(host):
    """Streams and events refuse events of another device."""

    class Foreign:
        pass

    event = host.create_event()
    for call in (
        lambda: host.create_stream().record(Foreign()),
        lambda: host.create_stream().wait(Foreign()),
        lambda: event.elapsed_ns(Foreign()),
    ):
        with pytest.raises(DeviceError, match="event must be the host device's, got Foreign"):
            call()


def test_kernel_updates_change_arguments_launch_and_function(host, module):
    """New argument values, a new launch and another function each take effect at the next launch."""
    x = host.upload(np.ones(64, np.float32))
    add, mul = module.kernel("add"), module.kernel("mul")
    block = arguments(add, x, 1.0, 64)
    graph, stream = host.create_graph(), host.create_stream()
    node = graph.add_kernel(add, SMALL, block, [])
    executable = graph.instantiate()
    executable.launch(stream)
    assert x.download().tolist() == [2] * 32 + [1] * 32
    block.set(1, 10.0)
    executable.launch(stream)
    assert x.download().tolist() == [12] * 32 + [1] * 32
    executable.update_kernel(node, mul, LaunchConfig((2, 1, 1), (32, 1, 1)), arguments(mul, x, 3.0, 64))
    executable.launch(stream)
    assert x.download().tolist() == [36] * 32 + [3] * 32
    with pytest.raises(DeviceError, match="must be a kernel node"):
        executable.update_kernel(7, mul, SMALL, block)
    with pytest.raises(DeviceError, match=r"got \(1025, 1, 1\)"):
        executable.update_kernel(node, mul, LaunchConfig((1, 1, 1), (1025, 1, 1)), block)


def test_copies_go_between_pinned_arrays_and_buffers(host):
    """Copy nodes read and fill pinned arrays when they run; a target that is too small is refused."""
    source, target = host.pinned(np.arange(6, dtype=np.int16)), host.pinned(np.zeros(6, np.int16))
    x, y = host.allocate(12), host.allocate(12)
    graph = host.create_graph()
    up = graph.add_copy(x, source, 12, [])
    across = graph.add_copy(y, x, 12, [up])
    graph.add_copy(target, y, 8, [across])
    executable = graph.instantiate()
    source.array[:] = [9, 8, 7, 6, 5, 4]
    executable.launch(host.create_stream())
    assert target.array.tolist() == [9, 8, 7, 6, 0, 0]
    with pytest.raises(DeviceError, match="copy target must hold 13 bytes, got 12"):
        graph.add_copy(x, source, 13, [])


def test_events_measure_what_a_stream_does_between_them(host, module):
    """Events measure the time of the work between their records; the time of an unrecorded event is refused."""
    x = host.upload(np.zeros(1 << 20, np.float32))
    add = module.kernel("add")
    before, after, never = host.create_event(), host.create_event(), host.create_event()
    graph, stream = host.create_graph(), host.create_stream()
    graph.add_kernel(add, LaunchConfig((4096, 1, 1), (256, 1, 1)), arguments(add, x, 1.0, 1 << 20), [])
    executable = graph.instantiate()
    began_ns = time.perf_counter_ns()
    stream.record(before)
    executable.launch(stream)
    stream.record(after)
    assert 10_000 < after.elapsed_ns(before) <= time.perf_counter_ns() - began_ns
    assert before.elapsed_ns(after) == -after.elapsed_ns(before)
    with pytest.raises(DeviceError, match="must be recorded"):
        after.elapsed_ns(never)


def test_a_fault_in_a_graph_leaves_the_device_working(host, module):
    """A fault in a graph raises at the launch, and a corrected graph runs afterwards."""
    x = host.upload(np.zeros(32, np.float32))
    add = module.kernel("add")
    graph, stream = host.create_graph(), host.create_stream()
    node = graph.add_kernel(add, LaunchConfig((2, 1, 1), (32, 1, 1)), arguments(add, x, 1.0, 64), [])
    executable = graph.instantiate()
    with pytest.raises(DeviceError, match=r"thread \(0, 0, 0\) of thread block \(1, 0, 0\)"):
        executable.launch(stream)
    executable.update_kernel(node, add, SMALL, arguments(add, x, 1.0, 32))
    executable.launch(stream)
    assert x.download()[31] == 2


def test_module_variables_live_as_long_as_the_module(host, cuda_ptx):
    """A __device__ variable keeps its value between launches and is separate in each module; kernels outlive unload."""
    out = host.upload(np.zeros(1, np.uint32))
    first, second = (host.load_module(cuda_ptx(SOURCE)) for _ in range(2))
    seen = []
    for module in (first, first, second, first):
        host.launch(module.kernel("count"), (1,), (1,), [out])
        seen.append(int(out.download()[0]))
    assert seen == [0, 1, 0, 2]
    kernel = first.kernel("count")
    first.unload()
    host.launch(kernel, (1,), (1,), [out])
    assert out.download()[0] == 3
    with pytest.raises(DeviceError, match="after unload"):
        first.kernel("count")
    with pytest.raises(KernelError, match="kernel must be one of add, mul, count, got nothing"):
        second.kernel("nothing")


def test_two_threads_may_launch_at_once(host, module):
    """Threads that launch concurrently each get the results of their own arguments."""
    add, failures = module.kernel("add"), []

    def work(value):
        x = host.upload(np.zeros(20_000, np.float32))
        for _ in range(20):
            host.launch(add, (200,), (100,), [x, value, 20_000])
        if not (x.download() == 20 * value).all():
            failures.append(value)
        x.free()

    threads = [threading.Thread(target=work, args=(float(value),)) for value in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_memory_is_freed_once_and_not_used_afterwards(cuda_ptx):
    """Freeing twice, reading freed memory and using a closed device are errors; closing ends the device's threads."""
    device = HostDevice(cores=3, kernel_time_limit_s=10, quick_first=False)
    memory = device.allocate(10)
    assert memory.pointer % 256 == 0
    memory.free()
    with pytest.raises(DeviceError, match="after it was freed"):
        memory.free()
    with pytest.raises(DeviceError, match="after it was freed"):
        device.read(memory, np.zeros(1))
    with pytest.raises(DeviceError, match="allocation must fit in memory"):
        device.allocate(1 << 60)
    kept = device.allocate(4)
    kernel = device.load_module(cuda_ptx(SOURCE)).kernel("add")
    with device.watchdog:  # starts the thread that listens for Ctrl+C, once per process
        before = threading.active_count()
    device.launch(kernel, (1000,), (256,), [device.upload(np.zeros(256_000, np.float32)), 1.0, 256_000])
    assert threading.active_count() == before + 3  # two workers and the watchdog
    device.close()
    assert threading.active_count() == before
    with pytest.raises(DeviceError):
        device.read(kept, np.zeros(1))
    with pytest.raises(DeviceError, match="after close"):
        device.allocate(1)


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "kernels")
    return tmp_path / "kernels"


def test_compiled_modules_are_cached_and_damage_is_noticed(cache_folder, cuda_ptx, monkeypatch):
    """The second load of a module compiles nothing, and a damaged cache file is made again."""
    ptx = cuda_ptx(SOURCE)
    first = build.build(ptx)
    (path,) = cache_folder.iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(build.native, "quick_object", lambda _text: pytest.fail("compiled again"))
        assert build.build(ptx).code == first.code
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert build.build(ptx).scratch_bytes == first.scratch_bytes
    assert path.read_bytes() != bytes(data)
    path.write_bytes(b"")
    assert build.build(ptx).variables == first.variables == {"calls": 4}


def test_the_cache_stays_within_its_bound(cache_folder, monkeypatch):
    """The cache soon deletes its least recently used files when it exceeds its size limit."""
    monkeypatch.setattr(cache, "MAX_BYTES", 2500)
    for index in range(4):
        cache.store(f"module{index}", cache.CachedModule(bytes(1000), {}, {}, {}, {}))
        (cache_folder / f"module{index}").touch()
        os.utime(cache_folder / f"module{index}", (index, index))
    until(lambda: size_of(cache_folder) <= 2500)
    names = {path.name for path in cache_folder.iterdir()}
    assert "module3" in names and "module0" not in names
