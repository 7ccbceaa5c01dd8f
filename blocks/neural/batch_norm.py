from warploom.api import Block, BlockBuilder, In, Out, any_type, dnn, f32, param, port


class BatchNorm(Block, id="neural.batch_norm", tags=("normalize", "normalization", "cnn", "cudnn", "layer")):
    """Normalises each channel with the mean and variance measured in training.

    out = (x - mean) / sqrt(variance + epsilon) * scale + bias, with one element of mean, variance, scale and bias for
    each channel. `mean` and `variance` are the running statistics of a trained network; the block does not measure
    them.
    """

    x: In[any_type] = port(doc="Images or vectors, [n, channels, ...], f32 or f16.")
    mean: In[f32] = port(rank=1, doc="Mean of each channel.")
    variance: In[f32] = port(rank=1, doc="Variance of each channel.")
    scale: In[f32] = port(rank=1, doc="Factor of each normalised channel.")
    bias: In[f32] = port(rank=1, doc="Added to each scaled channel.")
    out: Out[any_type] = port(dtype="same(x)", shape="same(x)", doc="The normalised channels, of the shape of x.")
    epsilon: float = param(1e-5, min=0, max=1, structural=True, doc="Added to each variance, to avoid a division by 0.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of cuDNN."""
        numbers = {"mean": self.mean, "variance": self.variance, "scale": self.scale, "bias": self.bias}
        build.capture(dnn.BatchNormalization(self.epsilon).on(x=self.x, out=self.out, **numbers))
