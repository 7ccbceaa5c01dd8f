"""Checks the Python packages and system libraries that the editor needs; a missing one gives one message with its
remedy.
"""

import ctypes
import importlib
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from warploom.engine.diagnostics import WarploomError

#: The Debian and Ubuntu packages with the libraries that PySide6 and its X11 plugin load from the system.
PACKAGES = (
    "libegl1 libgl1 libglib2.0-0 libfontconfig1 libdbus-1-3 libxkbcommon0 libxkbcommon-x11-0 libxcb-cursor0 "
    "libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0 libxcb-xkb1"
)

#: The modules of the extra `editor`.
MODULES = ("PySide6", "NodeGraphQt", "Qt", "packaging", "qtawesome", "pyqtgraph", "pygments")


def has_display() -> bool:
    """True when there is a screen on which to show a window."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_qt() -> None:
    """Raise a WarploomError with a command that helps, unless the editor's libraries are there and Qt can be loaded."""
    if missing := [name for name in MODULES if find_spec(name) is None]:
        raise WarploomError(
            f"the editor must have its libraries, got no {', '.join(missing)}; install them by: "
            f"{Path(sys.executable).name} -m pip install 'warploom[editor]'; `warploom run` works without them"
        )
    try:
        widgets = importlib.import_module("PySide6.QtWidgets")
        if _uses_x11():
            # Qt ends the process when its X11 plugin lacks a library, so the plugin is loaded here first.
            ctypes.CDLL(str(Path(str(widgets.__file__)).parent / "Qt/plugins/platforms/libqxcb.so"))
    except (ImportError, OSError) as problem:
        raise WarploomError(explain(str(problem))) from problem


def explain(problem: str) -> str:
    """Return the message for a failure to load Qt: the missing library and the command that installs it."""
    missing = re.search(r"(\S+\.so[.\d]*): cannot open shared object", problem)
    if missing is None:
        return f"the editor must be able to load PySide6, got: {problem}"
    return (
        f"the editor must find Qt's system libraries, got no {missing[1]}; on Debian or Ubuntu run: "
        f"sudo apt-get install {PACKAGES}"
    )


def _uses_x11() -> bool:
    chosen = os.environ.get("QT_QPA_PLATFORM", "")
    has_x11 = bool(os.environ.get("DISPLAY")) and not os.environ.get("WAYLAND_DISPLAY")
    return sys.platform.startswith("linux") and (chosen == "xcb" or (not chosen and has_x11))
