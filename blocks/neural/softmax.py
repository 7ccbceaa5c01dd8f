from warploom.api import Block, BlockBuilder, In, Out, any_type, dnn, param, port


class Softmax(Block, id="neural.softmax", tags=("probability", "attention", "classify", "cudnn", "layer")):
    """Converts scores to probabilities.

    out = exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1. The largest score is subtracted first
    to prevent overflow. With `log`, the output is the logarithm of the probabilities, which stays exact where a
    probability rounds to 0.
    """

    x: In[any_type] = port(doc="Scores, of any shape, f32 or f16.")
    out: Out[any_type] = port(dtype="same(x)", shape="same(x)", doc="Probabilities, of the same shape.")
    axis: int = param(
        -1,
        min=-8,
        max=7,
        structural=True,
        doc="Axis along which probabilities add up to 1; -1 is the last, 1 the channels of images.",
    )
    log: bool = param(False, structural=True, doc="Output the logarithms of the probabilities.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of cuDNN."""
        build.capture(dnn.Softmax(self.axis, self.log).on(x=self.x, out=self.out))
