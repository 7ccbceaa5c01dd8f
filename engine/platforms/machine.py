"""Names of this machine: for the files that a process sees, and for connections to other machines."""

import getpass
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path


def place() -> str:
    """Return a text that is equal for two processes only if they see the same files.

    On Linux, it names the start of the machine, the namespace of its mounts, and the root. So a container, which sees
    other files, is another place; so is another machine, even if some folders are shared. Elsewhere, it is the name of
    the system and of the host.
    """
    if sys.platform == "win32":
        return f"Windows {socket.gethostname()}"
    root = Path("/").stat()
    machine = f"{sys.platform} {socket.gethostname()}"
    if sys.platform == "linux":
        with suppress(OSError):
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
            machine = f"{boot} {os.readlink('/proc/self/ns/mnt')}"  # noqa: PTH115 - not a path
    return f"{machine} {root.st_dev}:{root.st_ino}"


def person() -> str:
    """Return a name for this machine and user, which stays the same after a restart."""
    machine = socket.gethostname()
    if sys.platform == "linux":
        with suppress(OSError):
            machine = Path("/etc/machine-id").read_text(encoding="utf-8").strip()
    return f"{machine} {getpass.getuser()}"


def camera_names() -> dict[str, str]:
    """Return the names of cameras by their paths on Linux; elsewhere FFmpeg lists them."""
    places = sorted(Path("/sys/class/video4linux").glob("video*"), key=lambda place: (len(place.name), place.name))
    return {f"/dev/{each.name}": (each / "name").read_text("utf-8", "replace").strip() for each in places}


def camera_path(number: str) -> str:
    """Return the path of a camera on Linux."""
    return f"/dev/video{number}"
