from engine.api import Block, BlockBuilder, In, Out, any_type, blas, port


class Scale(Block, id="linalg.scale", tags=("scal", "multiply", "normalise", "blas")):
    """Multiply a vector by a number that is worked out on the device.

    x *= factor, in place, as when a vector is brought to length one. The factor comes from Dot, Norm or a formula.
    Elements are f32, f64, c64 or c128. For a factor from a slider use Scale Offset, which joins its neighbours in one
    kernel.
    """

    x: In[any_type] = port(doc="What is multiplied, of any shape.")
    factor: In[any_type] = port(dtype="same(x)", shape="[1]", doc="One number, the factor.")
    out: Out[any_type] = port(inplace="x", dtype="same(x)", doc="The changed x.")

    def describe(self, build: BlockBuilder) -> None:
        """One call of BLAS, which reads the factor from device memory."""
        build.capture(blas.Scal().on(x=self.out, alpha=self.factor))
