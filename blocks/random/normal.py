from blocks.random.distribution import Distribution
from engine.api import BlockBuilder, Out, f32, param, port


class Normal(
    Distribution, id="random.normal", title="Normal Numbers", tags=("random", "gauss", "gaussian", "randn", "bell")
):
    """Fill a buffer with random numbers of the normal distribution, about a mean.

    About 68 % lie within one standard deviation, 99.7 % within three. Use them as noise of a measurement, or as steps
    of a walk. The same seed gives the same numbers on every device, and the same at the same frame of every run;
    without `changing`, in every frame. By Philox4x32-10, Box and Muller.
    """

    out: Out[f32] = port(shape="[1]", doc="The numbers, at most 6.8 deviations from the mean.")
    mean: float = param(0.0, min=-1e9, max=1e9, doc="What they lie about.")
    deviation: float = param(1.0, min=0, max=1e9, doc="Standard deviation: how far from the mean they lie.")

    def describe(self, build: BlockBuilder) -> None:
        """One thread for four numbers."""
        self.launch(build, "normal_numbers", 4, self.out, self.mean, self.deviation)
