from engine.api import Block, BlockBuilder, In, Out, any_type, dnn, param, port


class Softmax(Block, id="neural.softmax", tags=("probability", "attention", "classify", "cudnn", "layer")):
    """Turn scores into probabilities.

    out = exp(x) / sum(exp(x)) along an axis: positive numbers that add up to 1. The largest score is subtracted first,
    so that none overflows. With `log`, the logarithms of the probabilities, which stay exact where these round to 0.
    """

    x: In[any_type] = port(doc="Scores, of any shape, f32 or f16.")
    out: Out[any_type] = port(dtype="same(x)", shape="same(x)", doc="Probabilities, of the same shape.")
    axis: int = param(-1, min=-8, max=7, structural=True, doc="Axis to add up; -1 is the last, 1 that of channels.")
    log: bool = param(False, structural=True, doc="Give the logarithms.")

    def describe(self, build: BlockBuilder) -> None:
        """One call of cuDNN."""
        build.capture(dnn.Softmax(self.axis, self.log).on(x=self.x, out=self.out))
