from pathlib import Path

from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port
from warploom.blocks.color.cube_files import load_cube
from warploom.engine.diagnostics import Incomplete

#: What the table is made for.
SPACES = ("sRGB", "linear")


class Lut(Block, id="image.lut", title="LUT", tags=("cube", "look up table", "grade", "grading", "look", "film")):
    """Changes the colours of an image by a table from a .cube file.

    Reads cubes (LUT_3D_SIZE) and curves (LUT_1D_SIZE) with their domain, as DaVinci Resolve, Photoshop and others write
    them. Between its entries a cube is interpolated in tetrahedra; beyond its domain, the nearest colour of it counts.
    Most tables are made for encoded pictures: the image's light is encoded for the table by sRGB's curve, and decoded
    after it. Alpha does not change.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(
        dtype="same(image)", shape="same(image)", doc="The image in other colours, of the same size."
    )
    file: Path = param("", files="open lut", doc="The file; a relative path starts at the patch's folder.")
    space: str = param("sRGB", choices=SPACES, doc="Colours that the table is made for.")
    amount: float = param(1.0, min=0, max=1, doc="Share of the new colours: 0 leaves the image as it is.")

    kernel = Kernel("lut.cu", entry="look_up")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel; the table is uploaded once."""
        if not str(self.file):
            raise Incomplete("file", "name a .cube file")
        found, count = load_cube(Path(self.file)), self.out.size
        entries = found.entries.ravel()
        table = build.buffer("table", f32, f"[{entries.size}]", state=True, initial=entries)
        made = (found.size, int(found.is_cube), int(self.space == "sRGB"), *found.low, *found.high)
        build.launch(self.kernel, num_threads=count, args=(self.image, table, self.out, *made, self.amount, count))
