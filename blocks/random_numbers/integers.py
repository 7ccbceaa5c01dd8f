from warploom.api import BlockBuilder, Out, param, port, s32
from warploom.blocks.random_numbers.distribution import Distribution


class Integers(
    Distribution, id="random.integers", title="Random Integers", tags=("random", "randint", "dice", "choice", "whole")
):
    """Outputs random whole numbers from `low` up to, but not including, `high`.

    All numbers are equally likely, to within 2^-32. Use them as choices, or as indices into another buffer. The same
    seed gives the same numbers on every device and at the same frame of every run. Without `changing`, the numbers are
    the same in every frame. The generator is Philox4x32-10.
    """

    out: Out[s32] = port(shape="[1]", doc="The random numbers; all are low if high is not above low.")
    low: int = param(0, min=-(2**31), max=2**31 - 1, doc="The smallest number.")
    high: int = param(100, min=-(2**31), max=2**31 - 1, doc="All numbers are below this one.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread for every two numbers."""
        self.launch(build, "whole_numbers", 2, self.out, self.low, self.high)
