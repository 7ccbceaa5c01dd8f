from warploom.api import Block, BlockBuilder, In, Out, any_type, dnn, param, port


class Pool(Block, id="neural.pool", tags=("maxpool", "avgpool", "average", "downsample", "cudnn", "layer")):
    """Shrinks images to the largest value, or the mean, under a moving window.

    Channels are pooled separately. Positions beyond the border are ignored, and a NaN under the window gives NaN. The
    output has (h + 2 padding - window) // stride + 1 rows, and a number of columns by the same formula. Elements are
    f32 or f16.
    """

    x: In[any_type] = port(doc="Images, [n, channels, h, w], f32 or f16.")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="One element for each position of the window.")
    mode: str = param("max", choices=("max", "average"), doc="Result for the elements under the window.")
    window_y: int = param(2, min=1, max=256, structural=True, doc="Height of the window.")
    window_x: int = param(2, min=1, max=256, structural=True, doc="Width of the window.")
    stride_y: int = param(2, min=1, max=256, structural=True, doc="Rows from one position of the window to the next.")
    stride_x: int = param(
        2, min=1, max=256, structural=True, doc="Columns from one position of the window to the next."
    )
    padding_y: int = param(
        0, min=0, max=128, structural=True, doc="Rows added beyond the border, at most half a window."
    )
    padding_x: int = param(
        0, min=0, max=128, structural=True, doc="Columns added beyond the border, at most half a window."
    )

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of cuDNN."""
        window, stride = (self.window_y, self.window_x), (self.stride_y, self.stride_x)
        padding = self.padding_y, self.padding_x
        build.capture(dnn.Pooling(window, stride, padding, self.mode == "average").on(x=self.x, out=self.out))
