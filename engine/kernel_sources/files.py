"""Where kernel files are and how their text is read."""

from __future__ import annotations

from pathlib import Path

from engine.diagnostics import KernelError

#: The kernels that come with Warploom.
KERNELS_FOLDER = Path(__file__).parents[2] / "kernels"


def read_source(path: Path) -> str:
    """Return a kernel file's text; KernelError when it cannot be read."""
    try:
        return path.read_text("utf-8")
    except OSError as reason:
        raise KernelError(f"kernel file {path} must be readable, got: {reason.strerror}", file=str(path)) from None
    except UnicodeDecodeError as reason:
        line = reason.object.count(b"\n", 0, reason.start) + 1
        raise KernelError(f"{path.name} must be UTF-8 text, got other bytes", file=str(path), line=line) from None
