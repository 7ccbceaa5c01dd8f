from pathlib import Path

import numpy as np

from warploom.api import Block, BlockBuilder, Out, f32, float4, param, port
from warploom.blocks.geometry.files.shape_files import CLOUDS, FITS, attribute_problem, load_shape, turned_up
from warploom.engine.diagnostics import Incomplete


class LoadPoints(Block, id="geometry.load_points", tags=("cloud", "lidar", "scan", "3d", "las", "ply", "file", "open")):
    """Loads a cloud of points from a file.

    Reads PLY, LAS, LAZ, XYZ, and the points of meshes. The middle of the cloud becomes the origin unless `fit` says
    otherwise; that is done in double precision, so that coordinates of a map keep their digits. In scans, z often
    points up; `up` turns the cloud so that y does, as Render Cloud expects. With `first_point` or `most_points`, only
    these points of LAS and LAZ are read; they keep their places in the whole cloud. To go through a scan while the
    patch plays, use Play Points. A relative path starts at the patch file's folder.
    """

    points: Out[float4] = port(shape="data", rank=1, doc="Positions x, y, z, 1, shape [points].")
    colors: Out[float4] = port(shape="data", rank=1, doc="Linear RGBA, white if the file has none, shape [points].")
    value: Out[f32] = port(shape="data", rank=1, doc="The attribute of each point, 0 without one, shape [points].")
    file: Path = param("", files="open points", doc="The file; a relative path starts at the patch's folder.")
    fit: str = param("unit size", choices=FITS, doc="Whether positions are moved to the origin, and scaled.")
    up: str = param("y", choices=("y", "z"), doc="The axis of the file that points up.")
    first_point: int = param(0, min=0, max=1_000_000_000, structural=True, doc="The first point to load, from 0.")
    most_points: int = param(0, min=0, max=1_000_000_000, structural=True, doc="Most points to load; 0 loads all.")
    attribute: str = param("", doc="Name of another number of each point, such as intensity; empty for none.")

    def describe(self, build: BlockBuilder) -> None:
        """Provide contents, which are uploaded once and need no work in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name a cloud of points")
        shape = load_shape(Path(self.file), self.fit, CLOUDS, self.first_point, self.most_points)
        points, values = turned_up(shape.points, self.up), np.zeros(len(shape.points), np.float32)
        if self.attribute:
            if self.attribute not in shape.attributes:
                raise attribute_problem(self.attribute, shape.attributes)
            values = shape.attributes[self.attribute]
        build.provide(self.points, points)
        build.provide(self.colors, shape.colours)
        build.provide(self.value, values)
