"""The table of a run: as Markdown and JSON, and compared with an earlier one."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tests.benchmarks.side_by_side.contest import OURS, Row
from warploom.engine.device.device import DeviceInfo

#: The packages whose versions a table names.
PACKAGES = (
    "warploom",
    "numpy",
    "scipy",
    "numba",
    "torch",
    "jax",
    "warp-lang",
    "taichi",
    "cuda-cccl",
    "NodeGraphQt",
    "orange-canvas-core",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "opencv-python-headless",
)
#: Has a file for each kind of machine.
BASELINES = Path(__file__).parent / "baselines"
#: A ratio that has grown by so much since the earlier run is a regression.
WORSE = 1.1


def machine(title: str) -> dict[str, Any]:
    """Return what figures depend on: the device, the system and the versions of packages."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"device": title, "system": f"{platform.system()} {platform.machine()}", "python": platform.python_version(),
            "versions": versions}  # fmt: skip


def baseline_of(info: DeviceInfo) -> Path:
    """Return the file of the earlier run on a machine of this kind: the same GPU, or as many cores."""
    kind = f"host {info.cores} cores" if info.name == "host" else info.title
    return BASELINES / f"{re.sub('[^a-z0-9]+', '-', kind.lower())}.json"


def markdown(about: dict[str, Any], rows: Sequence[Row], ceiling: float) -> str:
    """Return the table as Markdown; `ceiling` is the bandwidth of a copy in bytes a second."""
    peers = list(dict.fromkeys(name for row in rows for name in (*row.times, *row.missing) if name != OURS))
    names = ", ".join(f"{name} {found}" for name, found in about["versions"].items())
    lines = [f"{about['device']}; Python {about['python']}; {names}. A copy moves {ceiling * 1e-9:.3g} GB/s.", ""]
    lines += ["| work | " + " | ".join((OURS, *peers, "ratio", "wanted", "of a copy")) + " |"]
    lines += ["|---" * (len(peers) + 5) + "|"]
    for row in rows:
        cells = [row.name, *(cell(row, name) for name in (OURS, *peers))]
        ratio, share = row.ratio, ""
        if row.moved_bytes and OURS in row.times:
            share = f"{row.moved_bytes / (row.times[OURS][1] * 1e-3) / ceiling:.2f}"
        cells += ["" if ratio is None else f"{ratio:.2f}" + (" **missed**" if ratio > row.wanted else "")]
        cells += [f"{row.wanted:g} x {row.against or 'the fastest'}", share]
        lines.append("| " + " | ".join(cells) + " |")
    missing = dict.fromkeys((name, why) for row in rows for name, why in row.missing.items())
    lines += ["", *(f"Missing: {name}: {why}." for name, why in missing)]
    return "\n".join(lines)


def cell(row: Row, name: str) -> str:
    """Return a program's median with its quartiles, and by how much its result differs."""
    if name not in row.times:
        return ""
    low, middle, high = row.times[name]
    text = f"{middle:.4g} ms ({low:.3g} to {high:.3g})"
    return text + (f", differs by {row.differs[name]:.1g}" if name in row.differs else "")


def write_json(path: Path, about: dict[str, Any], rows: Iterable[Row]) -> None:
    """Write a run, for `worse_than` and other programs."""
    path.write_text(
        json.dumps({**about, "rows": [asdict(row) | {"ratio": row.ratio} for row in rows]}, indent=1) + "\n"
    )


def read_ratios(path: Path) -> dict[str, float | None]:
    """Return the ratios of an earlier run by the names of its rows."""
    return {row["name"]: row["ratio"] for row in json.loads(path.read_text())["rows"]}


def worse_than(earlier: Mapping[str, float | None], rows: Iterable[Row]) -> list[str]:
    """Return a line for each row whose ratio is worse than in an earlier run.

    Ratios are compared, since the speed of a machine varies more than that of one program relative to another; and a
    ratio is worse only if that of our lower quartile is too.
    """
    found = []
    for row in rows:
        before, now, least = earlier.get(row.name), row.ratio, row.least_ratio
        if before is not None and now is not None and least is not None and least > WORSE * before:
            found.append(f"{row.name}: {now:.2f} x {row.against or 'the fastest'}, before {before:.2f} x")
    return found
