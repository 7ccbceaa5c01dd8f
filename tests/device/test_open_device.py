"""Devices are opened by name, or refused with a reason."""

import os
import subprocess
import sys
from typing import Any

import pytest

from warploom.engine.device.open import list_devices, open_device
from warploom.engine.diagnostics import DeviceError


def test_the_host_is_always_usable_and_listed_last() -> None:
    """The host is listed last and is usable, with the architecture and cores of the opened device."""
    host = list_devices()[-1]
    device = open_device("host")
    try:
        assert (host.name, host.usable, host.reason) == ("host", True, "")
        assert host.architecture == device.info.architecture
        assert host.cores == device.info.cores
    finally:
        device.close()


def test_a_device_that_cannot_be_used_says_why() -> None:
    """Every listed device is usable, or opening it fails with the listed reason."""
    for status in list_devices():
        assert status.usable == (not status.reason)
        if not status.usable:
            with pytest.raises(DeviceError, match=r"device cuda:\d must be usable, got: .*host.* always works"):
                open_device(status.name)


def test_auto_opens_the_first_that_works() -> None:
    """The name `auto` opens the first usable device."""
    device = open_device("auto")
    try:
        assert device.info.name == next(status.name for status in list_devices() if status.usable)
    finally:
        device.close()


@pytest.mark.parametrize("name", ["", "gpu", "cuda:x", "cuda:-1", "CUDA:0", "host "])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    """The error for an unknown device lists the known names."""
    with pytest.raises(DeviceError, match=f'device must be "auto", "host" or "cuda:0" .*got "{name}"'):
        open_device(name)


@pytest.mark.parametrize(
    ("hidden", "reason"),
    [
        ("cuda.bindings", "the CUDA bindings are not installed"),
        ("", "NVIDIA driver|finds no GPU"),
    ],
)
def test_without_bindings_or_gpu_the_reason_is_plain(hidden: str, reason: str) -> None:
    """Without CUDA bindings or a visible GPU, the reason is a sentence without a traceback."""
    code = (
        "import importlib.util as u, re\n"
        f"find = u.find_spec\nu.find_spec = lambda name, *a: None if name == {hidden!r} else find(name, *a)\n"
        "from warploom.engine.device.open import _list_cuda\n"
        f"(status,) = _list_cuda()\nassert not status.usable and re.search({reason!r}, status.reason), status\n"
    )
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("plain_edges", [None, "yes", 0])
def test_plain_edges_is_a_switch(plain_edges: Any) -> None:
    """`plain_edges` must be True or False."""
    with pytest.raises(DeviceError, match="plain_edges must be True or False, got "):
        open_device("host", plain_edges=plain_edges)


def test_the_host_has_only_plain_edges() -> None:
    """The host accepts `plain_edges`."""
    device = open_device("host", plain_edges=True)
    assert device.info.name == "host"
    device.close()


def test_threads_share_two_heaps() -> None:
    """After a device was opened, many threads that allocate at once make no heap of their own."""
    code = """
import ctypes, threading
from warploom.engine.device.open import open_device
open_device("host").close()
libc, go = ctypes.CDLL(None), threading.Barrier(20)
threads = [threading.Thread(target=lambda: (bytes(1000), go.wait())) for _ in range(20)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert 1 <= found.stdout.count("<heap nr=") <= 2
