"""The texts of kernel files."""

from pathlib import Path

from warploom.engine.diagnostics import KernelError
from warploom.engine.readings import content


def read_source(path: Path) -> str:
    """Return a kernel file's text. Raise KernelError when it cannot be read."""
    held = content(path)
    if isinstance(held, str):
        raise KernelError(f"kernel file {path} must be readable, got: {held}", file=str(path))
    try:
        return held.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as reason:
        line = held.count(b"\n", 0, reason.start) + 1
        raise KernelError(f"{path.name} must be UTF-8 text, got other bytes", file=str(path), line=line) from None
