"""Networks that several tests use."""

from typing import TypeVar

from warploom.engine.tensor_ir.networks.builder import NetworkBuilder

Builder = TypeVar("Builder", bound=NetworkBuilder)


def write_seeds_example(builder: Builder) -> Builder:
    """Add the network of the seed's description, line for line."""
    # inputs
    inputs = builder.sparse_input("inputs", (768, 1), 32)
    targets = builder.dense_input("targets", (1, 1))

    # trainable weights
    l0 = builder.affine("l0", 768, 256)
    l1 = builder.affine("l1", 256, 1)

    # inference
    hl = l0.forward(inputs).relu()
    out = l1.forward(hl).sigmoid()
    (out - targets).abs_pow(2.0)
    return builder


def seeds_example() -> NetworkBuilder:
    """Return the network of the seed's description."""
    return write_seeds_example(NetworkBuilder())
