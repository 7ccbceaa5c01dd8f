from pathlib import Path

from warploom.api import Block, BlockBuilder, In, Kernel, float4, param, port
from warploom.blocks.geometry.files.shape_files import encode_points
from warploom.engine.diagnostics import Incomplete, PatchError


class SavePoints(Block, id="geometry.save_points", tags=("cloud", "3d", "ply", "file", "write", "export")):
    """Saves points and their colours to a PLY file when outputs are saved.

    Positions are stored as floats, and colours as sRGB with 8 bits. The file is written by Save Outputs in the editor
    and at the end of `warploom run`, not in each frame. A file that this patch has not written is overwritten only if
    you allow it.
    """

    points: In[float4] = port(rank=1, doc="Positions x, y, z and a number that is left out, shape [points].")
    colors: In[float4] = port(
        shape="same(points)", optional=True, advised=False, doc="Linear RGBA; white without a connection."
    )
    file: Path = param("points.ply", files="save points", doc="File to write; its name ends in .ply.")

    pack = Kernel("cloud.cu", entry="pack_cloud")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point, which puts both beside each other for the file."""
        if not str(self.file):
            raise Incomplete("file", "name a file of points")
        if Path(self.file).suffix.lower() != ".ply":
            raise PatchError(f"file of points must end in .ply, got {self.file}")
        count = self.points.size
        cloud = build.buffer("cloud", float4, "[2, points.size]")
        build.launch(self.pack, num_threads=count, args=(self.points, self.colors, cloud, count))
        build.save(cloud, str(self.file), encode=encode_points)
