"""Kernels that run before they are optimised: results, module variables, and launches that wait for the optimiser."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.gpu.differential import run_programs
from tests.gpu.differential.tables import FORMS
from tests.processes import broken_compilers
from tests.waiting import until
from warploom.engine.device import optimiser
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import build, cache, native
from warploom.engine.device.host.modules import module as modules
from warploom.engine.diagnostics import KernelFault
from warploom.engine.host_compiler.module import translate_module
from warploom.engine.ptx import parse

SOURCE = """
__device__ unsigned calls = 5;
extern "C" __global__ void mixed(const float* x, float* y, unsigned* count, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float v = i < n ? x[i] : 0;
  s[t] = v * v;
  __syncthreads();
  for (int half = 32; half > 0; half >>= 1) { if (t < half) s[t] += s[t + half]; __syncthreads(); }
  for (int step = 1; step < 32; step <<= 1) v += __shfl_xor_sync(~0u, v, step);
  if (i < n) y[i] = sqrtf(s[0]) + sinf(v) / (1 + fabsf(x[i])) + (float)(int)(x[i] * 7) + rsqrtf(1 + v * v);
  if (t == 0) count[blockIdx.x] = atomicAdd(&calls, 1);
}
extern "C" __global__ void other(unsigned* x) { x[threadIdx.x] = calls; }
"""
#: Kernels with the same names that take a tenth of the time to optimise.
SMALL = """
__device__ unsigned calls = 5;
extern "C" __global__ void mixed(const float* x, float* y, unsigned* count, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k <= i && k < n; k += 8) sum += x[k];
  if (i < n) y[i] = sum;
  if (threadIdx.x == 0) count[blockIdx.x] = atomicAdd(&calls, 1);
}
extern "C" __global__ void other(unsigned* x) { x[threadIdx.x] = calls; }
"""
SAXPY = """extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = a * x[i] + y[i]; }"""
N = 64 * 5 - 9


@pytest.fixture
def queue(monkeypatch):
    """The optimiser's queue, whose jobs are recorded and not run."""
    jobs = []
    monkeypatch.setattr(optimiser, "QUEUE", optimiser.OptimiserQueue(1))
    monkeypatch.setattr(optimiser.QUEUE, "add", jobs.append)
    return jobs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache folder that only this test uses."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def device():
    """A device whose kernels run before they are optimised."""
    device = HostDevice(cores=2)
    yield device
    device.close()


def optimised(ptx):
    """Return the names of the module's kernels whose optimised code is in the cache."""
    key = cache.key(ptx, *native.cpu())
    return {name for name in build.build(ptx).signatures if cache.load_kernel(key, name)}


def mixed(device, kernel):
    """Launch the kernel on fixed values, and return its floats and its counts."""
    x = np.linspace(-3, 3, N, dtype=np.float32)
    arguments = [device.upload(x), device.upload(np.zeros(N, np.float32)), device.upload(np.zeros(5, np.uint32)), N]
    device.launch(kernel, (5,), (64,), arguments)
    return arguments[1].download(), arguments[2].download()


def test_optimised_code_gives_the_same_bits_and_keeps_the_variables(folder, queue, device, cuda_ptx):
    """Optimised code returns the same bits, and a module variable keeps its value when the code changes."""
    kernel = device.load_module(cuda_ptx(SOURCE)).kernel("mixed")
    first, quick_counts = mixed(device, kernel)
    quick = kernel.function
    assert queue == [kernel.job]
    queue[0].run()
    assert kernel.job is None
    assert kernel.function is not quick
    second, best_counts = mixed(device, kernel)
    assert first.tobytes() == second.tobytes()
    assert sorted(quick_counts) == [5, 6, 7, 8, 9]
    assert sorted(best_counts) == [10, 11, 12, 13, 14]


def test_a_kernel_without_loops_is_translated_again_for_the_optimiser(folder, queue, device, cuda_ptx):
    """A kernel's quick and optimised code compute the same bits at each size, and fault alike past a buffer's end."""
    ptx = cuda_ptx(SAXPY)
    kernel = device.load_module(ptx).kernel("saxpy")
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 1027)).astype(np.float32)
    x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42]

    def launch(size, told):
        buffers = [device.upload(x[:size]), device.upload(y[:size]), device.upload(np.zeros(size, np.float32))]
        device.launch(kernel, (9,), (128,), [*buffers, 1.25, told])
        return buffers[2].download()

    sizes = (1, 127, 1023, 1027)
    first = [launch(size, size).tobytes() for size in sizes]
    with pytest.raises(KernelFault) as quick:
        launch(1000, 1001)
    queue[0].run()
    assert optimised(ptx) == {"saxpy"}
    assert [launch(size, size).tobytes() for size in sizes] == first
    with pytest.raises(KernelFault) as best:
        launch(1000, 1001)
    assert (best.value.thread, best.value.thread_block, best.value.ptx_line) == (
        quick.value.thread,
        quick.value.thread_block,
        quick.value.ptx_line,
    )


def test_random_programs_give_the_same_bits_before_and_after(folder, queue, device):
    """Random programs return the same bits in quick and optimised code."""
    best = HostDevice(cores=2, quick_first=False)
    outcome = run_programs.compare(FORMS, device, best, seeds(1))
    assert outcome.values > 5000
    assert not outcome.wrong
    assert not outcome.optimised
    best.close()


def test_a_kernel_is_optimised_once(folder, queue, device, cuda_ptx):
    """After one kernel was optimised, the next load uses its optimised code, and the other kernel's quick code."""
    ptx = cuda_ptx(SMALL)
    module = device.load_module(ptx)
    assert not optimised(ptx)
    module.kernel("mixed").job.run()
    assert optimised(ptx) == {"mixed"}
    again = device.load_module(ptx)
    assert again.kernel("mixed").job is None
    assert (mixed(device, again.kernel("mixed"))[1] >= 5).all()
    assert again.kernel("other").job is not None
    values = device.upload(np.zeros(3, np.uint32))
    device.launch(again.kernel("other"), (1,), (3,), [values])
    assert (values.download() == 10).all()


def test_two_loads_of_one_module_optimise_it_once(folder, queue, device, cuda_ptx, monkeypatch):
    """Two loads of one module optimise a kernel once; the second load's job uses the cache."""
    ptx = cuda_ptx(SMALL)
    one, two = (device.load_module(ptx).kernel("mixed") for _ in range(2))
    one.job.run()
    monkeypatch.setattr(build, "run_in_background", lambda *_: pytest.fail("compiled again"))
    two.job.run()
    assert two.job is None


def test_a_slow_launch_waits_unless_it_is_the_first(folder, queue, device, cuda_ptx):
    """A slow launch waits for optimised code; the first launch and short ones don't."""
    kernel = device.load_module(cuda_ptx(SMALL)).kernel("mixed")
    mixed(device, kernel)
    assert kernel.job is not None
    kernel.block_ns = modules.WORTH_WAITING_NS / 10
    mixed(device, kernel)
    assert kernel.job is not None
    kernel.block_ns = modules.WORTH_WAITING_NS / 4
    mixed(device, kernel)
    assert kernel.job is None


def test_a_running_launch_changes_to_optimised_code(folder, queue, device, cuda_ptx):
    """Thread blocks of a running launch that start after the optimised code is ready run it."""
    kernel = device.load_module(cuda_ptx(SMALL)).kernel("other")
    quick, job, calls = kernel.function, kernel.job, []

    def first(*arguments):
        calls.append(arguments)
        job.run()
        return quick(*arguments)

    kernel.function = first
    kernel.block_ns = modules.WORTH_WAITING_NS / 100
    values = device.upload(np.zeros(1, np.uint32))
    device.launch(kernel, (64,), (1,), [values])
    assert 1 <= len(calls) <= 2  # one chunk of thread blocks for each worker, of many chunks
    assert (values.download() == 5).all()


def test_a_kernel_that_cannot_be_optimised_runs_on_unchanged(folder, queue, device, cuda_ptx, monkeypatch, caplog):
    """A kernel that can't be optimised keeps its quick code, and the log reports it."""
    monkeypatch.setattr(build, "optimise", broken_compilers.too_large)
    kernel = device.load_module(cuda_ptx(SMALL)).kernel("mixed")
    kernel.job.run()
    assert "kernel mixed stays as it was compiled first" in caplog.text
    assert sorted(mixed(device, kernel)[1]) == [5, 6, 7, 8, 9]


def test_unused_kernels_are_not_optimised(folder, queue, device, cuda_ptx, monkeypatch):
    """The job of a module that was unloaded compiles nothing."""
    module = device.load_module(cuda_ptx(SMALL))
    job = module.kernel("mixed").job
    module.unload()
    del module
    monkeypatch.setattr(build, "run_in_background", lambda *_: pytest.fail("compiled for nobody"))
    job.run()


def test_a_device_may_want_optimised_kernels_only(folder, cuda_ptx):
    """On a device that wants only optimised kernels, loading waits for the optimiser."""
    device = HostDevice(cores=1, quick_first=False)
    module = device.load_module(cuda_ptx(SMALL))
    assert [module.kernel(name).job for name in module.kernel_names] == [None, None]
    assert optimised(cuda_ptx(SMALL)) == {"mixed", "other"}
    device.close()


def test_jobs_are_done_once_in_order_by_a_thread_that_ends():
    """Each job runs once, on a thread that ends with the queue; running a job that has begun waits for it."""
    queue, done, go = optimiser.OptimiserQueue(1), [], threading.Event()
    jobs = [
        optimiser.OptimiserJob(lambda: (go.wait(), done.append(0))),
        *(optimiser.OptimiserJob(lambda i=i: done.append(i)) for i in (1, 2)),
    ]
    for job in (*jobs, jobs[1]):
        queue.add(job)
    jobs[2].run()
    assert done == [2]
    go.set()
    jobs[1].run()
    jobs[0].run()
    assert sorted(done) == [0, 1, 2]
    for thread in threading.enumerate():
        if thread.name == "warploom-optimiser":
            thread.join()
    assert sorted(done) == [0, 1, 2]
    queue.add(optimiser.OptimiserJob(lambda: done.append(3)))
    until(lambda: done[-1] == 3)  # the queue accepts new jobs after it was empty


def test_a_job_that_is_not_due_lets_older_ones_pass():
    """A queue begins the newest job that is due, and the others when they are."""
    queue, done, is_due = optimiser.OptimiserQueue(1), [], threading.Event()
    queue.add(optimiser.OptimiserJob(lambda: done.append("older")))
    queue.add(optimiser.OptimiserJob(lambda: done.append("newer"), is_due.is_set))
    until(lambda: done == ["older"])
    is_due.set()
    until(lambda: done == ["older", "newer"])


def test_threads_get_the_same_code(cuda_ptx):
    """Each thread compiles in its own LLVM context, and gets the same code."""
    text = translate_module(parse(cuda_ptx(SMALL)), native.triple(), *native.cpu()).kernels["mixed"]
    expected, found = native.compile_object(text), []
    threads = [threading.Thread(target=lambda: found.append(native.compile_object(text))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        native.quick_object(text)
    for thread in threads:
        thread.join()
    assert found == [expected] * 3


def test_a_program_may_end_while_a_kernel_is_optimised(tmp_path, cuda_ptx):
    """A process that exits during an optimisation drops the rest of the queue and exits cleanly."""
    (tmp_path / "kernel.ptx").write_text(cuda_ptx(SMALL))
    program = f"""
from pathlib import Path
from warploom.engine.device import optimiser
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import cache
cache.folder = lambda: Path({str(tmp_path / "cache")!r})
ptx, device = Path({str(tmp_path / "kernel.ptx")!r}).read_text(), HostDevice()
kept = [device.load_module(ptx.replace("mixed", f"mixed{{i}}")) for i in range(6)]
kernels = [module.kernel(f"mixed{{i}}") for i, module in enumerate(kept)]
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stderr == b""
    assert len(list((tmp_path / "cache").iterdir())) == 6
