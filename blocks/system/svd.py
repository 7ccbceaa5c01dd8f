from warploom.api import Block, BlockBuilder, In, Out, any_type, lapack, port


class Svd(
    Block,
    id="linalg.svd",
    title="SVD",
    tags=("singular", "values", "pca", "rank", "pseudoinverse", "compression", "lapack"),
):
    """Computes the singular values and singular vectors of a matrix.

    u diag(s) vh = a, with a [m, n] and k = min(m, n): the columns of u [m, k] and the rows of vh [k, n] are
    orthonormal, and s [k] is in descending order. The first r terms are the best approximation of a with rank r: use it
    for principal components, ranks and compression. The signs of singular vectors are not determined. Leading axes are
    batch axes: each matrix is decomposed separately.

    On CUDA, k is at most 512. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, n].")
    u: Out[any_type] = port(dtype="captured", shape="captured", doc="Left vectors [..., m, k], as columns.")
    s: Out[any_type] = port(dtype="captured", shape="captured", doc="Singular values [..., k], real, descending.")
    vh: Out[any_type] = port(dtype="captured", shape="captured", doc="Right vectors [..., k, n], as rows, conjugated.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of LAPACK."""
        build.capture(lapack.Svd().on(a=self.a, u=self.u, s=self.s, vh=self.vh))
