from warploom.api import Block, BlockBuilder, In, Out, any_type, blas, port


class AddScaled(Block, id="linalg.add_scaled", tags=("axpy", "step", "descent", "accumulate", "blas")):
    """Adds a multiple of one vector to another, with a factor from device memory.

    y += factor x, in place. Iterative solvers need this in every turn: connect `factor` to a Dot or a formula. Elements
    are f32, f64, c64 or c128. For a factor from a slider, Saxpy is as fast and is fused with its neighbours into one
    kernel.
    """

    x: In[any_type] = port(strided=True, doc="Vector, or any shape without gaps.")
    y: In[any_type] = port(
        dtype="same(x)", shape="same(x)", doc="The vector to change in place, of the type and shape of x."
    )
    factor: In[any_type] = port(dtype="same(x)", shape="[1]", doc="One number, the factor of x.")
    out: Out[any_type] = port(inplace="y", dtype="same(y)", doc="The input y, changed in place.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of BLAS, which reads the factor from device memory."""
        build.capture(blas.Axpy().on(x=self.x, y=self.out, alpha=self.factor))
