"""Kernels that never end are stopped by the time limit, by Ctrl+C, and by closing the device."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from tests.fuzzing import many, seeds
from tests.waiting import repeated, until
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.host import watchdog
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.open import open_device
from warploom.engine.device.protocol import LaunchConfig
from warploom.engine.diagnostics import DeviceError, KernelFault
from warploom.engine.host_compiler import abi

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
    """The kernels above, as PTX."""
    return cuda_ptx(SOURCE, "compute_75", "-lineinfo")


def given(device):
    """Return a small buffer of zeros."""
    return device.upload(np.zeros(64, np.int32))


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("grid", [1, 200])
def test_the_time_limit_ends_a_kernel(ptx, name, grid):
    """The time limit ends a kernel, the error names the kernel, reason and line, and the device keeps working."""
    device = HostDevice(cores=2, kernel_time_limit_s=0.1)
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
    """A stop is reported by a worker that ran, not by one that started after the stop."""
    device, began = HostDevice(cores=2), threading.Barrier(2)

    def work(worker, blocks, chunk):
        worker.prepare(0, 0, 0)
        worker.record[abi.FAULT_KIND] = abi.STOPPED
        worker.record[abi.POINT_LINE] = 0
        if began.wait():  # true for one of the two workers
            until(lambda: device.pool._job.failed)
            worker.record[abi.FAULT_LINE] = 7
        return False

    told, _ = device.pool.run(work, 2, workers=2)
    assert told.record[abi.FAULT_LINE] == 7
    device.close()


@pytest.mark.parametrize("name", ENDLESS)
def test_an_interruption_ends_a_kernel(ptx, name):
    """An interruption ends every kind of loop, and the next launch runs."""
    device = HostDevice(cores=2, kernel_time_limit_s=None)
    module, buffer = device.load_module(ptx), given(device)
    with repeated(device.interrupt), pytest.raises(KernelFault, match="was stopped because that was asked for"):
        device.launch(module.kernel(name), (8,), (64,), [buffer])
    device.launch(module.kernel("one"), (1,), (64,), [buffer])
    device.close()


def test_an_interruption_ends_a_graph(ptx):
    """An interruption ends a graph, and nodes after the stopped kernel don't run."""
    device = HostDevice(cores=2, kernel_time_limit_s=None)
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
    """Closing the device ends a kernel that hangs: its launch raises, and close returns."""
    device = HostDevice(cores=2, kernel_time_limit_s=None)
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


def interrupt_after(began) -> threading.Thread:
    """Start a thread that sends one Ctrl+C to this process once `began` returns true."""

    def wait_and_send():
        until(began)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait_and_send)
    thread.start()
    return thread


@pytest.mark.parametrize("name", ["count", "meet"])
@pytest.mark.parametrize("grid", [1, 200])
def test_ctrl_c_ends_a_kernel_that_hangs(ptx, interrupts, name, grid):
    """One Ctrl+C ends a kernel on one worker or several, and the next launch runs."""
    device = HostDevice(cores=2)
    module, buffer = device.load_module(ptx), given(device)
    for _ in range(3):
        buffer.upload(np.zeros(64, np.int32))
        thread = interrupt_after(lambda: buffer.download()[:2].any())
        with pytest.raises(KeyboardInterrupt):
            device.launch(module.kernel(name), (grid,), (64,), [buffer])
        thread.join()
        device.launch(module.kernel("one"), (grid,), (64,), [buffer])
        assert (buffer.download() == 1).all()
    device.close()


def test_ctrl_c_ends_a_graph(ptx, interrupts):
    """Ctrl+C ends a graph, even in a kernel that native code runs, and the graph can be launched again."""
    device = HostDevice(cores=2)
    module, buffer = device.load_module(ptx), given(device)
    graph, config = device.create_graph(), LaunchConfig((1, 1, 1), (64, 1, 1))
    kernel = module.kernel("wait_for")
    node = graph.add_kernel(kernel, config, pack_arguments(kernel.parameters, [buffer]), [])
    graph.add_kernel(module.kernel("one"), config, pack_arguments(kernel.parameters, [buffer]), [node])
    executable, stream = graph.instantiate(), device.create_stream()
    buffer.upload(np.ones(64, np.int32))
    for _ in range(3):
        executable.launch(stream)  # native code runs both kernels from the second launch on
        assert (buffer.download() == 1).all()
    buffer.upload(np.zeros(64, np.int32))
    thread = interrupt_after(lambda: device.watchdog._users)
    with pytest.raises(KeyboardInterrupt):
        executable.launch(stream)
    thread.join()
    assert not buffer.download().any()
    buffer.upload(np.ones(64, np.int32))
    executable.launch(stream)
    device.close()


def send_ctrl_c() -> None:
    """Send Ctrl+C to this process, and wait until Python has handled it."""
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)


def test_one_ctrl_c_is_told_once(interrupts):
    """One Ctrl+C is reported once, even if two listeners each forward signals to the other."""
    both, stops = [watchdog.Interrupts() for _ in range(2)], []
    for listener in (*both, *both):
        listener._due_s = 0
        listener.begin(lambda: stops.append(1))
    send_ctrl_c()
    until(lambda: stops)
    time.sleep(5 * watchdog.PATIENCE_S)
    assert len(stops) == 2  # one for each of the second listener's two calls of `begin`


@pytest.mark.parametrize("is_reused", [False, True])
def test_who_listened_before_hears_signals_too(interrupts, is_reused):
    """A wakeup file that the program set earlier still receives signals, unless its number was reused."""
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    before = signal.set_wakeup_fd(sink)
    listener, stops = watchdog.Interrupts(), []
    listener.begin(lambda: stops.append(1))
    if is_reused:
        source_of_other, other = os.pipe()
        os.dup2(other, sink)
        os.set_blocking(source_of_other, False)
    send_ctrl_c()
    until(lambda: stops)
    if is_reused:
        with pytest.raises(BlockingIOError):
            os.read(source_of_other, 64)
    else:
        assert signal.SIGINT in os.read(source, 64)
    signal.set_wakeup_fd(before)


def test_a_ctrl_c_is_not_told_to_the_process_that_forked(tmp_path):
    """A Ctrl+C that a forked child receives is not reported to its parent."""
    (tmp_path / "fork.py").write_text(FORK)
    done = subprocess.run([sys.executable, tmp_path / "fork.py"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["child", "True", "parent", "False"], done.stderr


FORK = """
import os, signal, sys, time
from warploom.engine.device.host import watchdog
signal.signal(signal.SIGINT, signal.default_int_handler)
stops = []
watchdog.INTERRUPTS.begin(lambda: stops.append(1))
if not (child := os.fork()):
    watchdog.INTERRUPTS.begin(lambda: stops.append(1))
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        pass
    deadline = time.monotonic() + 30
    while not stops and time.monotonic() < deadline:
        time.sleep(0.01)
    print("child", bool(stops), flush=True)
    os._exit(0)
os.waitpid(child, 0)
time.sleep(0.2)
print("parent", bool(stops))
"""


@pytest.mark.parametrize("seed", seeds(2))
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a destructor may lose an interrupt
def test_ctrl_c_at_any_moment_leaves_the_device_usable(ptx, interrupts, monkeypatch, seed):
    """Each Ctrl+C, between or inside launches, raises one KeyboardInterrupt and leaves the device usable."""
    monkeypatch.setattr(watchdog, "INTERRUPTS", watchdog.Interrupts())
    monkeypatch.setattr(watchdog, "PATIENCE_S", 3)  # launches are short unless the machine is busy
    device, draw = HostDevice(cores=3), random.Random(seed)
    module, buffer = device.load_module(ptx), given(device)
    kernel, caught, left = module.kernel("one"), 0, many(40)
    launched = 0  # launches since the last Ctrl+C was caught

    def send():
        while caught < left:
            until(lambda: launched)
            time.sleep(draw.random() / 500)
            before, since = caught, time.monotonic()
            os.kill(os.getpid(), signal.SIGINT)
            until(lambda before=before, since=since: caught > before or time.monotonic() > since + 2)

    thread = threading.Thread(target=send)
    thread.start()
    while caught < left:
        try:
            while True:
                device.launch(kernel, (draw.choice([1, 3, 5000]),), (64,), [buffer])
                launched += 1
        except KeyboardInterrupt:
            caught, launched = caught + 1, 0
    thread.join()
    buffer.upload(np.zeros(64, np.int32))
    device.launch(kernel, (5000,), (64,), [buffer])
    assert (buffer.download() == 1).all()
    device.close()


def test_a_handler_of_the_program_lets_a_kernel_end(ptx):
    """A program's own signal handler is called, the kernel completes, and nothing is raised."""
    device, called = HostDevice(cores=2), []
    module, buffer = device.load_module(ptx), given(device)
    before = signal.signal(signal.SIGINT, lambda *_: called.append(1))
    try:

        def release():
            until(lambda: device.watchdog._users)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            buffer.upload(np.ones(64, np.int32))

        thread = threading.Thread(target=release)
        thread.start()
        device.launch(module.kernel("wait_for"), (1,), (64,), [buffer])
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert called == [1]
    device.close()


def test_the_time_limit_is_none_unless_it_is_asked_for(ptx):
    """By default there is no time limit; it can be set at opening or later, and invalid limits are refused."""
    device = open_device("host")
    assert device.watchdog.limit_s is None
    device.close()
    device = open_device("host", kernel_time_limit_s=0.1)
    module, buffer = device.load_module(ptx), given(device)
    with pytest.raises(KernelFault, match=r"was stopped by the time limit of 0\.1 s"):
        device.launch(module.kernel("count"), (1,), (64,), [buffer])
    device.set_kernel_time_limit(None)
    with repeated(device.interrupt, 0.3), pytest.raises(KernelFault, match="because that was asked for"):
        device.launch(module.kernel("count"), (1,), (64,), [buffer])
    device.close()
    for limit in (0, -1, float("nan"), float("inf"), "1", True):
        with pytest.raises(DeviceError, match="kernel_time_limit_s must be a positive number of seconds, or None, got"):
            open_device("host", kernel_time_limit_s=limit)


def test_the_time_limit_counts_what_the_process_computed(monkeypatch):
    """At each look, the smaller of the elapsed and the processor time since the last one counts for the limit."""
    draw, passed, clocks = random.Random(1), 0.0, [0.0, 0.0]
    monkeypatch.setattr(watchdog.time, "monotonic", lambda: clocks[0])
    monkeypatch.setattr(watchdog.time, "process_time", lambda: clocks[1])
    stopwatch = watchdog.Stopwatch()
    for _ in range(200):
        wall, processor = draw.random(), draw.choice([0, 0.1, 1, 2]) * draw.random()
        clocks[0], clocks[1] = clocks[0] + wall, clocks[1] + processor
        passed += min(wall, processor)
        assert stopwatch.look() == pytest.approx(passed)
