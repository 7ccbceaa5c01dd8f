from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, float2, param, port


class Advect(Block, id="field.advect", tags=("fluid", "smoke", "flow", "move", "transport", "simulation")):
    """Moves a field or an image with a flow.

    Each cell takes what was `time_step` seconds upstream, interpolated between cells; this is stable for any velocity.
    Smoke in a fluid: State, Advect, and an Assign that puts the result into the State.
    """

    field: In[any_type] = port(
        dtype="pixel", rank=2, doc="What flows: float4, half4, uchar4 or f32, shape [height, width]."
    )
    velocity: In[float2] = port(
        shape="same(field)", doc="Flow through the left and the upper side of each cell, cells/s."
    )
    out: Out[any_type] = port(dtype="same(field)", shape="same(field)", doc="The field, `time_step` later.")
    time_step: float = param(1 / 60, min=-1, max=1, unit="s", doc="Time between two steps.")
    fade: float = param(0.0, min=0, max=60, unit="1/s", doc="How quickly the field fades to 0.")

    kernel = Kernel("fluid.cu", entry="advect")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per cell."""
        size = (self.out.dim(1), self.out.dim(0))
        moved = (self.field, self.velocity, self.out, build.element_type(self.field))
        build.launch(self.kernel, num_threads=size, args=(*moved, self.time_step, self.fade, *size))
