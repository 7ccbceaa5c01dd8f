from collections.abc import Mapping

from warploom.api import (
    BlockBuilder,
    LiveBlock,
    Moment,
    OpGraphSource,
    Out,
    Value,
    float4,
    param,
    port,
    uchar4,
    value_port,
)
from warploom.blocks.network.ndi import NdiInput, source_names


class NdiIn(
    LiveBlock,
    id="io.ndi_in",
    title="NDI In",
    tags=("network", "video", "camera", "stream", "obs", "mixer", "spout", "syphon"),
):
    """Outputs the pictures of another program or machine on the network, by NDI.

    The newest picture is taken in each frame, and scaled to the size of the output by taking the nearest pixels. The
    source is looked for by a part of its name, and again after it is gone. For Spout and Syphon, which Windows and
    macOS programs use, there are no blocks: such a program needs NDI too. The library cyndilib must be installed.
    """

    out: Out[float4] = port(shape="[height, width]", doc="The newest picture, linear RGBA; black before the first one.")
    received: Value[int] = value_port(doc="Number of pictures received.")
    name: str = param("", offers=True, doc="Part of the source's name; empty takes the first one.")
    width: int = param(1920, min=1, max=8192, unit="px", structural=True, doc="Width of the picture.")
    height: int = param(1080, min=1, max=8192, unit="px", structural=True, doc="Height of the picture.")

    # The sRGB curve (IEC 61966-2-1).
    graph = OpGraphSource.of_expression(
        "c = float(pixels) / 255\n"
        "light = c.xyz / 12.92 if c.xyz <= 0.04045 else ((c.xyz + 0.055) / 1.055) ** 2.4\n"
        "vec(light.x, light.y, light.z, c.w)",
        pixels=uchar4,
    )

    def source(self) -> str:
        """Return the source, which not every patch may receive."""
        return f"ndi_in:{self.name.strip()}"

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel, which makes light of the bytes."""
        pixels = build.buffer("pixels", uchar4, "[height, width]")
        build.feed(pixels)
        build.compute(self.graph, over=self.out)

    @classmethod
    def offered(cls, parameter: str) -> Mapping[str, str]:
        """Return the sources on the network."""
        return {name: name for name in source_names()}

    def start(self) -> None:
        """Begin to look for the source."""
        self.received = 0
        self.input = None if self.is_replay else NdiInput(self.name.strip(), self.width, self.height)

    def goes_on(self) -> bool:
        """Go on to receive."""
        self.received = 0
        return True

    def update(self, now: Moment) -> None:
        """Take the newest picture."""
        if self.input is None:
            return
        self.notice = self.input.notice
        newest = self.input.newest
        if newest is not None and newest[1] != self.received:
            picture, self.received = newest
            self.give("pixels", picture)

    def close(self) -> None:
        """Leave the source."""
        if self.input is not None:
            self.input.close()
