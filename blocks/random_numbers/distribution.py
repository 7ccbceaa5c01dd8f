"""The common part of the blocks that output random numbers."""

from warploom.api import Block, BlockBuilder, BufferHandle, Kernel, param
from warploom.blocks.buffer.shape_text import shape_rule


class Distribution(Block, abstract=True):
    """Random numbers by Philox4x32-10; each thread generates several at a time."""

    shape: str = param("1024", doc='Sizes of the axes, the slowest first, such as "1080, 1920".')
    changing: bool = param(True, doc="Make new numbers in every frame; otherwise every frame has the same numbers.")
    seed: int = param(
        1, min=0, max=2**31 - 1, fresh=True, doc="Start of the random sequence; each new block has its own seed."
    )

    def launch(self, build: BlockBuilder, entry: str, at_a_time: int, out: BufferHandle, *range_: object) -> None:
        """Fill `out`, whose shape is a parameter."""
        build.define(out, shape=shape_rule("shape", self.shape))
        arguments = (out, build.frame, self.changing, self.seed, *range_, out.size)
        threads = (out.size + at_a_time - 1) // at_a_time
        build.launch(Kernel("random.cu", entry=entry), num_threads=threads, args=arguments)
