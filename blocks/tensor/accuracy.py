from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, port

#: Threads of the kernel's only thread block.
THREADS = 256


class Accuracy(Block, id="tensor.accuracy", tags=("classify", "argmax", "top-1", "score", "metric", "share")):
    """Outputs the share of rows that are classified correctly.

    A row is correct if its largest element is in the same column of both inputs. If elements are equal, the first
    counts.
    """

    x: In[f32] = port(rank=2, doc="Scores or probabilities of each class, [n, classes].")
    targets: In[f32] = port(
        rank=2, shape="same(x)", doc="Targets, such as 1 in the column of the correct class, else 0, [n, classes]."
    )
    out: Out[f32] = port(shape="[1]", doc="Share of correct rows, from 0 to 1.")

    kernel = Kernel("accuracy.cu", entry="share_right")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread block for all rows."""
        arguments = (self.x, self.targets, self.out, self.x.dim(0), self.x.dim(1))
        build.launch(self.kernel, num_threads=THREADS, thread_block=THREADS, args=arguments)
