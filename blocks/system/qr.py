from warploom.api import Block, BlockBuilder, In, Out, any_type, lapack, port


class Qr(
    Block,
    id="linalg.qr",
    title="QR",
    tags=("factor", "orthogonal", "orthonormal", "decomposition", "gram schmidt", "lapack"),
):
    """Factors a matrix into orthonormal columns and an upper triangle.

    q r = a, with a [m, n] and k = min(m, n): q [m, k] has orthonormal columns, and r [k, n] is an upper triangle. If m
    is at least n, the columns of q span the same space as those of a: use it to make vectors orthonormal. Leading axes
    are batch axes: the matrices are factored one after another. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, n].")
    q: Out[any_type] = port(dtype="captured", shape="captured", doc="Orthonormal columns [..., m, k].")
    r: Out[any_type] = port(dtype="captured", shape="captured", doc="Upper triangle [..., k, n].")

    def describe(self, build: BlockBuilder) -> None:
        """Capture a factorisation together with kernels that extract its factors."""
        build.capture(lapack.Qr().on(a=self.a, q=self.q, r=self.r))
