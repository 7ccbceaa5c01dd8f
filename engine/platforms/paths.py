r"""Paths as text, which a patch takes from one system to another.

Patches store forward slashes, which every system reads. A path of Windows with a drive, such as `C:\shots\sky.png`, is
`/C:/shots/sky.png` to an engine on another system, which has the file there in its mirror.
"""

import re
import sys
from pathlib import Path

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_DRIVE_ELSEWHERE = re.compile(r"/[A-Za-z]:/")
#: Paths that Windows takes as they are: with these, slashes are no separators.
_LITERAL = ("\\\\?\\", "\\\\.\\")
#: Names that stand for devices in every folder of Windows, also before a suffix.
_DEVICES = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:[.:].*)?", re.IGNORECASE | re.DOTALL
)
_REFUSED = re.compile(r'[<>:"|?*\\/\x00-\x1f]')
#: Windows refuses longer paths, unless they are literal or its registry allows them.
_MOST_LENGTH = 240


def path_of(text: str) -> Path:
    """Return the path that a text names, whichever system has written it."""
    if sys.platform == "win32":
        return Path(text[1:] if _DRIVE_ELSEWHERE.match(text) else text)
    if _DRIVE.match(text):
        return Path("/" + text.replace("\\", "/"))
    return Path(text.replace("\\", "/") if text.startswith("\\\\") else text)


def portable(text: str) -> str:
    """Return a path as patches store it: on Windows, backslashes become slashes; elsewhere names may hold them."""
    if sys.platform != "win32" or text.startswith(_LITERAL):
        return text
    return text.replace("\\", "/")


def parts_of(text: str) -> list[str]:
    """Return the names in a path of any system, without a drive, a root and steps to the folder above."""
    return [part for part in re.split(r"[\\/]+", _DRIVE.sub("", text)) if part not in ("", ".", "..")]


def why_refused(name: str) -> str:
    """Return why no file may have a name on this system; "" if it may."""
    if sys.platform != "win32":
        return ""
    if _DEVICES.fullmatch(name):
        return "Windows has a device of this name"
    if (found := _REFUSED.search(name)) is not None:
        return f"Windows allows no {found[0]!r} in a name"
    return "Windows allows no name that ends in a dot or a space" if name.endswith((".", " ")) else ""


def name_key(path: Path) -> str:
    """Return a text that is equal for paths of the same file; Windows and macOS mostly ignore case."""
    return str(path).casefold() if sys.platform in ("win32", "darwin") else str(path)


def reachable(path: str) -> str:
    """Return a path that the system can open, however long it is; `path` must be whole."""
    if sys.platform != "win32" or len(path) < _MOST_LENGTH or path.startswith(_LITERAL):
        return path
    path = path.replace("/", "\\")
    return f"\\\\?\\UNC\\{path[2:]}" if path.startswith("\\\\") else f"\\\\?\\{path}"
