"""Modules with two codes: quick code runs first, until optimised code from another text replaces it."""

import gc
import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from warploom.engine.device import optimiser
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Device
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.open import open_device
from warploom.engine.device.optimiser import OptimiserJob, OptimiserQueue
from warploom.engine.device.protocol import BestCode, ConditionalKind, LaunchConfig, Module
from warploom.engine.diagnostics import KernelError
from warploom.engine.ops import compile_graph, parse_expression

_PTX = """.version 7.0
.target sm_75
.address_size 64
.func (.param .f32 result) scaled(
	.param .f32 x
)
{
	.reg .f32 %f<3>;
	ld.param.f32 %f1, [x];
	mul.rn.f32 %f2, %f1, FACTOR;
	st.param.f32 [result], %f2;
	ret;
}
.visible .entry scale(
	.param .u64 out,
	.param .f32 value
)
{
	.reg .f32 %f<3>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [out];
	ld.param.f32 %f1, [value];
	{
	.param .b32 given;
	.param .b32 got;
	st.param.f32 [given], %f1;
	call.uni (got), scaled, (given);
	ld.param.f32 %f2, [got];
	}
	st.global.f32 [%rd1], %f2;
	ret;
}
"""
_numbers = itertools.count()
ONE = LaunchConfig((1, 1, 1), (1, 1, 1))


def _times(factor: int) -> str:
    """Return a kernel that stores `value` times `factor`, a whole number from 1 to 4, and calls a slow function."""
    number = int(np.float32(factor).view(np.uint32))
    return _PTX.replace("FACTOR", f"0f{number:08X}")


def _refused() -> str:
    raise KernelError("kernel must be one that can be optimised, got another")


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[OptimiserJob]:
    """The optimiser's waiting jobs, which are not run."""
    queue = OptimiserQueue(0)
    monkeypatch.setattr(optimiser, "QUEUE", queue)
    return queue._jobs


def _load(device: Device, best: Callable[[], str], factor: int = 2) -> Module:
    # Each module has a different first text, since the cache finds optimised code by that text.
    return device.load_module(f"{_times(factor)}// {next(_numbers)}\n", best=BestCode(best))


def _launched(device: Device, module: Module) -> float:
    out = device.upload(np.zeros(1, np.float32))
    device.launch(module.kernel("scale"), (1,), (1,), [out, np.float32(3)])
    device.synchronize()
    return float(out.download()[0])


def test_the_other_text_takes_over(device: Device, jobs: list[OptimiserJob]) -> None:
    """The optimised text replaces the first one; here the two differ, so that the test can distinguish them."""
    module = _load(device, partial(_times, 4))
    assert _launched(device, module) == 6
    jobs.pop().run()
    assert _launched(device, module) == 12
    module.kernel("scale")
    assert not jobs
    module.unload()


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_graph_takes_over_at_its_next_launch(device: Device, jobs: list[OptimiserJob], *, is_inside: bool) -> None:
    """A graph runs the optimised code from its next launch on, with its current arguments, even in a body."""
    module, stream, graph = _load(device, partial(_times, 4)), device.create_stream(), device.create_graph()
    kernel, out, place = module.kernel("scale"), device.upload(np.zeros(1, np.float32)), graph
    if is_inside:
        _, (place,) = graph.add_conditional(ConditionalKind.IF, graph.create_condition(1), ())
    block = pack_arguments(kernel.parameters, [out, np.float32(3)])
    node = place.add_kernel(kernel, ONE, block, ())
    executables = [graph.instantiate()]

    def results() -> list[float]:
        found = []
        for executable in executables:
            executable.launch(stream)
            stream.synchronize()
            found.append(float(out.download()[0]))
        return found

    assert results() == [6]
    jobs.pop().run()
    assert results() == [12]
    if not is_inside:  # a graph with conditions has one executable
        executables.append(graph.instantiate())
    block.set(1, np.float32(5))
    for executable in executables:
        executable.refresh([node])
    assert results() == [20] * len(executables)
    for executable in executables:
        executable.destroy()
    graph.destroy()
    module.unload()


@pytest.mark.parametrize("size", [1, 3, 255, 1027])
def test_a_free_launch_follows_the_code(device: Device, jobs: list[OptimiserJob], size: int) -> None:
    """A launch with a free grid adapts when the optimised code computes four elements per thread, as on a GPU.

    The results, and the memory behind their end, stay the same.
    """
    graph = parse_expression("x * 3 + 0.5", inputs={"x": "f32"})
    quick, wide = compile_graph(graph), compile_graph(graph, elements_per_thread=4 if device.info.limits else 1)
    best = BestCode(wide.inlined_ptx, wide.elements_per_thread, is_free=True)
    module = device.load_module(f"{quick.ptx}// {next(_numbers)}\n", best=best)
    kernel, stream, tree = module.kernel("kernel"), device.create_stream(), device.create_graph()
    x, out = (device.upload(np.arange(size + 8, dtype=np.float32)) for _ in range(2))
    config = LaunchConfig((-(-size // 256), 1, 1), (256, 1, 1), is_free=True)
    block = pack_arguments(kernel.parameters, [x, out, quick.numbers, np.int32(size)])
    tree.add_kernel(kernel, config, block, ())
    executable = tree.instantiate()

    def launched() -> bytes:
        device.fill(out.memory, 0)
        executable.launch(stream)
        stream.synchronize()
        return out.download().tobytes()

    expected = np.zeros(size + 8, np.float32)
    expected[:size] = np.arange(size, dtype=np.float32) * 3 + np.float32(0.5)
    assert launched() == expected.tobytes()
    before = kernel.fit(config)
    assert not module.is_best
    jobs.pop().run()
    assert module.is_best
    assert launched() == expected.tobytes()
    after = kernel.fit(config)
    threads = [fitted.grid[0] * fitted.thread_block[0] for fitted in (before, after)]
    assert threads[0] >= size
    assert threads[1] * best.elements_per_thread >= size
    assert threads[1] <= threads[0]
    executable.destroy()
    tree.destroy()
    module.unload()


def test_what_cannot_be_optimised_runs_on(
    device: Device, jobs: list[OptimiserJob], caplog: pytest.LogCaptureFixture
) -> None:
    """A module that can't be optimised runs on, and the log names its kernel."""
    module = _load(device, _refused, 3)
    assert _launched(device, module) == 9
    jobs.pop().run()
    assert _launched(device, module) == 9
    assert "scale" in caplog.text
    module.unload()


def test_nothing_is_optimised_for_nobody(device: Device, jobs: list[OptimiserJob]) -> None:
    """A postponed module is optimised once a kernel of it is requested; an unloaded one never is."""
    module = _load(device, partial(pytest.fail, "optimised for nobody"), 1)
    module.kernel("scale")
    (job,) = jobs
    module.postpone()
    assert not jobs
    module.kernel("scale")
    assert jobs == [job]
    module.unload()
    del module
    gc.collect()
    job.run()


@pytest.mark.parametrize("name", ["host", pytest.param("cuda:0", marks=pytest.mark.gpu)])
def test_a_device_may_be_closed_before(name: str, jobs: list[OptimiserJob]) -> None:
    """A job that is still waiting when its device is closed can run without an error."""
    device = open_device(name)
    module = _load(device, partial(_times, 4))
    module.kernel("scale")
    device.close()
    if name != "host":  # host kernels outlive their device
        jobs.pop().run()


def test_the_newest_job_comes_first() -> None:
    """The newest job runs first, since a person who edits a kernel waits for its last version."""
    queue, done = OptimiserQueue(0), list[int]()
    made = [OptimiserJob(partial(done.append, number)) for number in range(4)]
    for job in (*made, made[0]):
        queue.add(job)
    queue.discard(made[2])
    queue.discard(made[2])
    for _ in range(3):
        job = queue._next()
        assert job is not None
        job.run()
    assert done == [3, 1, 0]
    queue.add(made[2])
    assert queue._next() is made[2]


#: Each thread keeps COUNT numbers in registers across a barrier, then adds them up.
_KEEPING = """.version 7.0
.target sm_75
.address_size 64
.visible .entry scale(
	.param .u64 out,
	.param .f32 value
)
{
	.reg .f32 %f<COUNT>;
	.reg .b64 %rd<4>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	cvt.rn.f32.u32 %f0, %r1;
MADE	bar.sync 0;
ADDED	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.f32 [%rd3], %f0;
	ret;
}
"""


def _keeping(count: int) -> str:
    """Return a kernel whose threads keep `count` numbers; volatile loads stop the compiler from reading them again."""
    numbers = range(1, count)
    made = "".join(f"\tld.volatile.global.f32 %f{n}, [%rd1];\n" for n in numbers)
    added = "".join(f"\tadd.f32 %f0, %f0, %f{n};\n" for n in numbers)
    return _KEEPING.replace("COUNT", str(count)).replace("MADE", made).replace("ADDED", added)


def test_optimised_code_gets_the_scratch_memory_that_it_needs(jobs: list[OptimiserJob]) -> None:
    """Kernels get the scratch memory that optimised code needs beyond that of quick code.

    This holds for launches, for existing graphs, and for code from the cache.
    """
    text, needed = f"{_keeping(2)}// {next(_numbers)}\n", 0
    threads = 1000
    for run in range(2):
        device = HostDevice(cores=2)
        needed = device.load_module(_keeping(60)).kernel("scale").scratch_bytes
        module = device.load_module(text, best=BestCode(partial(_keeping, 60)))
        kernel = module.kernel("scale")
        out = device.upload(np.zeros(threads, np.float32))
        graph = device.create_graph()
        graph.add_kernel(
            kernel,
            LaunchConfig((1, 1, 1), (threads, 1, 1)),
            pack_arguments(kernel.parameters, [out, np.float32(1)]),
            [],
        )
        executable, stream = graph.instantiate(), device.create_stream()
        for _ in range(3):
            executable.launch(stream)
        stream.synchronize()
        if run == 0:
            assert kernel.scratch_bytes < needed - 50 * 4 * threads
            jobs[-1].run()
        assert kernel.scratch_bytes == needed
        for _ in range(3):
            executable.launch(stream)
        stream.synchronize()
        np.testing.assert_array_equal(out.download(), np.arange(threads))
        assert device.pool._workers[0]._scratch.size >= needed  # the only thread block runs on the caller's thread
        executable.destroy()
        device.close()
