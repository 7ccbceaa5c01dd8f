import io

import numpy as np

from warploom.api import BlockBuilder, Moment, Out, Value, any_type, bf16, param, port, value_port
from warploom.blocks.buffer.element_types import ELEMENTS
from warploom.blocks.buffer.shape_text import shape_rule
from warploom.blocks.data.array_files import READ_ERRORS, RowsOfArray
from warploom.blocks.network.websocket_array import WebSocketArray

#: The types that arrays of numpy have.
_TYPES = {name: dtype for name, dtype in ELEMENTS.items() if dtype is not bf16}


class WebSocketArrayIn(
    WebSocketArray,
    id="io.websocket_array_in",
    title="WebSocket Array In",
    tags=("web", "browser", "page", "numpy", "npy", "network", "javascript", "receive", "buffer"),
):
    """Outputs the newest array that a web page or another program has sent under a name.

    An array is a binary message that is an NPY file, as `numpy.save` makes it. Its name is the path of the address: in
    Python, `websockets.sync.client.connect("ws://127.0.0.1:9980/array").send(file.getvalue())` sends a `BytesIO` to
    which it was saved. Each axis may be shorter than that of `shape`; 0 fills up the rest, and `rows` is the length of
    the first axis. Another array is refused with a warning, and the one before stays. Several blocks can share a port.
    The host 127.0.0.1 accepts this machine only, 0.0.0.0 the whole network. The library websockets must be installed.
    """

    out: Out[any_type] = port(shape="[1]", dtype="given", doc="The newest array; zeros before the first one.")
    rows: Value[int] = value_port(doc="Length of the first axis of the newest array.")
    received: Value[int] = value_port(doc="Number of arrays that came, also of those that were refused.")
    is_new: Value[bool] = value_port(doc="True in frames that show another array than before.")
    type: str = param("f32", choices=tuple(_TYPES), structural=True, doc="Element type of the output.")
    shape: str = param(
        "1024", structural=True, doc='Largest sizes of the axes, the slowest first, such as "1080, 1920".'
    )

    def describe(self, build: BlockBuilder) -> None:
        """Let each update give an array."""
        build.define(self.out, dtype=_TYPES[self.type], shape=shape_rule("shape", self.shape))
        build.feed(self.out)

    def start(self) -> None:
        """Show the newest array, even if it was shown before."""
        self.rows = self.received = 0

    def update(self, now: Moment) -> None:
        """Give the newest array, if it is another one."""
        newest = None if self.listener is None else self.listener.newest_array(self.name.strip("/ "))
        self.is_new = False
        if newest is None or newest[0] == self.received:
            return
        self.received, message = newest
        try:
            array = self._fitting(message)
        except READ_ERRORS as problem:
            self.notice = f"array {self.name} must be an NPY file that fits, got: {problem}"
            return
        self.notice, self.rows, self.is_new = "", array.shape[0], True
        layout = self.fed["out"]
        shown = np.zeros(layout.shape + layout.dtype.numpy.shape, layout.dtype.numpy.base)
        shown[tuple(map(slice, array.shape))] = array
        self.give("out", shown)

    def _fitting(self, message: bytes) -> np.ndarray:
        """Return the array in a message. Raise ValueError if it isn't one, or has another type or a larger shape."""
        if message[:6] != b"\x93NUMPY":
            raise ValueError(f"{len(message)} other bytes")
        array, layout = RowsOfArray(io.BytesIO(message)).all(), self.fed["out"]
        shape, element = layout.shape + layout.dtype.numpy.shape, layout.dtype.numpy.base
        if not np.can_cast(array.dtype, element, "same_kind"):
            raise ValueError(f"elements of type {array.dtype} for {element}")
        if array.ndim != len(shape) or any(size > most for size, most in zip(array.shape, shape, strict=True)):
            raise ValueError(f"shape {list(array.shape)} for at most {list(shape)}")
        return array
