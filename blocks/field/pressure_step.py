from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class PressureStep(
    Block, id="field.pressure_step", tags=("fluid", "poisson", "relax", "solver", "gauss", "seidel", "navier")
):
    """Brings the pressure of a fluid closer to the one that takes its divergence away.

    Works in place, by red-black Gauss-Seidel sweeps with over-relaxation between four walls. Connect the pressure to a
    State, so that each frame goes on from the last one's, and repeat in a While until `change` is small enough.
    """

    pressure: In[f32] = port(rank=2, doc="The pressure so far, shape [height, width].")
    divergence: In[f32] = port(shape="same(pressure)", doc="The divergence to take away.")
    out: Out[f32] = port(inplace="pressure", doc="The pressure after the sweeps.")
    change: Out[f32] = port(shape="[1]", doc="The largest absolute change of a cell in the last sweep.")
    sweeps: int = param(8, min=1, max=64, structural=True, doc="Passes over all cells.")
    over: float = param(
        1.8, min=0.1, max=1.99, doc="Over-relaxation: 1 is none; larger fields take values closer to 2."
    )

    kernel = Kernel("fluid.cu", entry="relax_pressure")

    def describe(self, build: BlockBuilder) -> None:
        """Launch two kernels a sweep, each for every second cell."""
        width, height = self.out.dim(1), self.out.dim(0)
        build.fill(self.change, 0)
        for sweep in range(1, self.sweeps + 1):
            for is_odd in (0, 1):
                flags = (is_odd, int(sweep == self.sweeps))
                args = (self.out, self.divergence, self.change, self.over, *flags, width, height)
                build.launch(self.kernel, num_threads=((width + 1) // 2, height), args=args)
