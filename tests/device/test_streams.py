"""Streams wait for events and copy in order, and events report whether they are reached, on every device."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.device.test_device_contract import PTX
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Event, MemoryPart, Stream
from warploom.engine.diagnostics import DeviceError

# Spins for about `turns` loads, so that later work in the stream is late.
SLOW = """.version 7.5
.target sm_75
.address_size 64
.visible .entry slow(.param .u64 data, .param .u32 turns, .param .u32 value)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [turns];
    ld.param.u32 %r3, [value];
    cvta.to.global.u64 %rd2, %rd1;
AGAIN:
    ld.volatile.global.u32 %r2, [%rd2];
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra AGAIN;
    st.global.u32 [%rd2], %r3;
    ret;
}
"""


@pytest.fixture
def streams(device: Device) -> Iterator[tuple[Stream, Stream, Event]]:
    """Two streams and an event."""
    first, second, event = device.create_stream(), device.create_stream(), device.create_event()
    yield first, second, event
    device.synchronize()
    for thing in (event, first, second):
        thing.destroy()


def test_an_event_is_reached_when_the_work_before_it_is_done(
    device: Device, streams: tuple[Stream, Stream, Event]
) -> None:
    """An event is reached when the work before it is done, or if it was never recorded. A query does not wait."""
    stream, _, event = streams
    assert event.is_reached
    event.synchronize()
    buffer = device.upload(np.zeros(1, np.uint32))
    device.launch(device.load_module(SLOW).kernel("slow"), (1,), (1,), [buffer, 200_000, 7], stream=stream)
    stream.record(event)
    reached = event.is_reached
    if device.info.has_own_memory:
        assert not reached
    event.synchronize()
    assert event.is_reached
    assert buffer.download().tolist() == [7]
    buffer.free()


def test_a_stream_waits_for_an_event_of_another(device: Device, streams: tuple[Stream, Stream, Event]) -> None:
    """A stream that waits for an event copies what another stream's slow kernel wrote before it."""
    first, second, event = streams
    buffer, pinned = device.upload(np.zeros(1, np.uint32)), device.pinned(np.zeros(1, np.uint32))
    kernel = device.load_module(SLOW).kernel("slow")
    for value in (3, 9):
        device.launch(kernel, (1,), (1,), [buffer, 100_000, value], stream=first)
        first.record(event)
        second.wait(event)
        second.copy(pinned, buffer.memory, 4)
        second.synchronize()
        assert pinned.array.tolist() == [value]
    pinned.free()
    buffer.free()


def test_a_later_record_does_not_delay_earlier_waits(device: Device, streams: tuple[Stream, Stream, Event]) -> None:
    """A wait is for the event's record before the call, so a later record does not delay it."""
    first, second, event = streams
    slow, buffer = device.upload(np.zeros(1, np.uint32)), device.upload(np.full(1, 5, np.uint32))
    pinned = device.pinned(np.zeros(1, np.uint32))
    first.record(event)
    second.wait(event)
    device.launch(device.load_module(SLOW).kernel("slow"), (1,), (1,), [slow, 500_000, 1], stream=first)
    first.record(event)
    second.copy(pinned, buffer.memory, 4)
    second.synchronize()
    assert pinned.array.tolist() == [5]
    if device.info.has_own_memory:
        assert not event.is_reached
    first.synchronize()


@pytest.mark.parametrize("size_bytes", [0, 1, 7, 64, 1001])
def test_a_copy_takes_the_first_bytes_either_way(
    device: Device, streams: tuple[Stream, Stream, Event], size_bytes: int
) -> None:
    """Copies of a buffer's first bytes work to, on and from the device, and leave the rest unchanged."""
    stream, _, _ = streams
    data = np.random.default_rng(size_bytes).integers(0, 256, 1001, dtype=np.uint8)
    source, back = device.pinned(data), device.pinned(np.zeros(1001, np.uint8))
    first, second = device.upload(np.zeros(1001, np.uint8)), device.upload(np.zeros(1001, np.uint8))
    stream.copy(first.memory, source, size_bytes)
    stream.copy(second.memory, first.memory, size_bytes)
    stream.copy(back, second.memory, size_bytes)
    stream.synchronize()
    np.testing.assert_array_equal(back.array, np.where(np.arange(1001) < size_bytes, data, 0))
    for thing in (source, back, first, second):
        thing.free()


def test_a_part_is_copied_from_where_it_begins(device: Device, streams: tuple[Stream, Stream, Event]) -> None:
    """A copy can start inside its source and inside its target."""
    stream, _, _ = streams
    buffer, pinned = device.upload(np.arange(100, dtype=np.uint8)), device.pinned(np.zeros(10, np.uint8))
    stream.copy(pinned, MemoryPart(buffer.memory, 33, 10), 10)
    stream.synchronize()
    assert pinned.array.tolist() == list(range(33, 43))
    stream.copy(MemoryPart(buffer.memory, 90, 10), pinned, 3)
    stream.synchronize()
    assert buffer.download()[88:95].tolist() == [88, 89, 33, 34, 35, 93, 94]


def test_a_copy_past_an_end_is_refused(device: Device, streams: tuple[Stream, Stream, Event]) -> None:
    """A copy past the end of its source or target, or of another device's memory, is refused."""
    stream, _, _ = streams
    memory, pinned = device.allocate(8), device.pinned(np.zeros(4, np.uint8))
    with pytest.raises(DeviceError, match="copy target must hold 5 bytes, got 4"):
        stream.copy(pinned, memory, 5)
    with pytest.raises(DeviceError, match="copy source must hold 5 bytes, got 4"):
        stream.copy(memory, pinned, 5)
    with pytest.raises(DeviceError, match="must hold -1 bytes"):
        stream.copy(pinned, memory, -1)
    with pytest.raises(DeviceError, match=r"copy source must be memory of the .* device, got ndarray"):
        stream.copy(pinned, np.zeros(4, np.uint8), 4)  # type: ignore[arg-type]  # the wrong type is the test


def test_a_launch_runs_in_its_streams_order(device: Device, streams: tuple[Stream, Stream, Event]) -> None:
    """A copy, a kernel and another copy on one stream run in order, without waits between them."""
    stream, _, _ = streams
    data = device.pinned(np.arange(5, dtype=np.float32))
    memory = device.allocate(20)
    stream.copy(memory, data, 20)
    device.launch(device.load_module(PTX).kernel("ramp"), (1,), (8,), [memory, 3.0, 5], stream=stream)
    stream.copy(data, memory, 20)
    stream.synchronize()
    assert data.array.tolist() == [0, 4, 8, 12, 16]


def test_only_the_host_shares_its_memory(device: Device) -> None:
    """Only the host shares its memory; a GPU's data must be copied to be read."""
    assert device.info.has_own_memory == (device.info.name != "host")
