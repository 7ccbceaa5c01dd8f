import time

import numpy as np

from warploom.api import BlockBuilder, In, Moment, Value, any_type, bf16, from_bf16, param, port, value_port
from warploom.blocks.network.websocket_array import WebSocketArray


class WebSocketArrayOut(
    WebSocketArray,
    id="io.websocket_array_out",
    title="WebSocket Array Out",
    tags=("web", "browser", "page", "numpy", "npy", "network", "javascript", "send", "buffer"),
):
    """Sends a buffer to all web pages and programs that are connected under its name.

    The name is the path of their address, as in `new WebSocket("ws://127.0.0.1:9980/array")`. Each message is an NPY
    file, which names the element type and the shape: `numpy.load(io.BytesIO(message))` reads it. A page gets the newest
    array when it connects; one that reads slowly gets the newest ones only. Numbers of bf16, which files of numpy lack,
    become f32. Several blocks can share a port. The host 127.0.0.1 accepts this machine only, 0.0.0.0 the whole
    network. The library websockets must be installed.
    """

    x: In[any_type] = port(doc="The buffer to send, of any shape.")
    sent: Value[int] = value_port(doc="Number of arrays sent.")
    rate: float = param(30.0, min=0, max=1000, unit="1/s", doc="Most arrays a second.")

    def describe(self, build: BlockBuilder) -> None:
        """Get the buffer after each frame."""
        build.watch(self.x)

    def start(self) -> None:
        """Send the next array at once."""
        self.sent, self._due_s = 0, 0.0

    def goes_on(self) -> bool:
        """Go on to send when the patch begins again."""
        return True

    def update(self, now: Moment) -> None:
        """Send the newest contents, if it is time for that."""
        taken = self.taken("x")
        time_s = time.monotonic()
        if not taken or self.listener is None or not self.rate or time_s < self._due_s:
            return
        # In steps of the rate, so that a rate between those of frames is met on average.
        self._due_s = max(self._due_s + 1 / self.rate, time_s)
        array = taken[-1].array
        array = from_bf16(array) if self.watched["x"].dtype is bf16 else np.array(array, order="C")
        self.listener.send((self.name.strip("/ "), array))
        self.sent += 1
