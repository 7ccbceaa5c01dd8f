"""control.every: a condition that holds every so many times."""

from engine.api import Block, BlockBuilder, Kernel, Out, param, port, u32


class Every(Block, id="control.every", tags=("condition", "period", "pulse", "clock", "divide")):
    """Hold at the first of every so many times.

    It counts how often it runs, from frame to frame: frames at the top of a patch, turns inside a loop. Connect `due`
    to an If, to do something costly or rare only now and then.
    """

    due: Out[u32] = port(shape="[1]", doc="1 each `period`-th time, beginning with the first, else 0.")
    period: int = param(10, min=1, max=1_000_000, doc="How many times make one round.")

    kernel = Kernel("fields.cu", entry="every")

    def describe(self, build: BlockBuilder) -> None:
        """One thread counts."""
        calls = build.buffer("calls", u32, "[1]", state=True)
        build.launch(self.kernel, num_threads=1, thread_block=1, args=(calls, self.due, self.period))
