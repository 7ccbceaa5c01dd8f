from warploom.api import Block, BlockBuilder, In, Out, any_type, blas, port


class Scale(Block, id="linalg.scale", tags=("scal", "multiply", "normalise", "blas")):
    """Multiplies a vector by a number from device memory.

    x *= factor, in place. Use it to normalise a vector: connect `factor` to a Dot, a Norm or a formula. Elements are
    f32, f64, c64 or c128. For a factor from a slider use Scale Offset, which is fused with its neighbours into one
    kernel.
    """

    x: In[any_type] = port(doc="The vector to change in place, of any shape.")
    factor: In[any_type] = port(dtype="same(x)", shape="[1]", doc="One number, the factor.")
    out: Out[any_type] = port(inplace="x", dtype="same(x)", doc="The input x, changed in place.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of BLAS, which reads the factor from device memory."""
        build.capture(blas.Scal().on(x=self.out, alpha=self.factor))
