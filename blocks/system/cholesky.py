from warploom.api import Block, BlockBuilder, In, Out, any_type, lapack, port


class Cholesky(Block, id="linalg.cholesky", tags=("factor", "triangular", "decomposition", "potrf", "lapack", "root")):
    """Factors a positive definite matrix into a lower triangle and its transpose.

    out out^T = a, or out out^H = a for complex numbers; a and out are [n, n]. Leading axes are batch axes: each matrix
    is factored separately. Multiply independent normal random numbers by out to give them the covariance a. Only the
    lower half of a is read. For a matrix that is not positive definite, a warning names the first leading minor at
    fault. Elements are f32, f64, c64 or c128.
    """

    a: In[any_type] = port(strided=True, doc="Symmetric or Hermitian matrix [..., n, n].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="Lower triangle [..., n, n], zeros above.")

    def describe(self, build: BlockBuilder) -> None:
        """Capture a factorisation."""
        build.capture(lapack.Cholesky().on(a=self.a, out=self.out))
