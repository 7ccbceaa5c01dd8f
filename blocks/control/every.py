from engine.api import Block, BlockBuilder, Kernel, Out, param, port, u32


class Every(Block, id="control.every", tags=("condition", "period", "pulse", "clock", "divide")):
    """Output 1 once every `period` times it runs, otherwise 0.

    It counts frames at the top of a patch, and turns inside a loop. Connect `due` to an If to do something costly only
    now and then.
    """

    due: Out[u32] = port(shape="[1]", doc="1 in every `period`-th run, beginning with the first, otherwise 0.")
    period: int = param(10, min=1, max=1_000_000, doc="Runs from one 1 to the next.")

    kernel = Kernel("fields.cu", entry="every")

    def describe(self, build: BlockBuilder) -> None:
        """One thread counts."""
        calls = build.buffer("calls", u32, "[1]", state=True)
        build.launch(self.kernel, num_threads=1, thread_block=1, args=(calls, self.due, self.period))
