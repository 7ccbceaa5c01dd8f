"""CUDA's error codes as exceptions that state a remedy."""

from typing import Any

from cuda.bindings import driver

from warploom.engine.diagnostics import DeviceError

# After one of these errors, every CUDA call of this process fails with the same code, and resetting the primary context
# does not help (measured for an illegal address, driver 580). They are listed by name, since older bindings lack the
# newest codes.
STICKY = frozenset(
    "CUDA_ERROR_" + name
    for name in (
        "ECC_UNCORRECTABLE",
        "NVLINK_UNCORRECTABLE",
        "CONTAINED",
        "ILLEGAL_ADDRESS",
        "LAUNCH_TIMEOUT",
        "ASSERT",
        "HARDWARE_STACK_ERROR",
        "ILLEGAL_INSTRUCTION",
        "MISALIGNED_ADDRESS",
        "INVALID_ADDRESS_SPACE",
        "INVALID_PC",
        "LAUNCH_FAILED",
        "TENSOR_MEMORY_LEAK",
    )
)


class DeviceFault(DeviceError):
    """The GPU faulted. Nothing works on it until this process ends."""


def check(result: tuple[Any, ...], call: str) -> Any:
    """Return the values of a driver call without its code. If it failed, raise a DeviceError that names `call`.

    One value is returned by itself, several as a tuple, and none as None.
    """
    if result[0]:
        raise device_error(result[0], call)
    if len(result) == 2:
        return result[1]
    return result[1:] or None


def device_error(code: Any, call: str) -> DeviceError:
    """Return the error for a failed call; a sticky code gives a `DeviceFault`."""
    _, text = driver.cuGetErrorString(code)
    reason = f"{code.name}, {text.decode()}" if text else code.name
    if code.name in STICKY:
        # The call that reports a fault is rarely its cause, since kernels run after their launch returns.
        fault = DeviceFault(
            f"{call} failed: {reason}. A kernel that ran before has faulted; the GPU stays unusable until this "
            "process ends: save the patch and restart"
        )
        fault.reason = reason
        return fault
    return DeviceError(f"{call} failed: {reason}")
