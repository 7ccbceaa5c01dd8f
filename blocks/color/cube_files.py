"""Reads tables of colours from .cube files (Adobe, "Cube LUT Specification", 1.0)."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from warploom.api import read_bytes
from warploom.engine.diagnostics import PatchError, cut

#: The largest number of entries along an axis of a cube, and of a curve, as the specification has them.
MOST_CUBE, MOST_CURVE = 256, 65536


@dataclass(frozen=True)
class ColorTable:
    """A table of colours: f32 of shape (entries, 3), red fastest, over the range from `low` to `high`.

    A cube has size**3 entries; three curves have `size`.
    """

    entries: np.ndarray[Any, Any]
    size: int
    is_cube: bool
    low: tuple[float, ...] = (0.0, 0.0, 0.0)
    high: tuple[float, ...] = (1.0, 1.0, 1.0)


def load_cube(path: Path) -> ColorTable:
    """Return the table in a file. A PatchError names the file, and the line that is wrong."""
    try:
        held = read_bytes(path)
    except FileNotFoundError:
        raise PatchError(f"table of colours must exist, got {path}; choose another file, or put it there") from None
    except OSError as problem:
        raise PatchError(f"table of colours {path} must be readable, got: {problem.strerror or problem}") from None
    try:
        lines = held.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:  # as titles and comments of older programs are
        lines = held.decode("latin-1").splitlines()
    words: dict[str, tuple[float, ...]] = {}
    rows: list[tuple[float, ...]] = []
    for number, line in enumerate(lines, 1):
        text = line.split("#")[0].strip()
        if not text or text.startswith("TITLE"):
            continue
        name, *rest = text.split()
        is_word = name[0].isalpha()
        try:
            values = tuple(float(each) for each in (rest if is_word else [name, *rest]))
        except ValueError:
            values = ()
        if not (is_word or all(map(isfinite, values))) or len(values) != (
            2 if name.endswith("_INPUT_RANGE") else 1 if name.startswith("LUT_") else 3
        ):
            raise PatchError(f"line {number} of {path} must be a setting or three numbers, got {cut(text)!r}")
        if is_word:
            words[name] = values
        else:
            rows.append(values)
    return _checked(path, words, rows)


def _checked(path: Path, words: dict[str, tuple[float, ...]], rows: list[tuple[float, ...]]) -> ColorTable:
    sizes = [(name, words[name][0]) for name in ("LUT_1D_SIZE", "LUT_3D_SIZE") if name in words]
    if len(sizes) == 2:
        raise PatchError(f"table of colours {path} must have a cube or curves, got both; export the cube alone")
    if len(sizes) != 1:
        raise PatchError(f"table of colours {path} must have LUT_3D_SIZE or LUT_1D_SIZE once, got {len(sizes)} of them")
    (name, given), is_cube = sizes[0], sizes[0][0] == "LUT_3D_SIZE"
    if not (given.is_integer() and 2 <= given <= (MOST_CUBE if is_cube else MOST_CURVE)):
        raise PatchError(f"{name} of {path} must be 2 to {MOST_CUBE if is_cube else MOST_CURVE}, got {given:g}")
    size = int(given)
    if len(rows) != (count := size**3 if is_cube else size):
        raise PatchError(f"table of colours {path} must have {count:,} rows for its size, got {len(rows):,}")
    # Resolve names one range for the three colours, where the specification has DOMAIN_MIN and DOMAIN_MAX.
    least, most = words.get(name.replace("SIZE", "INPUT_RANGE"), (0.0, 1.0))
    low, high = words.get("DOMAIN_MIN", (least,) * 3), words.get("DOMAIN_MAX", (most,) * 3)
    if not all(np.isfinite([*low, *high])) or any(a >= b for a, b in zip(low, high, strict=True)):
        raise PatchError(f"DOMAIN_MIN of {path} must be below DOMAIN_MAX, got {low} and {high}")
    return ColorTable(np.array(rows, np.float32), size, is_cube, low, high)
