from warploom.api import Block, BlockBuilder, In, Out, any_type, blas, param, port


class Multiply(
    Block,
    id="linalg.multiply",
    title="Multiply Matrices",
    tags=("matmul", "gemm", "dot", "product", "blas", "linear", "layer"),
):
    """Multiplies two matrices.

    out = activation(alpha a b + beta c + bias), with a [m, k], b [k, n] and out [m, n]. Leading axes are batch axes,
    with one product for each of their positions; an a or b without batch axes is used for all. Elements are f32, f64,
    c64, c128, f16 or bf16; products of f16 and bf16 are summed in f32.

    With bias and activation, the block is a layer of a neural network and costs no more than the product alone. relu is
    max(x, 0). gelu is x times the normal cumulative distribution function of x, in its tanh approximation. Both need
    real numbers.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, k], or [..., k, m] with transpose_a.")
    b: In[any_type] = port(dtype="same(a)", strided=True, doc="Matrix [..., k, n], or [..., n, k] with transpose_b.")
    c: In[any_type] = port(dtype="same(a)", optional=True, advised=False, doc="Added to the product, [..., m, n].")
    bias: In[any_type] = port(dtype="same(a)", optional=True, advised=False, doc="Added to each row, [n].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The result, [..., m, n].")
    alpha: float = param(1.0, min=-10, max=10, doc="Factor of the product.")
    beta: float = param(1.0, min=-10, max=10, doc="Factor of c.")
    activation: str = param("none", choices=blas.ACTIVATIONS, doc="Function applied to each element of the result.")
    transpose_a: bool = param(False, structural=True, doc="Swap the last two axes of a first.")
    transpose_b: bool = param(False, structural=True, doc="Swap the last two axes of b first.")

    allow_tf32: bool = param(
        False,
        structural=True,
        doc="Let a GPU round f32 and c64 operands to 11 significant bits (TF32), which is much faster.",
    )

    def describe(self, build: BlockBuilder) -> None:
        """Capture one call of BLAS, which reads alpha and beta from device memory."""
        call = blas.Gemm(self.transpose_a, self.transpose_b, self.activation, self.allow_tf32)
        operands = {"a": self.a, "b": self.b, "c": self.c, "bias": self.bias, "out": self.out}
        build.capture(call.on(**operands, alpha=self.alpha, beta=self.beta))
