from functools import cache

from warploom.api import Block, BlockBuilder, In, OpGraphSource, Out, float4, param, port

_HUE = """
most = max(image.x, max(image.y, image.z))
least = min(image.x, min(image.y, image.z))
range = most - least
from_red = (image.y - image.z) / range
from_green = (image.z - image.x) / range + 2
from_blue = (image.x - image.y) / range + 4
sextant = from_red if most == image.x else (from_green if most == image.y else from_blue)
hue = 0 if range == 0 else sextant % 6 / 6"""
#: The lines of each conversion, which set `c` to the new first three channels; alpha does not change.
CONVERSIONS = {
    "rgb to hsv": f"""{_HUE}
c = vec(hue, 0 if range == 0 else range / most, most)""",
    "hsv to rgb": """
place = (6 * image.x + vec(5, 3, 1)) % 6
c = image.z - image.z * image.y * clamp(min(place, 4 - place), 0, 1)""",
    "rgb to hls": f"""{_HUE}
sum = most + least
saturation = range / sum if sum <= 1 else range / (2 - sum)
c = vec(hue, sum / 2, 0 if range == 0 else saturation)""",
    "hls to rgb": """
place = (12 * image.x + vec(0, 8, 4)) % 12
c = image.y - image.z * min(image.y, 1 - image.y) * clamp(min(place - 3, 9 - place), -1, 1)""",
    "rgb to yuv": """
y = 0.299 * image.x + 0.587 * image.y + 0.114 * image.z
c = vec(y, 0.492 * (image.z - y), 0.877 * (image.x - y))""",
    "yuv to rgb": """
red = image.x + image.z / 0.877
blue = image.x + image.y / 0.492
c = vec(red, (image.x - 0.299 * red - 0.114 * blue) / 0.587, blue)""",
}


@cache
def _converted(conversion: str) -> OpGraphSource:
    return OpGraphSource.of_expression(f"{CONVERSIONS[conversion]}\nvec(c.x, c.y, c.z, image.w)", image=float4)


class ConvertColor(Block, id="image.convert_color", tags=("hsv", "hls", "hsl", "yuv", "hue", "color space")):
    """Converts colours between RGB and HSV, HLS or YUV.

    The three numbers of a colour space are stored in place of red, green and blue. HSV has hue, saturation and value;
    HLS has hue, lightness and saturation; YUV has Y = 0.299 R + 0.587 G + 0.114 B, U = 0.492 (B - Y) and V = 0.877 (R -
    Y). Hue goes from 0 (red) through green and blue to 1 (red again). RGB values are linear light and are not encoded
    first. Alpha does not change.
    """

    image: In[float4] = port(
        dtype="picture", rank=2, doc="The image to convert, shape [height, width]; HLS takes colours from 0 to 1."
    )
    out: Out[float4] = port(dtype="same(image)", shape="same(image)", doc="The converted image, of the same size.")
    conversion: str = param(
        "rgb to hsv", choices=tuple(CONVERSIONS), doc="Colour space of the input, and of the output."
    )

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        build.compute(_converted(self.conversion), over=self.out)
