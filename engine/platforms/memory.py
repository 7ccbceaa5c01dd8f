"""The memory of this machine, of which containers may have a part only."""

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

_ARENA_MAX = -8  # M_ARENA_MAX of glibc


def free_bytes() -> int:
    """Return the bytes that can be allocated without swapping or exceeding a container's limit."""
    if sys.platform != "linux":
        import psutil

        return int(psutil.virtual_memory().available)
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    found = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    return min([found, *(max(limit - used, 0) for limit, used in container_limits())])


def total_bytes() -> int:
    """Return the bytes of this computer's memory, or the limit of the container that this process runs in."""
    if sys.platform != "linux":
        import psutil

        return int(psutil.virtual_memory().total)
    return min([_physical(), *(limit for limit, _ in container_limits())])


def _physical() -> int:
    if sys.platform == "win32":
        return sys.maxsize
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def container_limits(groups: str | None = None, mount: Path = Path("/sys/fs/cgroup")) -> list[tuple[int, int]]:
    """Return each memory limit of this process's control groups, with the bytes in use under it.

    `groups` is the text of /proc/self/cgroup. Memory that the system can drop, such as cached file contents, doesn't
    count as used. Both versions of control groups are read. Limits above the machine's memory are left out: version 1
    has one of 8 EiB where none is set.
    """
    if groups is None:
        try:
            groups = Path("/proc/self/cgroup").read_text(encoding="utf-8")
        except OSError:  # not Linux
            return []
    limits, machine = [], _physical()
    for line in groups.splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root, limit, used = mount, "memory.max", "memory.current"
        if controllers:
            root, limit, used = mount / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        own = root / group.strip("/")
        for folder in (own, *(parent for parent in own.parents if parent.is_relative_to(root))):
            # The group doesn't exist as seen from a container, or the limit is "max".
            with suppress(OSError, ValueError):
                most = int((folder / limit).read_text(encoding="utf-8"))
                if most > machine:
                    continue
                text = (folder / "memory.stat").read_text(encoding="utf-8")
                stat = dict(entry.split() for entry in text.splitlines())
                dropped = int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
                limits.append((most, int((folder / used).read_text(encoding="utf-8")) - dropped))
    return limits


def share_heaps(count: int) -> None:
    """Let all threads of this process use `count` heaps of glibc; other C libraries share theirs anyway."""
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_ARENA_MAX, count)
