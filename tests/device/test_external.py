"""Arrays of other libraries are described by their array protocols alone."""

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device.lenders import DlpackLender, Interface
from warploom.engine.device.external import ExternalArray, describe_external, writable_bytes
from warploom.engine.device.lending import LEGACY_STREAM
from warploom.engine.diagnostics import DeviceError

GPU = {"version": 3, "typestr": "<f4", "shape": (4, 3), "data": (4096, False), "strides": None}


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", "f8", "i8", "u8", "?", "c8", [("a", "f4"), ("b", "i4")]])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 4), (0, 3)])
def test_numpy_arrays_are_described_as_numpy_does(dtype: Any, shape: tuple[int, ...]) -> None:
    """A numpy array is described by address, element type and shape; a C-contiguous one has no strides."""
    array = np.zeros(shape, np.dtype(dtype))
    external = describe_external(array)
    assert (external.pointer, external.dtype, external.shape) == (array.ctypes.data, array.dtype, shape)
    assert (external.strides, external.read_only, external.device) == (None, False, "cpu")
    assert external.size_bytes == array.nbytes


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3)), min_size=1, max_size=3), st.booleans())
def test_strided_views_keep_their_strides_and_reach_to_their_last_element(
    axes: list[tuple[int, int]], transposed: bool
) -> None:
    """A strided view keeps its strides, and its span ends with its last element."""
    base = np.zeros([extent * step for extent, step in axes], np.int16)
    view = base[tuple(slice(None, None, step) for _, step in axes)]
    view = view.T if transposed else view
    external = describe_external(view)
    assert external.strides == (None if view.flags.c_contiguous else view.strides)
    last = sum((extent - 1) * stride for extent, stride in zip(view.shape, view.strides, strict=True))
    assert external.size_bytes == last + 2


def test_a_gpu_array_is_described_by_its_interface() -> None:
    """The interface of a GPU array states its strides and the stream to wait for, but not its GPU."""
    external = describe_external(Interface("__cuda_array_interface__", {**GPU, "stream": 7}))
    assert (external.pointer, external.dtype, external.shape) == (4096, np.float32, (4, 3))
    assert (external.strides, external.device, external.stream) == (None, "cuda", 7)
    transposed = describe_external(Interface("__cuda_array_interface__", {**GPU, "strides": (4, 16)}))
    assert transposed.strides == (4, 16)
    assert transposed.size_bytes == 3 * 4 + 2 * 16 + 4
    same = describe_external(Interface("__cuda_array_interface__", {**GPU, "strides": (12, 4)}))
    assert same.strides is None
    assert same.stream == LEGACY_STREAM
    assert describe_external(Interface("__cuda_array_interface__", {**GPU, "stream": None})).stream is None


def test_arrays_without_a_stream_are_waited_for() -> None:
    """An array that may still be computed is waited for, unless its interface names a stream."""
    waits = []
    for entries in (GPU, {**GPU, "version": 2}, {**GPU, "stream": None}, {**GPU, "stream": 7}):
        lent = Interface("__cuda_array_interface__", entries)
        lent.block_until_ready = lambda entries=entries: waits.append(entries)
        describe_external(lent)
    assert waits == [GPU, {**GPU, "version": 2}]


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_tensors_are_taken_and_given_back_once(versioned: bool) -> None:
    """A DLPack tensor is returned once, by `release` or when its description is freed."""
    array = np.arange(6, dtype=np.float64)
    lender = DlpackLender(array.ctypes.data, array.dtype, (2, 2), (3, 2), versioned=versioned)
    external = describe_external(lender)
    assert (external.pointer, external.dtype, external.shape) == (array.ctypes.data, np.float64, (2, 2))
    assert (external.strides, external.device, external.stream) == ((24, 16), "cpu", None)
    assert lender.given_back == 0
    external.release()
    external.release()
    assert lender.given_back == 1
    describe_external(lender)
    gc.collect()
    assert lender.given_back == 2


def test_dlpack_of_a_gpu_is_asked_for_the_legacy_stream() -> None:
    """A DLPack tensor on a GPU is requested for the legacy stream, number 1, which must be waited for."""
    lender = DlpackLender(4096, np.dtype(np.int32), (5,), device=(2, 3))
    external = describe_external(lender)
    assert (external.device, external.stream, external.strides) == ("cuda:3", 1, None)
    assert [call["stream"] for call in lender.asked] == [1]


def test_numpys_own_dlpack_is_understood() -> None:
    """numpy's own DLPack tensors are described, strided or read-only; only new protocol versions report read-only."""

    class Lender:
        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    array = np.arange(12, dtype=np.uint16).reshape(3, 4)
    external = describe_external(Lender(array[::2, 1:]))
    assert external.pointer == array.ctypes.data + 2
    assert (external.shape, external.strides, external.read_only) == ((2, 3), (16, 2), False)
    array.flags.writeable = False
    assert describe_external(Lender(array)).read_only


class Reluctant:
    """Raises an error when its memory is requested."""

    @property
    def __cuda_array_interface__(self) -> object:
        raise RuntimeError("it takes gradients")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ([1.0], "__array_interface__, __cuda_array_interface__ or __dlpack__, got list"),
        (np.zeros(3, ">f4"), "this machine's byte order, got >f4"),
        (np.zeros(3, object), "must be a number .*, got |O"),
        (np.zeros(3, "M8[s]"), "must be a number"),
        (Interface("__cuda_array_interface__", {**GPU, "mask": object()}), "must have no mask"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "must have no mask"),
        (Interface("__cuda_array_interface__", {**GPU, "data": None}), "must give the address"),
        (Reluctant(), "must share its memory, got it takes gradients"),
        (DlpackLender(8, np.dtype("u2"), (1,), kind=4), "must be one of numpy's, got DLPack's type 4 of 16 bits"),
        (DlpackLender(8, np.dtype("f4"), (1,), lanes=4), "in 4 lanes"),
        (DlpackLender(8, np.dtype("f4"), (1,), major=2), "DLPack version must be 1, got 2.0"),
        (
            DlpackLender(8, np.dtype("f4"), (1,), device=(10, 0)),
            "of a CUDA device, got DLPack's device 10",
        ),
    ],
)
def test_arrays_that_cannot_be_used_are_refused_and_given_back(array: object, message: str) -> None:
    """An array that can't be used is refused with the reason, and returned to its owner."""
    with pytest.raises(DeviceError, match=message.replace("|", r"\|")):
        describe_external(array)
    if isinstance(array, DlpackLender):
        assert array.given_back == 1


def test_a_capsule_is_taken_once() -> None:
    """A DLPack capsule that was already taken is refused, as the protocol demands."""

    class Careless:
        def __init__(self) -> None:
            lender = self.lender = DlpackLender(8, np.dtype("f4"), (1,))
            self.capsule = lender.__dlpack__()

        def __dlpack__(self, **options: object) -> object:
            return self.capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    careless = Careless()
    describe_external(careless).release()
    with pytest.raises(DeviceError, match="unused one"):
        describe_external(careless)
    assert careless.lender.given_back == 1


@pytest.mark.parametrize(
    ("on", "shape", "strides", "read_only", "device", "message"),
    [
        ("cpu", (2,), None, False, "cuda:0", "must be in memory of cuda:0, got one on cpu"),
        ("cuda:1", (2,), None, False, "cuda:0", "must be in memory of cuda:0, got one on cuda:1"),
        ("cuda", (2,), None, False, "cpu", "must be in memory of cpu, got one on cuda"),
        ("cpu", (2,), None, True, "cpu", "must be writable"),
        ("cpu", (2,), (-4,), False, "cpu", r"no negative strides, got \(-4,\)"),
        ("cpu", (2, 0), None, False, "cpu", r"at least 1 byte, got shape \(2, 0\)"),
    ],
)
def test_memory_that_a_device_cannot_use_as_its_own(
    on: str, shape: tuple[int, ...], strides: tuple[int, ...] | None, read_only: bool, device: str, message: str
) -> None:
    """A device refuses memory that is elsewhere, is read-only, or does not begin with the first element."""
    external = ExternalArray(64, np.dtype("f4"), shape, strides, read_only, on, None)
    with pytest.raises(DeviceError, match=message):
        writable_bytes(external, device)


def test_a_gpu_array_of_unknown_device_may_be_on_any() -> None:
    """A GPU array whose interface does not name its GPU is accepted by any GPU."""
    assert writable_bytes(ExternalArray(64, np.dtype("f4"), (2, 3), None, False, "cuda", None), "cuda:1") == 24
