from blocks.random.distribution import Distribution
from engine.api import BlockBuilder, Out, param, port, s32


class Integers(
    Distribution, id="random.integers", title="Random Integers", tags=("random", "randint", "dice", "choice", "whole")
):
    """Fill a buffer with random whole numbers from `low` up to, but not including, `high`.

    All are equally likely, to within 2^-32. Use them as choices, or as places in another buffer. The same seed gives
    the same numbers on every device, and the same at the same frame of every run; without `changing`, in every frame.
    By Philox4x32-10.
    """

    out: Out[s32] = port(shape="[1]", doc="The numbers; all are low when high is not above it.")
    low: int = param(0, min=-(2**31), max=2**31 - 1, doc="The smallest number.")
    high: int = param(100, min=-(2**31), max=2**31 - 1, doc="All numbers are below this one.")

    def describe(self, build: BlockBuilder) -> None:
        """One thread for two numbers."""
        self.launch(build, "whole_numbers", 2, self.out, self.low, self.high)
