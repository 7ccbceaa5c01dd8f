from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port, s32


class Surface(Block, id="geometry.surface", tags=("grid", "terrain", "heightfield", "landscape", "plane", "mesh")):
    """Makes a mesh from heights on a grid: a landscape, water, or a flat plane.

    The surface lies around the origin, and y is up. Connect it to Render Mesh; heights that change move it.
    """

    heights: In[f32] = port(rank=2, doc="Height of each point, shape [rows, columns].")
    points: Out[float4] = port(shape="[heights.size]", doc="Positions x, y, z, 1, row by row.")
    normals: Out[float4] = port(shape="[heights.size]", doc="Unit vectors x, y, z, 0.")
    faces: Out[s32] = port(
        shape="[max(2 * (heights.dim0 - 1) * (heights.dim1 - 1), 1), 3]",
        doc="Indices of the points of triangles; a single row has one without area.",
    )
    size: float = param(2.0, min=0.01, max=1000, unit="m", doc="Length of the longer side.")
    scale: float = param(1.0, min=-1000, max=1000, unit="m", doc="Metres for a height of 1.")

    kernel = Kernel("mesh.cu", entry="grid_mesh")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point."""
        grid = (self.heights.dim(1), self.heights.dim(0))
        made = (self.heights, self.points, self.normals, self.faces, self.size, self.scale)
        build.launch(self.kernel, num_threads=grid, args=(*made, *grid))
