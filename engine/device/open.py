"""Opens a device by its name, and lists the devices of this machine."""

import importlib.util
import logging
import re
import sys
from functools import cache

import msgspec

from warploom.engine.arguments import SHOWN, checked
from warploom.engine.device.device import Device, DeviceInfo, checked_time_limit
from warploom.engine.diagnostics import DeviceError
from warploom.engine.platforms.memory import share_heaps

_log = logging.getLogger(__name__)


class DeviceStatus(msgspec.Struct, frozen=True):
    """A device that this machine has or could have; `reason` is why it is unusable, "" if it is usable.

    `architecture`, `memory_bytes` and `cores` are those of `DeviceInfo`; "" and 0 when there is no such device.
    """

    name: str
    title: str
    usable: bool
    reason: str = ""
    architecture: str = ""
    memory_bytes: int = 0
    cores: int = 0


@checked(DeviceError, name="checked by `check_device_name`", kernel_time_limit_s="checked for every device")
def open_device(name: str = "auto", *, plain_edges: bool = False, kernel_time_limit_s: float | None = None) -> Device:
    """Open "host", "cuda:0", "cuda:1" ...; "auto" is the first CUDA device that works, or else the host.

    The host stops a kernel that computes for longer than `kernel_time_limit_s`, with a KernelFault; by default there is
    no limit. A CUDA device can't stop kernels, so the limit has no effect there.

    With `plain_edges`, no node of a graph starts before the nodes that it waits for are complete; otherwise, kernels on
    a CUDA device may start early and then wait. The results are the same. Raise a DeviceError with the reason when the
    named device can't be used.
    """
    check_device_name(name)
    checked_time_limit(kernel_time_limit_s)
    _share_heaps()
    device = _open_named(name, plain_edges)
    device.set_kernel_time_limit(kernel_time_limit_s)
    return device


@cache
def _share_heaps() -> None:
    """Have all threads of the process share two heaps of glibc, instead of up to eight for each core.

    Each engine has threads of its own. The memory that one of them frees stays in its heap, where others don't find
    it, so that a process which opens many patches would grow (`tests/benchmarks/bench_memory.py`).
    """
    share_heaps(2)


def _open_named(name: str, plain_edges: bool) -> Device:
    if name == "auto":
        return _open_first(plain_edges)
    if name == "host":
        return _open_host()
    try:
        return _open_cuda(int(name.partition(":")[2] or 0), plain_edges)
    except DeviceError as reason:
        raise DeviceError(f'device {name} must be usable, got: {reason} (device "host" always works)') from None


def check_device_name(name: str) -> None:
    """Raise a DeviceError with the allowed names, unless `open_device` accepts this one."""
    if not isinstance(name, str) or not re.fullmatch(r"auto|host|cuda(:[0-9]{1,4})?", name):
        raise DeviceError(f'device must be "auto", "host" or "cuda:0" (or another number), got "{str(name)[:SHOWN]}"')


def list_devices() -> list[DeviceStatus]:
    """Return the CUDA devices in order, then the host; an unusable device has a reason."""
    host = _open_host()
    try:
        info = host.info
    finally:
        host.close()
    return [*_list_cuda(), _status(info)]


def _open_first(plain_edges: bool) -> Device:
    for status in _list_cuda():
        if status.usable:
            try:
                return open_device(status.name, plain_edges=plain_edges)
            except DeviceError as reason:  # for example busy in exclusive mode; the next one may be free
                _log.warning("%s", reason)
    return _open_host()


def _open_host() -> Device:
    from warploom.engine.device.host.device import HostDevice

    return HostDevice()


def _open_cuda(ordinal: int, plain_edges: bool) -> Device:
    _require_bindings()
    from warploom.engine.device.cuda.device import CudaDevice

    return CudaDevice(ordinal, plain_edges=plain_edges)


def _list_cuda() -> list[DeviceStatus]:
    try:
        _require_bindings()
        from warploom.engine.device.cuda.probe import describe_device, start_driver, why_unusable

        count = start_driver()
    except DeviceError as reason:
        return [DeviceStatus("cuda:0", "NVIDIA GPU", False, str(reason))]
    return [_status(describe_device(ordinal), why_unusable(ordinal)) for ordinal in range(count)]


def _status(info: DeviceInfo, reason: str = "") -> DeviceStatus:
    return DeviceStatus(info.name, info.title, not reason, reason, info.architecture, info.memory_bytes, info.cores)


def _require_bindings() -> None:
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        if sys.platform == "darwin":
            raise DeviceError("NVIDIA has no CUDA for macOS")
        raise DeviceError("the CUDA bindings are not installed (pip install cuda-python)")
