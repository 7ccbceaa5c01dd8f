from engine.api import Block, BlockBuilder, In, Out, any_type, blas, param, port


class Multiply(Block, id="linalg.multiply", tags=("matmul", "gemm", "dot", "product", "blas", "linear", "layer")):
    """Multiply matrices.

    out = activation(alpha a b + beta c + bias), with a [m, k], b [k, n] and out [m, n]. Leading axes repeat the product
    for each of their positions; a or b may lack them and is then used for all. Elements are f32, f64, c64 or c128, or
    f16 or bf16, whose products are added up in f32.

    With bias and activation it is a layer of a neural network, at the cost of the product alone: relu is max(x, 0),
    gelu x times the share of a normal distribution below x, by its approximation with tanh. Both take real numbers.
    """

    a: In[any_type] = port(strided=True, doc="Matrix [..., m, k], or [..., k, m] with transpose_a.")
    b: In[any_type] = port(dtype="same(a)", strided=True, doc="Matrix [..., k, n], or [..., n, k] with transpose_b.")
    c: In[any_type] = port(dtype="same(a)", optional=True, advised=False, doc="Added to the product, [..., m, n].")
    bias: In[any_type] = port(dtype="same(a)", optional=True, advised=False, doc="Added to each row, [n].")
    out: Out[any_type] = port(dtype="captured", shape="captured", doc="The result, [..., m, n].")
    alpha: float = param(1.0, min=-10, max=10, doc="Factor of the product.")
    beta: float = param(1.0, min=-10, max=10, doc="Factor of c.")
    activation: str = param("none", choices=blas.ACTIVATIONS, doc="What each element is passed through at last.")
    transpose_a: bool = param(False, structural=True, doc="Swap the last two axes of a first.")
    transpose_b: bool = param(False, structural=True, doc="Swap the last two axes of b first.")

    allow_tf32: bool = param(
        False,
        structural=True,
        doc="Let a GPU round factors of f32 and c64 to 11 significant bits, which is far faster.",
    )

    def describe(self, build: BlockBuilder) -> None:
        """One call of BLAS, which reads alpha and beta from device memory."""
        call = blas.Gemm(self.transpose_a, self.transpose_b, self.activation, self.allow_tf32)
        operands = {"a": self.a, "b": self.b, "c": self.c, "bias": self.bias, "out": self.out}
        build.capture(call.on(**operands, alpha=self.alpha, beta=self.beta))
