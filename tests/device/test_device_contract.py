"""The contract of every device: each test runs on the host and, if there is one, on a CUDA device."""

import math
import random
import threading
from contextlib import closing

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom.engine.device.arguments import pack_arguments
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device
from warploom.engine.device.protocol import LaunchConfig, LoadedKernel
from warploom.engine.diagnostics import DeviceError, KernelError, WarploomError

# Written for the oldest architecture and an old PTX version, which every driver accepts.
PTX = """.version 7.5
.target sm_75
.address_size 64

// data[i] = data[i] * factor + i, for i < n
.visible .entry ramp(.param .u64 data, .param .f32 factor, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [factor];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    cvt.rn.f32.u32 %f3, %r5;
    fma.rn.f32 %f4, %f2, %f1, %f3;
    st.global.f32 [%rd4], %f4;
DONE:
    ret;
}

// data[i] = factor, for i < n
.visible .entry constant(.param .u64 data, .param .f32 factor, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .f32 %f<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [factor];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.f32 [%rd4], %f1;
DONE:
    ret;
}

// reverses the n elements of each thread block through dynamic shared memory
.extern .shared .align 4 .b8 scratch[];
.visible .entry reverse(.param .u64 data)
{
    .reg .f32 %f<3>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %ctaid.x;
    mad.lo.s32 %r4, %r3, %r2, %r1;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    shl.b32 %r5, %r1, 2;
    mov.u32 %r6, scratch;
    add.s32 %r7, %r6, %r5;
    st.shared.f32 [%r7], %f1;
    bar.sync 0;
    sub.s32 %r8, %r2, %r1;
    add.s32 %r9, %r8, -1;
    shl.b32 %r10, %r9, 2;
    add.s32 %r11, %r6, %r10;
    ld.shared.f32 %f2, [%r11];
    st.global.f32 [%rd4], %f2;
    ret;
}
"""


def ramp(data: np.ndarray, factor: float) -> np.ndarray:
    """Compute the result of a test kernel with numpy: one fused multiply-add per element, rounded once."""
    return (data.astype(np.float64) * np.float64(np.float32(factor)) + np.arange(data.size)).astype(np.float32)


def linear(n: int) -> LaunchConfig:
    """Return a grid with enough thread blocks of 64 for `n` elements."""
    return LaunchConfig((max(1, (n + 63) // 64), 1, 1), (64, 1, 1))


def test_the_device_says_what_it_is(device: Device) -> None:
    """A device's info states its name, title, memory, cores, and the architecture to compile for."""
    info = device.info
    assert info.title
    assert info.memory_bytes > 0
    assert info.cores > 0
    assert info.architecture.startswith("compute_" if info.name == "host" else "sm_")


@pytest.mark.parametrize("shape", [(1,), (3, 5), (2, 3, 7), (0,), ()])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.int64, np.float16])
def test_an_upload_downloads_as_it_was(device: Device, shape: tuple[int, ...], dtype: type) -> None:
    """A downloaded array equals the uploaded one in dtype, shape and contents, even if it is empty."""
    array = np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)
    buffer = device.upload(array)
    back = buffer.download()
    buffer.free()
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_strided_arrays_upload_in_their_own_order(device: Device) -> None:
    """A transposed array is uploaded with its own shape and elements."""
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T
    np.testing.assert_array_equal(device.upload(array).download(), array)


def test_fill_sets_every_byte(device: Device) -> None:
    """A fill sets every byte, and refuses values outside 0 to 255."""
    buffer = device.upload(np.zeros(1001, np.uint8))
    device.fill(buffer.memory, 255)
    np.testing.assert_array_equal(buffer.download(), np.full(1001, 255, np.uint8))


def test_more_than_the_memory_holds_is_refused(device: Device) -> None:
    """Reading or writing more bytes than the memory's size is refused."""
    memory = device.allocate(16)
    with pytest.raises(DeviceError):
        device.write(memory, np.zeros(17, np.uint8))
    with pytest.raises(DeviceError):
        device.read(memory, np.zeros(17, np.uint8))
    memory.free()


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_a_launch_does_what_the_kernel_says(device: Device, n: int) -> None:
    """A kernel's results equal numpy's at sizes around that of a thread block."""
    module = device.load_module(PTX)
    data = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    buffer = device.upload(data)
    config = linear(n)
    device.launch(module.kernel("ramp"), config.grid, (64,), [buffer, 1.5, n])
    np.testing.assert_array_equal(buffer.download(), ramp(data, 1.5))
    module.unload()


def test_an_interruption_of_nothing_has_no_effect(device: Device) -> None:
    """Interrupting the device while nothing runs does not affect the next launch."""
    buffer, module = device.upload(np.ones(100, np.float32)), device.load_module(PTX)
    device.interrupt()
    device.launch(module.kernel("constant"), (1,), (128,), [buffer, np.float32(2), np.uint32(100)])
    device.synchronize()
    assert (buffer.download() == 2).all()


def test_dynamic_shared_memory_is_given_to_each_thread_block(device: Device) -> None:
    """Each thread block has its own dynamic shared memory, through which it reverses 32 elements."""
    module = device.load_module(PTX)
    buffer = device.upload(np.arange(128, dtype=np.float32))
    device.launch(module.kernel("reverse"), (4,), (32,), [buffer], shared_bytes=128)
    expected = np.arange(128, dtype=np.float32).reshape(4, 32)[:, ::-1].ravel()
    np.testing.assert_array_equal(buffer.download(), expected)


def test_a_module_tells_its_kernels_and_their_parameters(device: Device) -> None:
    """A module lists its kernels, and a kernel its parameters with name, offset, size and type."""
    module = device.load_module(PTX)
    assert set(module.kernel_names) == {"ramp", "constant", "reverse"}
    kernel = module.kernel("ramp")
    assert kernel.name == "ramp"
    assert kernel.max_threads >= 256
    assert [(p.name, p.offset, p.size_bytes, p.ptx_type) for p in kernel.parameters] == [
        ("data", 0, 8, "u64"),
        ("factor", 8, 4, "f32"),
        ("n", 12, 4, "u32"),
    ]


def test_an_unknown_kernel_is_an_error(device: Device) -> None:
    """The error for an unknown kernel names it."""
    with pytest.raises(WarploomError, match="blur"):
        device.load_module(PTX).kernel("blur")


@pytest.mark.parametrize(
    "image", ["", "no PTX at all", PTX.replace("fma.rn.f32 %f4, %f2, %f1, %f3;", "frobnicate.f32 %f4;")]
)
def test_a_bad_module_is_a_kernel_error(device: Device, image: str) -> None:
    """A bad module raises a KernelError at loading or when its kernel is requested, and the device keeps working."""
    with pytest.raises(KernelError):
        device.load_module(image).kernel("ramp")
    assert device.upload(np.ones(1)).download()[0] == 1


def test_wrong_arguments_are_refused(device: Device) -> None:
    """A launch with too few arguments or an argument of the wrong type is refused."""
    kernel = device.load_module(PTX).kernel("ramp")
    buffer = device.upload(np.zeros(4, np.float32))
    with pytest.raises(DeviceError, match="kernel takes 3 arguments, got 2"):
        device.launch(kernel, (1,), (4,), [buffer, 1.0])
    with pytest.raises(DeviceError, match="argument factor must be a 4-byte value, got a buffer"):
        device.launch(kernel, (1,), (4,), [buffer, buffer, 4])


def test_a_thread_block_too_large_is_refused(device: Device) -> None:
    """Thread blocks of more than 1024 threads are refused on the host as on CUDA."""
    kernel = device.load_module(PTX).kernel("ramp")
    with pytest.raises(DeviceError, match="1024"):
        device.launch(kernel, (1,), (1025,), [device.upload(np.zeros(4, np.float32)), 1.0, 4])


class Scene:
    """A graph of a fill, a kernel and a copy to a pinned array, between two events of a stream."""

    def __init__(self, device: Device, kernel: LoadedKernel, n: int, factor: float) -> None:
        self.n = n
        self.stream = device.create_stream()
        self.start, self.end = device.create_event(), device.create_event()
        self.memory = device.allocate(4 * n)
        self.result = device.pinned(np.full(n, -1, np.float32))
        self.kernel, self.config = kernel, linear(n)
        self.arguments = pack_arguments(kernel.parameters, [self.memory, factor, n])
        self.graph = device.create_graph()
        fill = self.graph.add_memset(self.memory, 0, 4 * n, [])
        self.node = self.graph.add_kernel(kernel, self.config, self.arguments, [fill])
        self.graph.add_copy(self.result, self.memory, 4 * n, [self.node])
        self.executable = self.graph.instantiate()

    def run(self) -> list[float]:
        self.stream.record(self.start)
        self.executable.launch(self.stream)
        self.stream.record(self.end)
        self.stream.synchronize()
        return [float(x) for x in self.result.array]


def test_a_graph_runs_its_nodes_in_order_at_every_launch(device: Device) -> None:
    """Each launch runs the fill, the kernel and the copy in order, and the events measure the time."""
    scene = Scene(device, device.load_module(PTX).kernel("ramp"), 5, 2.0)
    assert scene.run() == [0, 1, 2, 3, 4]
    scene.result.array[:] = -1
    assert scene.run() == [0, 1, 2, 3, 4]
    assert 0 <= scene.end.elapsed_ns(scene.start) < 1e9


def test_an_update_passes_on_new_values_at_the_next_launch(device: Device) -> None:
    """Values written into an argument block take effect once its node is updated."""
    scene = Scene(device, device.load_module(PTX).kernel("constant"), 3, 2.0)
    assert scene.run() == [2, 2, 2]
    for value in (4.0, 0.5):
        scene.arguments.set(1, value)
        scene.executable.update_kernel(scene.node, scene.kernel, scene.config, scene.arguments)
        assert scene.run() == [value] * 3


def test_an_update_swaps_the_function(device: Device) -> None:
    """A node can be given a kernel of another module, and its own kernel again, in an instantiated graph."""
    module, other = device.load_module(PTX), device.load_module(PTX)
    scene = Scene(device, module.kernel("constant"), 3, 7.0)
    assert scene.run() == [7, 7, 7]
    scene.executable.update_kernel(scene.node, other.kernel("ramp"), scene.config, scene.arguments)
    assert scene.run() == [0, 1, 2]
    scene.executable.update_kernel(scene.node, module.kernel("constant"), scene.config, scene.arguments)
    assert scene.run() == [7, 7, 7]


def test_an_update_changes_the_launch_and_the_argument_block(device: Device) -> None:
    """An update can change the launch and the argument block; here fewer threads leave part of the fill visible."""
    scene = Scene(device, device.load_module(PTX).kernel("constant"), 4, 7.0)
    scene.executable.update_kernel(scene.node, scene.kernel, LaunchConfig((1, 1, 1), (1, 1, 1)), scene.arguments)
    assert scene.run() == [7, 0, 0, 0]
    arguments = pack_arguments(scene.kernel.parameters, [scene.memory, 5.0, 2])
    scene.executable.update_kernel(scene.node, scene.kernel, scene.config, arguments)
    assert scene.run() == [5, 5, 0, 0]


def test_an_unfit_update_changes_nothing(device: Device) -> None:
    """A refused update leaves the previous launch in place."""
    scene = Scene(device, device.load_module(PTX).kernel("constant"), 2, 3.0)
    with pytest.raises(DeviceError):
        scene.executable.update_kernel(scene.node, scene.kernel, LaunchConfig((1, 1, 1), (2048, 1, 1)), scene.arguments)
    assert scene.run() == [3, 3]


def test_an_executable_outlives_its_graph_and_the_unloading_of_its_module(device: Device) -> None:
    """An executable still runs after its graph is destroyed and its module unloaded."""
    module = device.load_module(PTX)
    scene = Scene(device, module.kernel("constant"), 2, 3.0)
    scene.graph.destroy()
    module.unload()
    assert scene.run() == [3, 3]
    scene.arguments.set(1, 4.0)
    scene.executable.update_kernel(scene.node, scene.kernel, scene.config, scene.arguments)
    assert scene.run() == [4, 4]
    scene.executable.destroy()


def test_pinned_arrays_are_read_at_every_launch(device: Device) -> None:
    """A copy node reads a pinned array at every launch, so it copies what was written in between."""
    source = device.pinned(np.arange(7, dtype=np.float32))
    middle, target = device.allocate(28), device.pinned(np.zeros(7, np.float32))
    graph = device.create_graph()
    copied = graph.add_copy(middle, source, 28, [])
    graph.add_copy(target, middle, 28, [copied])
    executable, stream = graph.instantiate(), device.create_stream()
    executable.upload(stream)  # optional; a launch uploads by itself
    stream.synchronize()
    assert not target.array.any()
    for offset in (0, 10):
        source.array[:] = np.arange(7) + offset
        executable.launch(stream)
        stream.synchronize()
        np.testing.assert_array_equal(target.array, np.arange(7) + offset)


def test_device_to_device_copies_and_partial_fills_touch_only_their_bytes(device: Device) -> None:
    """Device copies and partial fills change only their own bytes."""
    source, target = device.upload(np.arange(8, dtype=np.uint8)), device.upload(np.full(8, 9, np.uint8))
    graph = device.create_graph()
    fill = graph.add_memset(source.memory, 200, 2, [])
    graph.add_copy(target.memory, source.memory, 5, [fill])
    graph.add_copy(target.memory, source.memory, 0, [])
    stream = device.create_stream()
    graph.instantiate().launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(target.download(), np.array([200, 200, 2, 3, 4, 9, 9, 9], np.uint8))


def test_copies_and_fills_past_the_end_are_refused(device: Device) -> None:
    """Copies and fills past the end are refused when the node is added."""
    memory, pinned = device.allocate(8), device.pinned(np.zeros(4, np.uint8))
    graph = device.create_graph()
    with pytest.raises(DeviceError):
        graph.add_memset(memory, 0, 9, [])
    with pytest.raises(DeviceError):
        graph.add_copy(memory, pinned, 5, [])
    with pytest.raises(DeviceError):
        graph.add_copy(pinned, memory, 5, [])


def test_the_device_works_on_any_thread_that_activated_it(device: Device) -> None:
    """The device works on any thread that activated it, such as the engine's thread."""
    results: list[float] = []

    def work() -> None:
        device.activate()
        scene = Scene(device, device.load_module(PTX).kernel("constant"), 1, 6.0)
        results.extend(scene.run())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [6]


def test_streams_record_events(device: Device) -> None:
    """A stream records events in order, so a later event's time is not earlier."""
    stream, first, second = device.create_stream(), device.create_event(), device.create_event()
    stream.record(first)
    stream.record(second)
    stream.synchronize()
    device.synchronize()
    assert second.elapsed_ns(first) >= 0
    for thing in (first, second, stream):
        thing.destroy()


def test_memory_is_refused_once_it_was_freed(device: Device) -> None:
    """Freed memory is refused, since its address may belong to another buffer by then."""
    memory = device.allocate(8)
    memory.free()
    for use in (lambda: memory.pointer, memory.free, lambda: device.fill(memory, 0)):
        with pytest.raises(DeviceError):
            use()


def test_empty_allocations_are_refused(device: Device) -> None:
    """An allocation of 0 bytes is refused on every device."""
    with pytest.raises(DeviceError, match="at least 1 byte, got 0"):
        device.allocate(0)


def test_free_memory_is_part_of_all_memory(device: Device) -> None:
    """Free memory is at most total memory."""
    assert 0 < device.memory_free_bytes <= device.info.memory_bytes


def test_values_of_wrong_types_are_refused_by_name(device: Device) -> None:
    """Values of wrong types are refused, and not converted as 1.5 to 1 or "4" to (4,)."""
    kernel, buffer = device.load_module(PTX).kernel("constant"), device.upload(np.ones(4, np.float32))
    good = {"kernel": kernel, "grid": (1,), "thread_block": (4,), "args": [buffer, 2.0, 4], "shared_bytes": 0}
    wrong = {
        "kernel": (None, "constant", 5),
        "grid": (None, 4, "4", (), (4.0,), ("4",), (1, 1, 1, 1), (0,), (-1,), (2**40,), {4}),
        "thread_block": (None, 4, (1.5,), (0,), (2048,)),
        "args": (None, 5, [], [buffer], ["a", "b", "c"], iter([buffer, 2.0, 4]), [buffer, 2.0, 4.5], [buffer, 1e39, 4]),
        "shared_bytes": (None, 1.5, "x", -1, 2**40),
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(WarploomError, match=r"must|kernel"):
                device.launch(**{**good, name: value})  # type: ignore[arg-type]
    for call in (
        *(
            lambda array=array: device.upload(array)
            for array in (None, [[1], [1, 2]], np.array([object()]), np.ma.array([1, 2], mask=[0, 1]))
        ),
        *(lambda array=array: buffer.upload(array) for array in (None, [1.0], np.ones(4), np.ones(5, np.float32))),
        *(lambda size=size: device.allocate(size) for size in (None, 1.5, "4", -1)),
        *(lambda value=value: device.fill(buffer.memory, value) for value in (None, 1.5, 999)),
        *(lambda image=image: device.load_module(image) for image in (None, 5, [PTX], b"\xff")),
    ):
        with pytest.raises(WarploomError):
            call()
    assert buffer.download().tolist() == [1, 1, 1, 1]


def test_a_kernel_of_another_host_device_is_refused() -> None:
    """A kernel of another host device is refused."""
    with closing(open_device("host")) as one, closing(open_device("host")) as other:
        kernel = other.load_module(PTX).kernel("constant")
        with pytest.raises(DeviceError, match="must be loaded on this device"):
            one.launch(kernel, (1,), (4,), [one.upload(np.ones(4, np.float32)), 2.0, 4])


@pytest.mark.parametrize("name", [None, 5, b"host", ["host"], "gpu", ""])
def test_a_device_has_a_name(name: object) -> None:
    """Names of unknown devices, and values that are no names, are refused."""
    with pytest.raises(DeviceError, match="device must be"):
        open_device(name)  # type: ignore[arg-type]


#: CUDA's limits in x, y and z (CUDA C++ Programming Guide, technical specifications).
GRID, THREAD_BLOCK = (2**31 - 1, 65535, 65535), (1024, 1024, 64)


def extents(draw: random.Random, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return extents, some of which are at a limit or just outside it."""
    x, y, z = (draw.choice([1, 1, 1, 2, 7, limit, limit, limit + 1, 2**31, 2**40, 0, -1]) for limit in limits)
    return x, y, z


@pytest.mark.parametrize("seed", seeds(40))
def test_a_launch_is_refused_where_cuda_would_and_the_error_has_what_was_passed(device: Device, seed: int) -> None:
    """Both devices refuse launches outside CUDA's limits with the same message, and accept all others."""
    draw, kernel = random.Random(seed), device.load_module(PTX).kernel("reverse")
    memory = device.allocate(4)
    for _ in range(20):
        grid, thread_block = extents(draw, GRID), extents(draw, THREAD_BLOCK)
        shared_bytes = draw.choice([0, 4096, -1, -(2**31), 1 << 30])
        problem = ""
        if not all(1 <= n <= most for n, most in zip(grid, GRID, strict=True)):
            problem = f"grid of kernel reverse must be from (1, 1, 1) to {GRID}, got {grid}"
        elif not all(1 <= n <= most for n, most in zip(thread_block, THREAD_BLOCK, strict=True)):
            problem = f"thread block of kernel reverse must be from (1, 1, 1) to {THREAD_BLOCK}, got {thread_block}"
        elif (count := math.prod(thread_block)) > kernel.max_threads:
            most = kernel.max_threads
            problem = f"thread block of kernel reverse must have at most {most} threads, got {count} in {thread_block}"
        elif shared_bytes < 0:
            problem = f"shared_bytes of kernel reverse must be at least 0, got {shared_bytes}"
        elif shared_bytes > 1 << 20:
            problem = (
                "dynamic shared memory of kernel reverse must fit in a multiprocessor beside its 0 static bytes, "
                f"got {shared_bytes} bytes"
            )
        graph = device.create_graph()
        arguments = pack_arguments(kernel.parameters, [memory])
        if problem:
            with pytest.raises(DeviceError) as added:
                graph.add_kernel(kernel, LaunchConfig(grid, thread_block, shared_bytes), arguments, [])
            with pytest.raises(DeviceError) as launched:
                device.launch(kernel, grid, thread_block, [memory], shared_bytes=shared_bytes)
            assert str(added.value) == str(launched.value) == problem
        else:
            graph.add_kernel(kernel, LaunchConfig(grid, thread_block, shared_bytes), arguments, [])
        graph.destroy()
    memory.free()
