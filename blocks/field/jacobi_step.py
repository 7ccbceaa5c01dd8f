from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, port


class JacobiStep(Block, id="field.jacobi_step", tags=("laplace", "poisson", "relax", "heat", "solver")):
    """Replaces every inner point of a field by the mean of its four neighbours.

    Repeated in a While until `change` is small enough, this solves Laplace's equation for the given values on the
    edges: the temperatures of a plate, or a soap film in a bent frame. The edges do not change.
    """

    u: In[f32] = port(rank=2, doc="The field, shape [height, width].")
    out: Out[f32] = port(shape="same(u)", doc="The field after the step, in its own memory.")
    change: Out[f32] = port(shape="[1]", doc="The largest absolute change of a point.")

    kernel = Kernel("fields.cu", entry="jacobi_step")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point; each thread block finds its largest change."""
        size = (self.u.dim(1), self.u.dim(0))
        build.fill(self.change, 0)
        build.launch(self.kernel, num_threads=size, args=(self.u, self.out, self.change, *size))
