"""torch, CuPy and JAX use a GPU's memory in place, in both directions, and their streams wait for ours."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch, open_device
from warploom.engine.device.device import Buffer
from warploom.tensors import Tensor

pytestmark = pytest.mark.gpu
NUMBERS = np.arange(12, dtype=np.float32).reshape(3, 4)


def _torch() -> tuple[Callable[[Any], Any], Callable[[Any], int], Callable[[Any], Any]]:
    torch = pytest.importorskip("torch")
    return torch.from_dlpack, lambda array: int(array.data_ptr()), lambda array: array.cpu().numpy()


def _cupy() -> tuple[Callable[[Any], Any], Callable[[Any], int], Callable[[Any], Any]]:
    cupy = pytest.importorskip("cupy")
    return cupy.from_dlpack, lambda array: int(array.data.ptr), cupy.asnumpy


def _cupy_interface() -> tuple[Callable[[Any], Any], Callable[[Any], int], Callable[[Any], Any]]:
    cupy = pytest.importorskip("cupy")
    return cupy.asarray, lambda array: int(array.data.ptr), cupy.asnumpy


def _jax() -> tuple[Callable[[Any], Any], Callable[[Any], int], Callable[[Any], Any]]:
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("this JAX uses no GPU")
    return jax.numpy.from_dlpack, lambda array: int(array.unsafe_buffer_pointer()), np.asarray


LIBRARIES = pytest.mark.parametrize("library", [_torch, _cupy, _cupy_interface, _jax])


@LIBRARIES
def test_a_buffer_is_used_in_place_and_outlasts_the_device(library: Callable[[], Any]) -> None:
    """A library's array of a buffer has its address, and its contents after the buffer and the device are gone."""
    take, address, values = library()
    device = open_device("cuda:0")
    buffer = device.upload(NUMBERS)
    array = take(buffer)
    assert address(array) == buffer.pointer
    np.testing.assert_array_equal(values(array), NUMBERS)
    buffer.free()
    del buffer
    again = device.upload(-NUMBERS)
    kept = take(again)
    device.close()
    del again
    np.testing.assert_array_equal(values(array), NUMBERS)
    np.testing.assert_array_equal(values(kept), -NUMBERS)


@LIBRARIES
def test_a_tensor_is_used_in_place(library: Callable[[], Any]) -> None:
    """A library's array of a tensor, of its sum with another, has its address and waits for the computation."""
    take, address, values = library()
    tensor = Tensor.from_numpy(NUMBERS, device="cuda:0") * 2 + 1
    array = take(tensor)
    assert address(array) == tensor.__cuda_array_interface__["data"][0]
    del tensor
    np.testing.assert_array_equal(values(array), NUMBERS * 2 + 1)


@LIBRARIES
def test_a_running_port_is_used_in_place(library: Callable[[], Any]) -> None:
    """A library's array of a port has the newest frame."""
    take, address, values = library()
    patch = Patch()
    source = patch.add("io.array", data=NUMBERS)
    scaled = patch.add("math.scale_offset", scale=2.0)
    patch.connect(source["out"], scaled["x"])
    with Engine(patch, device="cuda:0") as engine:
        buffer = engine.buffer(scaled["out"])
        array = take(buffer)
        assert address(array) == buffer.pointer
        np.testing.assert_array_equal(values(array), NUMBERS * 2)
        patch.set(scaled, scale=3.0)
        engine.step()
        kept = take(engine.buffer(scaled["out"]))  # JAX keeps a copy of what it has shown of the first one
        assert address(kept) == address(array)
    np.testing.assert_array_equal(values(kept), NUMBERS * 3)


def test_the_consumers_stream_waits_for_the_producer() -> None:
    """A stream of torch reads a buffer only after the kernel that is writing it, without a wait on the host."""
    torch = pytest.importorskip("torch")
    device = open_device("cuda:0")
    spin = """.version 8.0
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 out) {
.reg .pred %p;
.reg .b64 %t<4>;
ld.param.u64 %t0, [out];
mov.u64 %t1, %globaltimer;
again: mov.u64 %t2, %globaltimer;
sub.u64 %t3, %t2, %t1;
setp.lt.u64 %p, %t3, 200000000;
@%p bra again;
st.global.u32 [%t0], 7;
ret;
}"""
    kernel = device.load_module(spin).kernel("spin")
    buffer = device.upload(np.zeros(1, np.int32))
    ours = device.create_stream()
    for writer in (None, ours):
        shared = Buffer(device, buffer.memory, buffer.dtype, (1,), writer)
        buffer.upload(np.zeros(1, np.int32))
        with torch.cuda.stream(torch.cuda.Stream()):
            device.launch(kernel, (1,), (1,), [buffer], stream=writer)
            assert (torch.from_dlpack(shared) + 1).item() == 8
    device.close()


@pytest.mark.parametrize("name", ["torch", "cupy", "jax"])
def test_arrays_come_in_without_a_copy(name: str) -> None:
    """Each library's array is a tensor in place."""
    module = pytest.importorskip(name)
    if name == "torch":
        theirs = module.arange(12, dtype=module.float32, device="cuda").reshape(3, 4)
        address = theirs.data_ptr()
    elif name == "cupy":
        theirs = module.asarray(NUMBERS)
        address = theirs.data.ptr
    else:
        if not any(device.platform == "gpu" for device in module.devices()):
            pytest.skip("this JAX uses no GPU")
        theirs = module.device_put(NUMBERS, module.devices("gpu")[0])
        address = theirs.unsafe_buffer_pointer()
    ours = Tensor.from_dlpack(theirs)
    assert ours.__cuda_array_interface__["data"][0] == address
    np.testing.assert_array_equal((ours + 1).numpy(), NUMBERS + 1)


def test_bf16_has_a_type_in_dlpack() -> None:
    """torch reads bf16 as bf16."""
    torch = pytest.importorskip("torch")
    from warploom.engine.types import bf16

    ones = torch.from_dlpack(Tensor.ones((3,), dtype=bf16, device="cuda:0"))
    assert ones.dtype == torch.bfloat16
    assert ones.float().tolist() == [1, 1, 1]
