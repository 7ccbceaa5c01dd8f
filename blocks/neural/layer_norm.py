from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, param, port

#: Threads for each row, as in the kernel.
THREADS = 256


class LayerNorm(Block, id="neural.layer_norm", tags=("normalize", "normalization", "transformer", "layer")):
    """Normalises each row to mean 0 and variance 1.

    out = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the mean and the variance of each row along the
    last axis. Both are computed in f64, so that rows with a mean far from 0 stay exact.
    """

    x: In[any_type] = port(dtype="number", doc="Rows along the last axis, [..., n], usually f32 or f16.")
    scale: In[any_type] = port(
        dtype="same(x)",
        shape="[x.last0]",
        optional=True,
        advised=False,
        doc="Factor of each column, [n]; 1 if not connected.",
    )
    bias: In[any_type] = port(
        dtype="same(x)",
        shape="[x.last0]",
        optional=True,
        advised=False,
        doc="Added to each column, [n]; 0 if not connected.",
    )
    out: Out[any_type] = port(dtype="same(x)", shape="same(x)", doc="The normalised rows, of the shape of x.")
    epsilon: float = param(1e-5, min=0, max=1, doc="Added to each variance, to avoid a division by 0 in constant rows.")

    kernel = Kernel("layer_norm.cu", entry="layer_norm")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread block per row."""
        size = self.x.last(0)
        arguments = (self.x, self.scale, self.bias, self.out, build.element_type(self.x), self.epsilon, size)
        build.launch(self.kernel, num_threads=self.x.size // size * THREADS, thread_block=THREADS, args=arguments)
