from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, param, port, u64

#: Choices of `order`.
ORDERS = ("shuffled", "in order")


class Batches(Block, id="tensor.batches", tags=("dataset", "loader", "minibatch", "sample", "shuffle", "epoch")):
    """Outputs the next rows of a data set in each frame, or in each turn of a loop.

    Every row is used once before any is used again. In "shuffled" order, the order changes with each pass over the
    data. A row of `x` and the same row of `y` stay together. The same seed gives the same batches on every device and
    in every run.
    """

    x: In[any_type] = port(rank=2, doc="Data set, such as inputs of a network, [n, columns].")
    y: In[any_type] = port(rank=2, doc="Second data set with as many rows, such as targets, [n, columns].")
    x_batch: Out[any_type] = port(dtype="same(x)", shape="[size, x.dim1]", doc="The chosen rows of x.")
    y_batch: Out[any_type] = port(dtype="same(y)", shape="[size, y.dim1]", doc="The chosen rows of y.")
    size: int = param(64, min=1, max=2**20, structural=True, doc="Number of rows in a batch.")
    order: str = param("shuffled", choices=ORDERS, doc="Order of the rows.")
    seed: int = param(0, min=0, max=2**31 - 1, doc="Start of the random sequence for the shuffled order.")

    kernel = Kernel("batches.cu", entry="take_rows")
    count = Kernel("batches.cu", entry="count_rows")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element of the rows."""
        rows = self.x.dim(0)
        for more in (self.y.dim(0) - rows, rows - self.y.dim(0)):
            build.require(more, "y must have as many rows as x", port=self.y)
        taken = build.buffer("taken", u64, "[1]", state=True)
        chosen = (taken, build.frame, self.order == "shuffled", self.seed, rows, self.size)
        for source, batch in ((self.x, self.x_batch), (self.y, self.y_batch)):
            arguments = (source, batch, build.element_type(source), *chosen, source.dim(1))
            build.launch(self.kernel, num_threads=batch.size, args=arguments)
        build.launch(self.count, num_threads=1, thread_block=1, args=(taken, self.size))
