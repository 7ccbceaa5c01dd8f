"""Arrays of other libraries are used in place, on every device."""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device.graph_support import Kernels
from tests.device.lenders import DlpackLender, dlpack_device, interface_of
from warploom.engine.device.device import Buffer, Device
from warploom.engine.device.external import describe_external
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.memory import joined
from warploom.engine.device.protocol import MemoryPart
from warploom.engine.diagnostics import DeviceError, KernelFault


@pytest.fixture(scope="module")
def kernels(device: Device) -> Kernels:
    """The kernels on each device in turn."""
    return Kernels(device)


def test_kernels_read_and_write_an_adopted_array_in_place(kernels: Kernels) -> None:
    """Kernels use an adopted array without a copy, and the owner keeps it with their results after `free`."""
    device = kernels.device
    owned = device.upload(np.array([5, 6], np.int32))
    lent = interface_of(device, owned.memory, owned.dtype, (2,))
    memory = device.adopt(lent)
    assert (memory.pointer, memory.size_bytes) == (owned.pointer, 8)
    graph = device.create_graph()
    first = kernels.add(graph, "add", memory, 10)
    graph.add_memset(MemoryPart(memory, 4, 4), 1, 4, [first])
    kernels.run(graph)
    assert owned.download().tolist() == [15, 0x01010101]
    assert Buffer(device, memory, owned.dtype, (2,)).download().tolist() == [15, 0x01010101]
    memory.free()
    assert owned.download().tolist() == [15, 0x01010101]


@pytest.mark.parametrize("versioned", [True, False])
def test_a_dlpack_tensor_is_given_back_when_it_is_released(kernels: Kernels, versioned: bool) -> None:
    """A DLPack tensor is returned once, when its memory is released."""
    device = kernels.device
    owned = device.upload(np.array([3], np.int32))
    lender = DlpackLender(owned.pointer, owned.dtype, (1,), device=dlpack_device(device), versioned=versioned)
    memory = device.adopt(lender)
    kernels.run(one_kernel := device.create_graph())
    kernels.add(one_kernel, "multiply", memory, 7)
    assert kernels.run(one_kernel, owned) == [21]
    assert lender.given_back == 0
    memory.free()
    assert lender.given_back == 1
    with pytest.raises(DeviceError, match="freed"):
        memory.free()
    with pytest.raises(DeviceError, match="freed"):
        _ = memory.pointer
    assert lender.given_back == 1


def test_the_array_lives_as_long_as_it_is_adopted(device: Device) -> None:
    """An adopted array stays alive even if nothing else refers to it."""
    owned = device.upload(np.zeros(3, np.float32))
    lent = interface_of(device, owned.memory, owned.dtype, (3,))
    alive = weakref.ref(lent)
    memory = device.adopt(lent)
    del lent
    gc.collect()
    assert alive() is not None
    memory.free()
    gc.collect()
    assert alive() is None


def test_a_strided_array_is_adopted_from_its_first_element_to_its_last(device: Device) -> None:
    """Adopting the description of a strided array covers the bytes from its first element to its last."""
    owned = device.upload(np.zeros(12, np.float32))
    external = describe_external(interface_of(device, owned.memory, owned.dtype, (2, 3), strides=(24, 8)))
    assert external.strides == (24, 8)
    memory = device.adopt(external)
    assert (memory.pointer, memory.size_bytes) == (owned.pointer, 24 + 16 + 4)
    memory.free()


def test_arrays_that_cannot_be_adopted_are_given_back(device: Device) -> None:
    """Read-only arrays and arrays on another device are refused and returned to their owner."""
    owned = device.upload(np.zeros(3, np.float32))
    elsewhere = (2, 99) if device.info.name == "host" else (1, 0)
    lender = DlpackLender(owned.pointer, owned.dtype, (3,), device=elsewhere)
    with pytest.raises(DeviceError, match="must be in memory of"):
        device.adopt(lender)
    read_only = DlpackLender(owned.pointer, owned.dtype, (3,), device=dlpack_device(device), flags=1)
    with pytest.raises(DeviceError, match="must be writable"):
        device.adopt(read_only)
    assert (lender.given_back, read_only.given_back) == (1, 1)
    with pytest.raises(DeviceError, match="__dlpack__, got int"):
        device.adopt(5)


def test_the_host_checks_accesses_of_an_adopted_array(host: HostDevice) -> None:
    """An access past the end of an adopted array is a fault, as is any access after `free`."""
    kernels = Kernels(host)
    array = np.arange(4, dtype=np.int32)
    memory = host.adopt(array[:3])
    graph = host.create_graph()
    kernels.add(graph, "add", MemoryPart(memory, 8, 4), 100)
    executable = graph.instantiate()
    kernels.run(executable)
    assert array.tolist() == [0, 1, 102, 3]
    node = kernels.add(graph, "add", memory.pointer + 12, 100)
    with pytest.raises(KernelFault):
        kernels.run(graph)
    assert array.tolist() == [0, 1, 202, 3]
    memory.free()
    with pytest.raises(KernelFault):
        kernels.run(executable)
    assert node == 1


def test_an_array_and_parts_of_it_can_be_adopted_together(host: HostDevice) -> None:
    """An array and parts of it can be adopted at the same time, and adopted and freed in any order."""
    kernels = Kernels(host)
    array = np.zeros(8, np.int32)
    parts = [host.adopt(array[2:5]), host.adopt(array), host.adopt(array), host.adopt(array[4:])]

    def add(index: int) -> None:
        graph = host.create_graph()
        kernels.add(graph, "add", array.ctypes.data + 4 * index, 1)
        kernels.run(graph)

    for index in range(8):
        add(index)
    parts[1].free()
    add(0)
    parts[2].free()
    with pytest.raises(KernelFault):
        add(0)
    for index in range(2, 8):
        add(index)
    assert array.tolist() == [2, 1, 2, 2, 2, 2, 2, 2]
    parts[0].free()
    parts[3].free()


def test_closing_the_device_releases_adopted_arrays() -> None:
    """Closing the device returns adopted tensors to their owners."""
    device = HostDevice(cores=1)
    array = np.zeros(3, np.float32)
    lender = DlpackLender(array.ctypes.data, array.dtype, (3,))
    device.adopt(lender)
    device.close()
    assert lender.given_back == 1


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), min_size=1, max_size=12))
def test_joined_ranges_hold_the_same_bytes_and_do_not_overlap(ranges: list[tuple[int, int]]) -> None:
    """Joined ranges are sorted and disjoint. Adjacent ranges stay separate, so an access across both is a fault."""
    result = joined(np.array(ranges, np.uint64)).astype(int).tolist()
    bytes_before = sorted({byte for first, size in ranges for byte in range(first, first + size)})
    assert [byte for first, size in result for byte in range(first, first + size)] == bytes_before
    borders = {first for first, _ in result}
    for first, size in ranges:
        assert not borders & set(range(first + 1, first + size))
    for border in borders:
        assert border in {first for first, _ in ranges}
    split = {b for b in bytes_before if b > 0 and not any(f < b < f + s for f, s in ranges)} - borders
    assert not split
