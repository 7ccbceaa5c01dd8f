from warploom.api import BlockBuilder, Out, f32, param, port
from warploom.blocks.random_numbers.distribution import Distribution


class Uniform(Distribution, id="random.uniform", title="Uniform Numbers", tags=("random", "rand", "noise", "white")):
    """Outputs random numbers between `low` and `high`, all equally likely.

    The same seed gives the same numbers on every device and at the same frame of every run. Without `changing`, the
    numbers are the same in every frame. For one number that drives a parameter, use Random. The generator is
    Philox4x32-10.
    """

    out: Out[f32] = port(
        shape="[1]", doc="The random numbers, from low to high; high itself occurs only through rounding."
    )
    low: float = param(0.0, min=-1e9, max=1e9, doc="The smallest number.")
    high: float = param(1.0, min=-1e9, max=1e9, doc="All numbers are below this one.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread for every four numbers."""
        self.launch(build, "uniform_numbers", 4, self.out, self.low, self.high)
