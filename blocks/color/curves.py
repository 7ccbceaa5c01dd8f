import numpy as np

from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port
from warploom.blocks.color.curve_points import STRAIGHT, Numbers, along_curve, read_points

#: What the curves are made for, and the number of their entries on the device, which interpolates between them.
SPACES, _ENTRIES = ("sRGB", "linear"), 4096


class Curves(Block, id="image.curves", tags=("tone curve", "contrast", "grade", "grading", "rgb", "film", "spline")):
    """Changes brightness and colours by curves through points.

    Drag the points in the inspector: a curve that is steep in its middle gives contrast, and one whose ends move
    fades. `all` applies to red, green and blue, or to the luminance alone, which leaves hues as they are; then each of
    `red`, `green` and `blue` applies to its own. Between its points, a curve has no bumps. Light above 1 is treated as
    1. As in photo editors, the curves are for encoded light, by sRGB's curve, unless `space` is linear.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image, linear RGBA, shape [height, width].")
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The changed image, of the same size.")
    all: str = param(STRAIGHT, language="curve", doc="The curve of all colours: points from 0 0 to 1 1, by commas.")
    red: str = param(STRAIGHT, language="curve", doc="The curve of red.")
    green: str = param(STRAIGHT, language="curve", doc="The curve of green.")
    blue: str = param(STRAIGHT, language="curve", doc="The curve of blue.")
    by: str = param("colours", choices=("colours", "luminance"), doc="What the curve of all colours applies to.")
    space: str = param("sRGB", choices=SPACES, doc="Light that the curves are made for.")
    amount: float = param(1.0, min=0, max=1, doc="Share of the new colours: 0 leaves the image as it is.")

    kernel = Kernel("lut.cu", entry="along_curves")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel; the curves are uploaded when they change."""
        light = np.linspace(0, 1, _ENTRIES) ** 2  # the device looks up square roots, which costs less than sRGB's curve
        whole, *own = (read_points(getattr(self, name), name) for name in ("all", "red", "green", "blue"))
        is_encoded, by_luminance = self.space == "sRGB", self.by == "luminance"
        codes = _encoded(light) if is_encoded else light
        changed = along_curve(whole, codes)
        columns = [changed, *(along_curve(points, codes if by_luminance else changed) for points in own)]
        entries = np.stack([_decoded(each) if is_encoded else each for each in columns], axis=1).astype(np.float32)
        table = build.buffer("table", f32, f"[{_ENTRIES}, 4]", state=True, initial=entries)
        args = (self.image, table, self.out, _ENTRIES, by_luminance, self.amount, self.out.size)
        build.launch(self.kernel, num_threads=self.out.size, args=args)


def _encoded(light: Numbers) -> Numbers:
    """Return light from 0 to 1 by sRGB's curve."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def _decoded(codes: Numbers) -> Numbers:
    return np.where(codes <= 0.04045, codes / 12.92, ((codes + 0.055) / 1.055) ** 2.4)
