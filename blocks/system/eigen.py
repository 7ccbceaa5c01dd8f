from warploom.api import Block, BlockBuilder, In, Out, any_type, lapack, port


class Eigen(
    Block, id="linalg.eigen", tags=("eigenvalues", "eigenvectors", "pca", "spectrum", "modes", "syev", "lapack")
):
    """Computes the eigenvalues and eigenvectors of a symmetric or Hermitian matrix.

    a vectors[:, i] = eigenvalues[i] vectors[:, i], with a [n, n]. Only the lower half of a is read. Eigenvalues are in
    ascending order; eigenvectors are orthonormal, and their signs are not determined. Use it for the principal axes and
    variances of a covariance, or for the modes of a structure. Leading axes are batch axes: each matrix is decomposed
    separately.

    On CUDA, n is at most 512. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Symmetric or Hermitian matrix [..., n, n].")
    eigenvalues: Out[any_type] = port(dtype="captured", shape="captured", doc="Eigenvalues [..., n], real, ascending.")
    vectors: Out[any_type] = port(dtype="captured", shape="captured", doc="Eigenvectors [..., n, n], as columns.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of LAPACK."""
        build.capture(lapack.Eigh().on(a=self.a, values=self.eigenvalues, vectors=self.vectors))
