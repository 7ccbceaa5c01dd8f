from collections.abc import Callable
from functools import partial
from math import floor
from pathlib import Path
from typing import BinaryIO

import numpy as np

from warploom.api import BlockBuilder, Moment, Out, f32, float4, open_file, param, port
from warploom.blocks.data.rows_ahead import Array, PieceBlock, Rows
from warploom.blocks.geometry.files.ply_files import PlyPoints
from warploom.blocks.geometry.files.scan_files import SCANS, Scan
from warploom.blocks.geometry.files.shape_files import FITS, attribute_problem, fitted, shape_problem, turned_up
from warploom.engine.diagnostics import Incomplete, PatchError

#: Choices of what selects the first point.
SELECTIONS = ("time", "point")
_PLY = ".ply"


class PlayPoints(
    PieceBlock,
    id="geometry.play_points",
    tags=("cloud", "lidar", "scan", "3d", "las", "laz", "ply", "file", "open", "stream", "large"),
):
    """Goes through the points of a cloud, which may be larger than memory.

    The outputs have some points of a LAS, LAZ or binary PLY file from a point on. By "time", the first point is the
    time multiplied by the rate; by "point", it is set or driven. Points keep their places in the whole cloud, whose
    bounding box is in the header of scans; a PLY file is read once to know it, unless `fit` keeps positions as stored.
    Pieces are read ahead on another thread, and only they are in memory. While the patch plays, a piece that isn't read
    in time is shown as soon as it is. For a cloud that fits into memory, use Load Points.
    """

    points: Out[float4] = port(shape="[most_points]", doc="Positions x, y, z, 1, shape [points].")
    colors: Out[float4] = port(shape="[most_points]", doc="Linear RGBA, white if the file has none, shape [points].")
    value: Out[f32] = port(shape="[most_points]", doc="The attribute of each point, 0 without one, shape [points].")
    file: Path = param("", files="open points", doc="The file; a relative path starts at the patch's folder.")
    fit: str = param(
        "unit size", choices=FITS, structural=True, doc="Whether positions are moved to the origin, and scaled."
    )
    up: str = param("y", choices=("y", "z"), structural=True, doc="The axis of the file that points up.")
    attribute: str = param(
        "", structural=True, doc="Name of another number of each point, such as intensity; empty for none."
    )
    most_points: int = param(
        100_000, min=1, max=1_000_000_000, structural=True, doc="Number of points that are shown together, or all."
    )
    by: str = param("time", choices=SELECTIONS, doc="What selects the first point.")
    rate: float = param(100_000.0, min=0, max=1e9, unit="1/s", doc="By time: points a second.")
    point: int = param(0, min=0, max=1_000_000_000, doc="By point: number of the first point from 0.")

    def describe(self, build: BlockBuilder) -> None:
        """Let each update give a piece."""
        if not str(self.file):
            raise Incomplete("file", "name a cloud of points")
        try:
            file, rows = self.opener()()
            file.close()
        except Exception as problem:
            raise self.problem(problem) from problem
        assert rows.count is not None
        for output in (self.points, self.colors, self.value):
            build.define(output, shape=f"[{min(self.most_points, rows.count)}]")
            build.feed(output)

    @property
    def size(self) -> int:
        """The number of points that are shown together."""
        return self.fed["points"].shape[0]

    def opener(self) -> Callable[[], tuple[BinaryIO, Rows]]:
        """Return what opens the file."""
        return partial(_open_points, Path(self.file), self.fit, self.up, self.attribute)

    def problem(self, problem: Exception) -> PatchError:
        """Return the error that names the file."""
        return shape_problem(Path(self.file), problem)

    def wanted(self, now: Moment) -> int:
        """Return the first point, by time or as it is set."""
        return floor(now.time_s * self.rate + 1e-6) if self.by == "time" else self.point

    def show(self, rows: Array) -> None:
        """Give the points."""
        self.give("points", rows[:, :4])
        self.give("colors", rows[:, 4:8])
        self.give("value", rows[:, 8])


class _PointRows:
    """The points of a file as rows of 9 numbers: x, y, z, 1, linear RGBA, the attribute."""

    layout = np.dtype(np.float32), (9,)

    def __init__(self, file: BinaryIO, suffix: str, fit: str, up: str, attribute: str) -> None:
        self._scan = PlyPoints(file) if suffix == _PLY else Scan(file)
        self.count: int | None = self._scan.count
        self._fit, self._up, self._attributes = fit, up, [attribute] if attribute else []
        if attribute and attribute not in self._scan.attributes:
            raise attribute_problem(attribute, self._scan.attributes)

    def read(self, first: int, count: int | None) -> Array:
        """Return rows; what damage raises is raised as ValueError."""
        scan = self._scan
        if first >= scan.count:
            return np.empty((0, 9), np.float32)
        try:
            part = scan.read(first, scan.count if count is None else count, self._attributes)
        except Exception as problem:
            raise ValueError(str(problem) or type(problem).__name__) from problem
        rows = np.zeros((len(part.points), 9), np.float32)
        is_stored = self._fit == FITS[0]
        rows[:, :3] = part.points if is_stored else fitted(part.points, self._fit, scan.low, scan.high)
        rows[:, 3] = 1
        rows[:, :4] = turned_up(rows[:, :4], self._up)
        rows[:, 4:8] = part.colours
        for numbers in part.attributes.values():
            rows[:, 8] = numbers
        return rows


def _open_points(path: Path, fit: str, up: str, attribute: str) -> tuple[BinaryIO, Rows]:
    if (suffix := path.suffix.lower()) not in (*SCANS, _PLY):
        raise PatchError(f"file must end in {', '.join((*SCANS, _PLY))}, got {path}; other clouds are for Load Points")
    file = open_file(path)
    try:
        return file, _PointRows(file, suffix, fit, up, attribute)
    except BaseException:
        file.close()
        raise
