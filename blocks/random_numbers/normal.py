from warploom.api import BlockBuilder, Out, f32, param, port
from warploom.blocks.random_numbers.distribution import Distribution


class Normal(
    Distribution, id="random.normal", title="Normal Numbers", tags=("random", "gauss", "gaussian", "randn", "bell")
):
    """Outputs random numbers with a normal distribution.

    About 68 % of the numbers lie within one standard deviation of the mean, 99.7 % within three. Use them as
    measurement noise, or as the steps of a random walk. The same seed gives the same numbers on every device and at the
    same frame of every run. Without `changing`, the numbers are the same in every frame. The generator is Philox4x32-10
    with the Box-Muller transform.
    """

    out: Out[f32] = port(shape="[1]", doc="The random numbers, at most 6.8 standard deviations from the mean.")
    mean: float = param(0.0, min=-1e9, max=1e9, doc="Mean of the distribution.")
    deviation: float = param(1.0, min=0, max=1e9, doc="Standard deviation of the distribution.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread for every four numbers."""
        self.launch(build, "normal_numbers", 4, self.out, self.mean, self.deviation)
