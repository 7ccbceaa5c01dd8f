"""Kernels that never end are stopped: by the time limit, by a person, by closing the device."""

import threading
import time

import numpy as np
import pytest

from engine.device.arguments import pack_arguments
from engine.device.host import HostDevice
from engine.device.host.translate import abi
from engine.device.protocol import LaunchConfig
from engine.diagnostics import DeviceError, KernelFault
from tests.waiting import repeated, until

SOURCE = """extern "C" __global__ void wait_for(volatile int* a) { while (*a == 0); }
extern "C" __global__ void count(int* a) { for (int i = 0;; i++) a[i & 1] = i; }
extern "C" __global__ void meet(int* a) { for (;;) { __syncthreads(); if (threadIdx.x == 0) a[0]++; } }
extern "C" __global__ void ask(int* a) { while (__shfl_sync(~0u, a[1], 0) == 0) a[0] = 1; }
extern "C" __global__ void part(int* a) { if (threadIdx.x & 1) { while (a[1] == 0) __syncwarp(0xAAAAAAAA); } }
__device__ __noinline__ int turn(int* a) { int n = 0; while (a[1] == 0) n++; return n; }
extern "C" __global__ void call(int* a) { a[0] = turn(a); }
extern "C" __global__ void one(int* a) { a[threadIdx.x] = 1; }"""
ENDLESS = ("wait_for", "count", "meet", "ask", "part", "call")


@pytest.fixture(scope="module")
def ptx(cuda_ptx):
    """The kernels above."""
    return cuda_ptx(SOURCE, "compute_75", "-lineinfo")


def given(device):
    """Return a small buffer of zeros."""
    return device.upload(np.zeros(64, np.int32))


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("grid", [1, 200])
def test_the_time_limit_ends_a_kernel(ptx, name, grid):
    """The error says which kernel, why and where; the device works on."""
    device = HostDevice(cores=2, time_limit_s=0.1)
    module, buffer = device.load_module(ptx), given(device)
    start = time.perf_counter()
    with pytest.raises(KernelFault, match=f"kernel {name} was stopped by the time limit of 0.1 s") as caught:
        device.launch(module.kernel(name), (grid,), (64,), [buffer])
    assert time.perf_counter() - start > 0.09
    assert caught.value.kernel == name
    loop = " turn(" if name == "call" else f" {name}("
    assert loop in SOURCE.splitlines()[caught.value.source_line - 1]
    device.launch(module.kernel("one"), (1,), (64,), [buffer])
    assert (buffer.download() == 1).all()
    device.close()


def test_a_stop_is_told_by_a_worker_that_ran(ptx):
    """Not by one that the machine let begin so late that there was nothing left to do."""
    device, began = HostDevice(cores=2), threading.Barrier(2)

    def work(worker, blocks, chunk):
        worker.prepare(0, 0, 0)
        worker.record[abi.FAULT_KIND] = abi.STOPPED
        worker.record[abi.POINT_LINE] = 0
        if began.wait():  # one of both
            until(lambda: device.pool._job.failed)
            worker.record[abi.FAULT_LINE] = 7
        return False

    told, _ = device.pool.run(work, 2, workers=2)
    assert told.record[abi.FAULT_LINE] == 7
    device.close()


@pytest.mark.parametrize("name", ENDLESS)
def test_an_interruption_ends_a_kernel(ptx, name):
    """This holds for every kind of loop, since each checks the stop flag."""
    device = HostDevice(cores=2, time_limit_s=None)
    module, buffer = device.load_module(ptx), given(device)
    with repeated(device.interrupt), pytest.raises(KernelFault, match="was stopped because that was asked for"):
        device.launch(module.kernel(name), (8,), (64,), [buffer])
    device.launch(module.kernel("one"), (1,), (64,), [buffer])
    device.close()


def test_an_interruption_of_nothing_has_no_effect(ptx):
    """The next launch runs."""
    device = HostDevice(cores=2)
    buffer = given(device)
    device.interrupt()
    device.launch(device.load_module(ptx).kernel("one"), (1,), (64,), [buffer])
    assert (buffer.download() == 1).all()
    device.close()


def test_an_interruption_ends_a_graph(ptx):
    """The nodes after the kernel that was stopped are not run."""
    device = HostDevice(cores=2, time_limit_s=None)
    module, buffer = device.load_module(ptx), given(device)
    graph, config = device.create_graph(), LaunchConfig((1, 1, 1), (64, 1, 1))
    nodes = []
    for name in ("count", "one"):
        kernel = module.kernel(name)
        nodes = [graph.add_kernel(kernel, config, pack_arguments(kernel.parameters, [buffer]), nodes)]
    executable, stream = graph.instantiate(), device.create_stream()
    with repeated(device.interrupt), pytest.raises(KernelFault, match="kernel count was stopped"):
        executable.launch(stream)
    assert not buffer.download()[2:].any()
    device.close()


def test_close_ends_a_kernel_that_hangs(ptx):
    """The launch raises, and close returns."""
    device = HostDevice(cores=2, time_limit_s=None)
    kernel, buffer = device.load_module(ptx).kernel("count"), given(device)
    errors = []

    def launch():
        try:
            device.launch(kernel, (8,), (64,), [buffer])
        except DeviceError as problem:
            errors.append(str(problem))

    thread = threading.Thread(target=launch)
    thread.start()
    until(lambda: buffer.download()[:2].any())
    device.close()
    thread.join()
    assert "because the device was closed" in errors[0]
