import numpy as np

from warploom.api import DMX_CHANNELS, BlockBuilder, In, LiveBlock, Moment, Value, f32, param, port, value_port
from warploom.blocks.network.dmx import PROTOCOLS, DmxSender

#: The most packets a second, as DMX itself has.
_MOST_RATE = 44.0


class DmxOut(
    LiveBlock,
    id="io.dmx_out",
    title="DMX Out",
    tags=("light", "led", "fixture", "sacn", "art-net", "artnet", "e131", "universe", "network"),
):
    """Sends numbers to lights, by sACN or Art-Net.

    Each number is the level of a channel: 0 is off, 1 is 255. The newest levels are sent 44 times a second at most,
    also while they don't change. Without a host, sACN is sent to everybody who listens to the universe, and Art-Net to
    the whole network. sACN needs the library sacn.
    """

    levels: In[f32] = port(doc="Levels from 0 to 1 of the first channels, of any shape; 512 at most are sent.")
    sent: Value[int] = value_port(doc="Number of packets sent.")
    protocol: str = param("sACN", choices=tuple(PROTOCOLS), doc="How the levels are sent.")
    universe: int = param(1, min=0, max=63_999, structural=True, doc="Number of the universe; sACN begins at 1.")
    host: str = param("", doc="Address of the lights; empty for all.")
    priority: int = param(100, min=0, max=200, structural=True, doc="Priority among senders; only sACN has it.")

    def source(self) -> str:
        """Return the host, to which not every patch may send."""
        return f"dmx_out:{self.host.strip()}"

    def describe(self, build: BlockBuilder) -> None:
        """Have the levels sent after each frame, which needs no work on the device."""
        build.watch(self.levels)

    def start(self) -> None:
        """Open the socket."""
        self.sender: DmxSender | None = None
        if not self.is_replay:
            self.sender = DmxSender(self.protocol, self.universe, self.host.strip(), self.priority)
        self.sent, self.sent_s = 0, -1.0
        self.newest = np.zeros(0, np.uint8)

    def goes_on(self) -> bool:
        """Go on to send when the patch begins again."""
        return True

    def update(self, now: Moment) -> None:
        """Send the newest levels, if it is time."""
        if taken := self.taken("levels"):
            numbers = np.nan_to_num(taken[-1].array.reshape(-1)[:DMX_CHANNELS].astype(np.float32))
            self.newest = (numbers.clip(0, 1) * 255 + 0.5).astype(np.uint8)
        if self.sender is None or not self.newest.size:
            return
        if 0 <= now.time_s - self.sent_s < 1 / _MOST_RATE and self.sent:
            return
        self.notice = self.sender.send(self.newest)
        self.sent, self.sent_s = self.sent + 1, now.time_s

    def close(self) -> None:
        """Close the socket."""
        if self.sender is not None:
            self.sender.close()
