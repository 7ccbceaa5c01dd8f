"""A device that a thread of a live block shares with the engine: its memory is copied into buffers on the device."""

import queue
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.waiting import until
from warploom import Engine, Patch
from warploom.api import BlockBuilder, CudaText, Kernel, LentMemory, LiveBlock, Moment, Out, f32, port
from warploom.blocks.video.films.gpu_decoder import PLANE
from warploom.engine.blocktypes.block import block_types
from warploom.engine.blocktypes.shared_device import SharedDevices
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.protocol.messages import Reset

SIZE = 33
FILL = Kernel(
    CudaText(
        'extern "C" __global__ void fill(float* out, float first, int count) {'
        "const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < count) out[i] = first + i; }"
    ),
    entry="fill",
)
#: The threads of the blocks of a test.
THREADS: list[threading.Thread] = []


@pytest.fixture
def beside() -> Iterator[None]:
    """Define a block that fills its output from a thread of its own."""

    class Beside(LiveBlock, id="test_shared.beside"):
        """Gives 100 times the frame's number, and the index."""

        out: Out[f32] = port(shape=f"[{SIZE}]", doc="Numbers.")

        def describe(self, build: BlockBuilder) -> None:
            build.feed(self.out)

        def start(self) -> None:
            self.made: queue.Queue[LentMemory] = queue.Queue(2)
            self.closing = threading.Event()
            # A thread has a queue and an end of its own: after a reset the next one may start before it ends.
            THREADS.append(threading.Thread(target=self.run, args=(self.made, self.closing)))
            THREADS[-1].start()
            until(self.made.full)  # an update may not wait for long

        def run(self, queued: "queue.Queue[LentMemory]", closing: threading.Event) -> None:
            with self.share_device() as shared:
                assert shared is not None
                number = 0
                while not closing.is_set():
                    made = shared.take(4 * SIZE)
                    shared.run(FILL, (SIZE, 1), (made.memory, np.float32(100 * number), SIZE))
                    shared.wait()
                    number += 1
                    while not closing.is_set():
                        try:
                            queued.put(made, timeout=0.05)
                            break
                        except queue.Full:
                            continue
                del made
                while not queued.empty():
                    queued.get()

        def update(self, now: Moment) -> None:
            self.give("out", self.made.get(timeout=20))

        def close(self) -> None:
            self.closing.set()

    yield
    block_types.commit({}, [Beside.id])
    for thread in THREADS:
        thread.join(20)
        assert not thread.is_alive()
    THREADS.clear()


def expected(number: int) -> np.ndarray[Any, Any]:
    """Return the contents of a frame."""
    return (100 * number + np.arange(SIZE)).astype(np.float32)


def test_memory_of_a_thread_goes_into_a_buffer(device: Device, beside: None) -> None:
    """Every frame has the contents that were made for it, also after a reset, and in an engine that plays."""
    patch = Patch()
    node = patch.add("test_shared.beside")
    with Engine(patch, device) as engine:
        for number in range(20):
            engine.step()
            np.testing.assert_array_equal(engine.read(node["out"]), expected(number))
        engine.post(Reset())
        engine.step()
        np.testing.assert_array_equal(engine.read(node["out"]), expected(0))
        engine.start(rate=200)
        begun = engine.core.launcher.launches
        until(lambda: engine.core.launcher.launches > begun + 30)
        engine.stop()
        found = engine.read(node["out"])
        assert found[0] > 0 and found[0] % 100 == 0
        np.testing.assert_array_equal(found - found[0], np.arange(SIZE, dtype=np.float32))
        block: Any = engine.core.context.value_graph._blocks[node.id]
        with pytest.raises(PatchError, match=f"given to out must have {4 * SIZE} bytes, got 136"):
            block.give("out", LentMemory(device.allocate(136)))


@pytest.mark.parametrize("bits", [8, 10, 12])
def test_planes_are_taken_out_of_surfaces(device: Device, bits: int) -> None:
    """Luma, and each of two colours that take turns, for sizes around those of thread blocks."""
    random = np.random.default_rng(bits)
    dtype: Any = np.uint8 if bits == 8 else np.uint16
    shares = SharedDevices(device)
    with shares.share() as shared:
        for columns, rows in ((1, 1), (31, 2), (256, 3), (257, 5)):
            pitch = 1024 * dtype().itemsize
            surface = random.integers(0, 1 << 8 * dtype().itemsize, (rows, 1024)).astype(dtype)
            source = device.upload(surface)
            for step, first in ((1, 0), (2, 0), (2, 1)):
                made = shared.take(8 + 2 * 257 * 5)
                sizes = 8, pitch, columns, rows, step, first, bits
                shared.run(PLANE, (columns, rows), (source, made.memory, *sizes))
                shared.wait()
                found = np.empty(8 + 2 * 257 * 5, np.uint8)
                device.read(made.memory, found)
                plane = found[8:].view(dtype)[: columns * rows].reshape(rows, columns)
                wanted = surface[:, first : first + step * columns : step][:, :columns]
                np.testing.assert_array_equal(plane, wanted if bits == 8 else wanted >> (16 - bits))
                del made
            source.free()
    shares.close()


def test_a_device_that_a_thread_has_left_serves_the_next_one(device: Device) -> None:
    """With memory that has come back; one is closed by its thread if this ends later."""
    shares = SharedDevices(device)
    with shares.share() as first:
        lent = first.take(100)
        memory = lent.memory
    with shares.share() as second:
        assert second is first
        other = second.take(100)
        assert other.memory is not memory
        del lent
        assert second.take(100).memory is memory
        with shares.share() as third:
            assert third is not first
            shares.close()
        del other
    assert not first._memory
