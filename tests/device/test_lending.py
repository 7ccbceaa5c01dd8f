"""Other libraries use a buffer's memory in place, and it outlasts `free` and the device."""

import gc
from typing import Any

import numpy as np
import pytest

from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.dlpack import DlpackTensor
from warploom.engine.device.external import describe_external
from warploom.engine.device.lending import LentArray
from warploom.engine.device.open import open_device
from warploom.engine.device.protocol import MemoryPart
from warploom.engine.diagnostics import DeviceError

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)


def place_of(device: Device) -> tuple[int, int]:
    """Return DLPack's number of a device."""
    return (1, 0) if device.info.name == "host" else (2, 0)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(), (1,), (33,), (3, 1, 5), (0,), (2, 0)])
def test_numpy_sees_the_memory_itself(dtype: str, shape: tuple[int, ...]) -> None:
    """numpy's arrays of a buffer on the host have its element type and shape, and share its memory both ways."""
    with_values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    device = open_device("host")
    buffer = device.upload(with_values)
    for array in (np.asarray(buffer), np.from_dlpack(buffer)):
        assert (array.dtype, array.shape, array.flags.writeable) == (with_values.dtype, shape, True)
        np.testing.assert_array_equal(array, with_values)
        if array.size:
            assert array.ctypes.data == buffer.pointer
            array[...] = array.dtype.type(1)
            np.testing.assert_array_equal(buffer.download(), np.ones_like(with_values))
            buffer.upload(with_values)
    device.close()


@pytest.mark.parametrize("versions", [None, (0, 8), (1, 0), (1, 1)])
def test_both_versions_of_dlpack(device: Device, versions: tuple[int, int] | None) -> None:
    """A consumer of each version of DLPack gets the address, device, type and shape; an unused capsule is dropped."""
    buffer = device.upload(NUMBERS)
    assert buffer.__dlpack_device__() == place_of(device)
    taken = DlpackTensor(capsule := buffer.__dlpack__(max_version=versions))
    assert (taken.pointer, taken.dtype, taken.shape) == (buffer.pointer, NUMBERS.dtype, (2, 3))
    assert (taken.device_type, taken.device_id) == place_of(device)
    assert ("versioned" in repr(capsule)) is (versions is not None and versions >= (1, 0))
    assert not taken.read_only
    taken.release()
    buffer.__dlpack__(max_version=versions)
    buffer.free()


def test_memory_outlasts_free_and_the_device() -> None:
    """An array keeps the contents after the buffer was freed and collected, and after the device was closed."""
    device = open_device("host")
    buffer = device.upload(NUMBERS)
    by_interface, by_dlpack = np.asarray(buffer), np.from_dlpack(buffer)
    buffer.free()
    with pytest.raises(DeviceError, match="freed"):
        np.from_dlpack(buffer)
    del buffer
    other = device.upload(-NUMBERS)
    gc.collect()
    np.testing.assert_array_equal(by_interface, NUMBERS)
    kept = np.asarray(other)
    device.close()
    gc.collect()
    np.testing.assert_array_equal(by_dlpack, NUMBERS)
    np.testing.assert_array_equal(kept, -NUMBERS)


def test_a_part_keeps_the_whole(device: Device) -> None:
    """A buffer in a part of an allocation is shared at its offset, and keeps the allocation."""
    whole = device.upload(NUMBERS)
    part = Buffer(device, MemoryPart(whole.memory, 12, 12), NUMBERS.dtype, (3,))
    taken = DlpackTensor(part.__dlpack__())
    assert taken.pointer == whole.pointer + 12
    whole.free()
    array = np.empty(3, np.float32)
    if device.info.name == "host":
        array = np.from_dlpack(_Again(taken, (1, 0)))
        np.testing.assert_array_equal(array, NUMBERS[1])


class _Again:
    """Lends a tensor that it got."""

    def __init__(self, taken: DlpackTensor, place: tuple[int, int]) -> None:
        self._taken, self._place = taken, place
        self.__array_interface__ = {
            "version": 3,
            "shape": taken.shape,
            "typestr": taken.dtype.str,
            "data": (taken.pointer, False),
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._place

    def __dlpack__(self, **options: Any) -> object:
        return np.asarray(self).__dlpack__(**options)


def test_a_copy_on_request(device: Device) -> None:
    """`copy=True`, `np.array` and an export to the CPU give a copy, or say that they can't."""
    buffer = device.upload(NUMBERS)
    for copy in (np.array(buffer), np.from_dlpack(buffer, device="cpu", copy=True)):
        np.testing.assert_array_equal(copy, NUMBERS)
        copy[...] = 0
        np.testing.assert_array_equal(buffer.download(), NUMBERS)
    assert np.asarray(buffer, np.float64).dtype == np.float64
    if device.info.name == "host":
        assert np.asarray(buffer, copy=False).ctypes.data == buffer.pointer
    else:
        with pytest.raises(ValueError, match=r"must be a copy of the memory of cuda:0, got copy=False"):
            np.asarray(buffer, copy=False)
        with pytest.raises(BufferError, match="must be copied to the CPU, got copy=False"):
            buffer.__dlpack__(dl_device=(1, 0), copy=False)
    buffer.free()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"dl_device": (2, 7)}, r"exported on its device \(1, 0\) or the CPU, got \(2, 7\)"),
        ({"stream": 1}, "stream must be None for an array on the CPU, got 1"),
    ],
)
def test_refused_requests(options: dict[str, Any], rule: str) -> None:
    """Requests that can't be met are refused with the rule."""
    device = open_device("host")
    with pytest.raises(BufferError, match=rule):
        device.upload(NUMBERS).__dlpack__(**options)
    device.close()


def test_elements_that_dlpack_has_no_type_for(device: Device) -> None:
    """Structs are shared by the array interface, but not by DLPack."""
    points = np.array([(1, 2.0), (3, 4.0)], [("a", np.int32), ("b", np.float32)])
    buffer = device.upload(points)
    np.testing.assert_array_equal(np.asarray(buffer), points)
    with pytest.raises(BufferError):
        buffer.__dlpack__()
    buffer.free()


def test_bf16_and_read_only_arrays(device: Device) -> None:
    """DLPack has a type for bf16, and the newer version a flag for arrays that only may be read."""
    buffer = device.upload(np.zeros(2, np.uint16))
    lent = LentArray(device, buffer.memory, buffer.dtype, (2,), read_only=True, is_bf16=True)
    with pytest.raises(DeviceError, match="DLPack's type 4 of 16 bits"):
        DlpackTensor(lent.dlpack(None, None, None, None))
    lent = LentArray(device, buffer.memory, buffer.dtype, (2,), read_only=True)
    assert DlpackTensor(lent.dlpack(None, (1, 0), None, None)).read_only
    assert not DlpackTensor(lent.dlpack(None, None, None, None)).read_only
    buffer.free()


def test_one_kind_of_interface(device: Device) -> None:
    """A buffer has the array interface of its kind of device only."""
    buffer = device.upload(NUMBERS)
    is_host = device.info.name == "host"
    assert hasattr(buffer, "__array_interface__") is is_host
    assert hasattr(buffer, "__cuda_array_interface__") is not is_host
    assert describe_external(buffer).pointer == buffer.pointer
    buffer.free()


@pytest.mark.gpu
@pytest.mark.parametrize("stream", [None, 1, 2, -1])
def test_streams_of_a_gpu(stream: int | None) -> None:
    """Each number of a stream is taken, and numbers that mean nothing are refused."""
    device = open_device("cuda:0")
    buffer = device.upload(NUMBERS)
    DlpackTensor(buffer.__dlpack__(stream=stream)).release()
    for wrong in (0, -2, "1"):
        with pytest.raises(BufferError, match="stream must be None, -1, 1, 2 or a handle"):
            buffer.__dlpack__(stream=wrong)  # type: ignore[arg-type]  # the mistake is the point
    device.close()
