"""The processor: how many cores this process may use, its name, and the time of threads."""

import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def usable_cores() -> int:
    """Return the number of cores on which this process may run."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    if sys.platform == "win32":
        import psutil

        return len(psutil.Process().cpu_affinity())
    return os.cpu_count() or 1


def processor_name() -> str:
    """Return the processor's model."""
    name = ""
    with suppress(OSError, subprocess.SubprocessError):
        if sys.platform == "win32":
            import winreg

            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"HARDWARE\DESCRIPTION\System\CentralProcessor\0") as key:
                name = str(winreg.QueryValueEx(key, "ProcessorNameString")[0])
        elif sys.platform == "darwin":
            command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            name = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout
        else:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            name = next((line.partition(":")[2] for line in lines if line.startswith("model name")), "")
    return name.strip() or platform.processor() or platform.machine()


def thread_computed_s(thread: int) -> float:
    """Return how long a thread, named by its identity, has computed; the time of day where the system can't tell."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            return time.clock_gettime(time.pthread_getcpuclockid(thread))
    return time.monotonic()


@contextmanager
def usual_scheduling() -> Iterator[None]:
    """Take real-time scheduling from threads of this process that get it meanwhile, on Linux."""
    before = _policies()
    try:
        yield
    finally:
        if sys.platform == "linux":
            usual = before.get(threading.get_native_id())
            for thread, policy in _policies().items():
                wanted = before.get(thread, usual)
                if wanted == os.SCHED_OTHER != policy:
                    with suppress(OSError):  # the thread has ended
                        os.sched_setscheduler(thread, wanted, os.sched_param(0))


def _policies() -> dict[int, int]:
    """Return the scheduling policy of each thread of this process; nothing where the system does not tell."""
    found = dict[int, int]()
    if sys.platform == "linux":
        with suppress(OSError):
            for task in Path("/proc/self/task").iterdir():
                with suppress(OSError):  # the thread has ended
                    found[int(task.name)] = os.sched_getscheduler(int(task.name))
    return found
