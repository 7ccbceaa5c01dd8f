from warploom.api import Moment, Value, ValueBlock, dmx_name, param, value_port
from warploom.blocks.network.dmx import PROTOCOLS


class DmxIn(
    ValueBlock,
    id="value.dmx_in",
    title="DMX In",
    tags=("light", "desk", "console", "sacn", "art-net", "artnet", "e131", "universe", "network"),
):
    """Outputs a channel of a lighting desk, received by sACN or Art-Net.

    The level 255 becomes 1. With two channels, the next one is added as the fine part. Of several senders by sACN, the
    one with the highest priority is heard. sACN needs the library sacn.
    """

    value: Value[float] = value_port(doc="The level from 0 to 1; default before the first packet.")
    raw: Value[int] = value_port(doc="The level from 0 to 255, or to 65535 with two channels.")
    protocol: str = param("sACN", choices=tuple(PROTOCOLS), doc="How the desk sends.")
    universe: int = param(1, min=0, max=32767, structural=True, doc="Number of the universe; sACN begins at 1.")
    channel: int = param(1, min=1, max=512, structural=True, doc="Number of the channel, from 1.")
    fine: bool = param(False, structural=True, doc="Whether the next channel holds the fine part.")
    default: float = param(0.0, min=0, max=1, doc="Output before the first packet.")

    def source(self) -> str:
        """Return the name of the universe to listen to."""
        return f"{PROTOCOLS[self.protocol]}:{self.universe}"

    def check(self) -> None:
        """Compute the names of the channels once."""
        channels = (self.channel, self.channel + 1) if self.fine else (self.channel,)
        self.names = [dmx_name(PROTOCOLS[self.protocol], self.universe, channel) for channel in channels]

    def update(self, now: Moment) -> None:
        """Read the table of inputs."""
        levels = [self.controls.get(name) for name in self.names]
        self.raw = 0
        for level in levels:
            self.raw = 256 * self.raw + round(level or 0)
        self.value = self.default if levels[0] is None else self.raw / (256 ** len(levels) - 1)
