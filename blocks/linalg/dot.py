from engine.api import Block, BlockBuilder, In, Out, any_type, blas, param, port


class Dot(Block, id="linalg.dot", tags=("inner", "scalar", "product", "projection", "blas")):
    """Multiply two vectors element by element and add the products up.

    out = the sum of x[i] y[i], one number in device memory: it can drive a condition or be a factor of other blocks
    without a way through the host. Elements are f32, f64, c64 or c128; with conjugate, the sum of conj(x[i]) y[i].
    """

    x: In[any_type] = port(strided=True, doc="Vector, or any shape without gaps.")
    y: In[any_type] = port(dtype="same(x)", strided=True, doc="Vector of the shape of x.")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The sum, [1].")
    conjugate: bool = param(False, structural=True, doc="Take the conjugates of complex x.")

    def describe(self, build: BlockBuilder) -> None:
        """One call of BLAS."""
        build.capture(blas.Dot(self.conjugate).on(x=self.x, y=self.y, out=self.out))
