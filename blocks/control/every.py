from warploom.api import Block, BlockBuilder, Kernel, Out, param, port, u32


class Every(Block, id="control.every", tags=("condition", "period", "pulse", "clock", "divide", "strobe")):
    """Outputs 1 in every `period`-th run, otherwise 0.

    The block counts frames at the top level of a patch, and turns inside a loop. Connect `due` to an If to run costly
    blocks only in some frames.
    """

    due: Out[u32] = port(shape="[1]", doc="1 in every `period`-th run, beginning with the first, otherwise 0.")
    period: int = param(10, min=1, max=1_000_000, doc="Number of runs from one 1 to the next.")

    kernel = Kernel("fields.cu", entry="every")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread, which counts."""
        calls = build.buffer("calls", u32, "[1]", state=True)
        build.launch(self.kernel, num_threads=1, thread_block=1, args=(calls, self.due, self.period))
