from engine.api import Block, BlockBuilder, In, Out, any_type, lapack, port


class Qr(
    Block, id="linalg.qr", tags=("factor", "orthogonal", "orthonormal", "decomposition", "gram schmidt", "lapack")
):
    """Factor a matrix into orthonormal columns and an upper triangle.

    q r = a, with a [m, n] and k = min(m, n): the columns of q [m, k] have length one and are orthogonal, r [k, n] is an
    upper triangle. For m at least n, q spans what the columns of a span: use it to make vectors orthonormal. Leading
    axes repeat it, one after another. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, n].")
    q: Out[any_type] = port(dtype="captured", shape="captured", doc="Orthonormal columns [..., m, k].")
    r: Out[any_type] = port(dtype="captured", shape="captured", doc="Upper triangle [..., k, n].")

    def describe(self, build: BlockBuilder) -> None:
        """A factorisation and what takes it apart, captured together."""
        build.capture(lapack.Qr().on(a=self.a, q=self.q, r=self.r))
