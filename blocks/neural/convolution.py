from warploom.api import Block, BlockBuilder, In, Out, any_type, dnn, param, port


class Convolution(Block, id="neural.convolution", tags=("conv2d", "cnn", "cudnn", "layer", "kernel", "correlate")):
    """Convolves images with learned weights: a layer of a convolutional network.

    Each output channel is a bias plus a sum over the input channels of its group. Each input channel is
    cross-correlated with its own kh x kw weights, as in PyTorch's conv2d and ONNX's Conv. Images are [n, channels,
    height, width], and 0 beyond the border. The output has (h + 2 padding - dilation (kh - 1) - 1) // stride + 1 rows,
    and a number of columns by the same formula. Elements are f32 or f16, summed in f32. For float4 images, use Weighted
    Filter.
    """

    x: In[any_type] = port(doc="Images, [n, channels, h, w], f32 or f16.")
    weights: In[any_type] = port(dtype="same(x)", doc="Weights, [k, channels / groups, kh, kw].")
    bias: In[any_type] = port(dtype="same(x)", optional=True, advised=False, doc="Added to each output channel, [k].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The result, [n, k, rows, columns].")
    stride_y: int = param(1, min=1, max=64, structural=True, doc="Rows from one position of the weights to the next.")
    stride_x: int = param(
        1, min=1, max=64, structural=True, doc="Columns from one position of the weights to the next."
    )
    padding_y: int = param(0, min=0, max=1024, structural=True, doc="Rows of zeros above and below.")
    padding_x: int = param(0, min=0, max=1024, structural=True, doc="Columns of zeros on both sides.")
    dilation_y: int = param(1, min=1, max=64, structural=True, doc="Rows from one weight to the next.")
    dilation_x: int = param(1, min=1, max=64, structural=True, doc="Columns from one weight to the next.")
    groups: int = param(
        1,
        min=1,
        max=65536,
        structural=True,
        doc="Number of groups; an output channel reads only the input channels of its group.",
    )
    relu: bool = param(False, structural=True, doc="Set negative results to 0.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of cuDNN."""
        stride, padding = (self.stride_y, self.stride_x), (self.padding_y, self.padding_x)
        dilation = self.dilation_y, self.dilation_x
        call = dnn.Convolution(stride, padding, dilation, self.groups, self.relu)
        build.capture(call.on(x=self.x, weights=self.weights, bias=self.bias, out=self.out))
