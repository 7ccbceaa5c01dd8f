from warploom.api import (
    BlockBuilder,
    In,
    LiveBlock,
    Moment,
    OpGraphSource,
    Value,
    float4,
    param,
    port,
    uchar4,
    value_port,
)
from warploom.blocks.io.pixels import PIXEL
from warploom.blocks.network.ndi import NdiOutput
from warploom.engine.diagnostics import PatchError


class NdiOut(
    LiveBlock, id="io.ndi_out", title="NDI Out", tags=("network", "video", "stream", "obs", "mixer", "spout", "syphon")
):
    """Sends an image to other programs and machines on the network, by NDI.

    They find it by its name. The newest picture is sent as sRGB; a picture that comes before the last one has left
    replaces those that wait. NDI compresses colours. Programs on this machine get pictures by NDI too: Spout and
    Syphon, which share them on the GPU, are parts of Windows and macOS programs, and there are no blocks for them. The
    library cyndilib must be installed.
    """

    image: In[float4] = port(dtype="picture", rank=2, doc="The image to send, linear RGBA, shape [height, width].")
    sent: Value[int] = value_port(doc="Number of pictures sent.")
    name: str = param("Warploom", doc="Name by which others find the picture.")
    rate: int = param(60, min=1, max=240, unit="1/s", structural=True, doc="Pictures a second that others expect.")

    encoded = OpGraphSource.of_expression(f"c = image{PIXEL}", output="pixels", output_type=uchar4, image=float4)

    def source(self) -> str:
        """Return the name, under which not every patch may send."""
        return f"ndi_out:{self.name.strip()}"

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        if not self.name.strip():
            raise PatchError("name must be a name by which others find the picture, got nothing")
        pixels = build.buffer("pixels", uchar4, shape="same(image)")
        build.compute(self.encoded, over=pixels)
        build.watch(pixels)

    def start(self) -> None:
        """Wait for the first picture, which has the size."""
        self.output: NdiOutput | None = None
        self.sent = 0

    def goes_on(self) -> bool:
        """Go on to send when the patch begins again."""
        return True

    def update(self, now: Moment) -> None:
        """Send the newest picture."""
        taken = self.taken("pixels")
        if not taken or self.is_replay:
            return
        picture = taken[-1].array
        height, width, _ = picture.shape
        if self.output is None or self.output.size != (width, height):
            self.close()
            self.output = NdiOutput(self.name.strip(), width, height, self.rate)
        self.output.send(picture)
        self.sent, self.notice = self.output.sent, self.output.notice

    def close(self) -> None:
        """Withdraw the source."""
        if self.output is not None:
            self.output.close()
