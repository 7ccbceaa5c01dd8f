"""The CUDA devices of this machine, queried from the driver without creating anything on a GPU."""

import sys
from typing import Any

from cuda.bindings import driver

from warploom.engine.device.cuda.errors import check
from warploom.engine.device.device import DeviceInfo
from warploom.engine.device.occupancy import MultiprocessorLimits, shared_unit
from warploom.engine.diagnostics import DeviceError

_Attribute = driver.CUdevice_attribute
# CUBINs of NVRTC 13 run on every driver for CUDA 13, and on no older one.
OLDEST_DRIVER = 13000
OLDEST_CAPABILITY = (7, 5)


def start_driver() -> int:
    """Initialise the driver and return its number of devices. Raise a DeviceError with the reason if there are none.

    It may be called any number of times.
    """
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        (code,) = driver.cuInit(0)
    except RuntimeError:  # cuda.bindings can't load the library
        raise DeviceError(f"NVIDIA driver not found ({library})") from None
    if code == driver.CUresult.CUDA_ERROR_NO_DEVICE:
        raise DeviceError("the NVIDIA driver finds no GPU")
    if code:
        raise DeviceError(f"the NVIDIA driver does not start: {code.name}")
    version = check(driver.cuDriverGetVersion(), "cuDriverGetVersion")
    if version < OLDEST_DRIVER:
        raise DeviceError(
            f"NVIDIA driver must support CUDA {_dotted(OLDEST_DRIVER)} or later, got {_dotted(version)}; update it"
        )
    count: int = check(driver.cuDeviceGetCount(), "cuDeviceGetCount")
    if count == 0:
        raise DeviceError("the NVIDIA driver finds no GPU")
    return count


def driver_version() -> str:
    """Return the CUDA version that the driver supports, such as "13.0"."""
    return _dotted(check(driver.cuDriverGetVersion(), "cuDriverGetVersion"))


def describe_device(ordinal: int) -> DeviceInfo:
    """Describe device `ordinal`; `start_driver` must have been called."""
    handle = check(driver.cuDeviceGet(ordinal), "cuDeviceGet")
    title = check(driver.cuDeviceGetName(128, handle), "cuDeviceGetName").split(b"\0")[0].decode(errors="replace")
    major, minor = capability(handle)
    return DeviceInfo(
        name=f"cuda:{ordinal}",
        title=title,
        architecture=f"sm_{major}{minor}",
        memory_bytes=int(check(driver.cuDeviceTotalMem(handle), "cuDeviceTotalMem")),
        cores=attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        limits=_limits(handle, (major, minor)),
        peak_bytes_per_s=_peak_bytes_per_s(handle),
    )


def _peak_bytes_per_s(handle: Any) -> float | None:
    """Return the bandwidth of the memory's pins: two transfers per clock, over the whole width of the bus."""
    clock_khz = attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
    bus_bits = attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
    return 2.0 * clock_khz * 1000 * bus_bits / 8 or None


def _limits(handle: Any, compute_capability: tuple[int, int]) -> MultiprocessorLimits:
    return MultiprocessorLimits(
        threads=attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        thread_blocks=attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
        registers=attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
        block_registers=attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        shared_bytes=attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        reserved_shared_bytes=attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
        shared_unit=shared_unit(compute_capability),
    )


def why_unusable(ordinal: int) -> str:
    """Return why Warploom cannot use device `ordinal`, or "" when it can."""
    handle = check(driver.cuDeviceGet(ordinal), "cuDeviceGet")
    found = capability(handle)
    if found < OLDEST_CAPABILITY:
        return f"compute capability must be 7.5 or later, got {found[0]}.{found[1]}"
    mode = attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)
    if mode == driver.CUcomputemode.CU_COMPUTEMODE_PROHIBITED:
        return "its compute mode prohibits use (nvidia-smi -c 0 allows it)"
    return ""


def capability(handle: Any) -> tuple[int, int]:
    """Return the compute capability, such as (9, 0)."""
    return (
        attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        attribute(handle, _Attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    )


def attribute(handle: Any, which: Any) -> int:
    """Return one attribute of a device."""
    return int(check(driver.cuDeviceGetAttribute(which, handle), "cuDeviceGetAttribute"))


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
