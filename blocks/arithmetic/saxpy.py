from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class Saxpy(Block, id="math.saxpy", tags=("axpy", "blas", "linear")):
    """Scales `x` by `a` and adds `y`.

    out[i] = a * x[i] + y[i] for every element. Use it to blend or accumulate vectors; it is also the smallest complete
    example of a block with a live parameter. `x` and `y` must have the same shape.
    """

    x: In[f32] = port(doc="Operand to scale, of any shape.")
    y: In[f32] = port(shape="same(x)", doc="Operand to add, of the shape of x.")
    out: Out[f32] = port(shape="same(x)", doc="a * x + y.")
    a: float = param(2.0, min=-10, max=10, doc="Factor of x.")

    kernel = Kernel("saxpy.cu", entry="saxpy")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.launch(self.kernel, num_threads=self.out.size, args=(self.x, self.y, self.out, self.a, self.out.size))
