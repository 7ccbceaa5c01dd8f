from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port


class WaveStep(Block, id="field.wave_step", tags=("water", "ripple", "membrane", "simulation")):
    """Advances waves on a surface by one time step.

    Works in place on heights and velocities: connect each to a State. Waves travel the square root of `speed` in points
    per step, and are reflected at the edges. Run several steps a frame, in a For, to make waves faster.
    """

    heights: In[f32] = port(rank=2, doc="Heights of the surface, shape [height, width].")
    velocities: In[f32] = port(shape="same(heights)", doc="Vertical velocity of each point, in height per step.")
    heights_out: Out[f32] = port(inplace="heights", doc="The heights, one step later.")
    velocities_out: Out[f32] = port(inplace="velocities", doc="The velocities, one step later.")
    speed: float = param(0.25, min=0, max=0.5, doc="Square of the wave speed in points per step; at most 0.5.")
    damping: float = param(0.002, min=0, max=1, doc="Share of the velocity lost in each step.")

    velocity = Kernel("fields.cu", entry="wave_velocity")
    height = Kernel("fields.cu", entry="wave_height")

    def describe(self, build: BlockBuilder) -> None:
        """Compute velocities from the heights around each point, then heights, with one thread per point."""
        size = (self.heights.dim(1), self.heights.dim(0))
        state = (self.heights_out, self.velocities_out)
        build.launch(self.velocity, num_threads=size, args=(*state, self.speed, self.damping, *size))
        build.launch(self.height, num_threads=self.heights.size, args=(*state, self.heights.size))
