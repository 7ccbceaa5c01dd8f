"""The examples in small sizes, for tests of something other than their pictures."""

from pathlib import Path
from typing import Any

from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import EXAMPLES_FOLDER, load_patch, save_patch

_SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "jacobi": {"plate": {"shape": "17, 26"}},
    "nested": {"heights": {"shape": "41, 59"}, "velocities": {"shape": "41, 59"}},
    "particles": {"emitter": {"count": 2000}, "render": {"width": 161, "height": 90}},
}


def small(name: str) -> Patch:
    """Return an example with small buffers."""
    patch = load_patch(EXAMPLES_FOLDER / f"{name}.loom")
    for node, parameters in _SIZES[name].items():
        patch.set(node, **parameters)
    return patch


def small_file(name: str, folder: Path) -> Path:
    """Save an example with small buffers in a folder, and return its file."""
    path = folder / f"{name}.loom"
    save_patch(small(name), path)
    return path
