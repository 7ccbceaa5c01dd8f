"""CUDA's error codes as exceptions that say what to do."""

from typing import Any

from cuda.bindings import driver

from engine.diagnostics import DeviceError

# After one of these errors every CUDA call of this process fails with the same code; resetting the primary context does
# not help (measured for an illegal address, driver 580). They are listed by name: older bindings lack the newest codes.
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
    """The GPU faulted: nothing works on it until this process ends."""


def check(result: tuple[Any, ...], call: str) -> Any:
    """Return the values of a driver call without its code; when it failed, raise a DeviceError that names `call`.

    One value is returned as itself, several as a tuple, none as None.
    """
    if result[0]:
        raise device_error(result[0], call)
    if len(result) == 2:
        return result[1]
    return result[1:] or None


def device_error(code: Any, call: str) -> DeviceError:
    """Return the error for a failed call; a `DeviceFault` when the code is sticky."""
    _, text = driver.cuGetErrorString(code)
    reason = f"{code.name}, {text.decode()}" if text else code.name
    if code.name in STICKY:
        # The call that reports a fault is rarely the one that caused it: kernels run after their launch returns.
        return DeviceFault(
            f"{call} failed: {reason}. A kernel that ran before has faulted; the GPU stays unusable until this "
            "process ends: save the patch and restart"
        )
    return DeviceError(f"{call} failed: {reason}")
