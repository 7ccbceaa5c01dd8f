from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port


class WeightTiles(Block, id="tensor.weight_tiles", tags=("filters", "features", "look", "matrix", "heatmap", "layer")):
    """Draws each row of a matrix as a small picture.

    For the weights of a layer, each tile shows what one unit responds to: negative weights are blue, positive ones
    orange, and 0 is dark. For a layer whose inputs are pictures, set the tile width to the width of a picture.
    """

    x: In[f32] = port(rank=2, doc="The matrix, [n, tile_width * height of a tile].")
    image: Out[float4] = port(
        shape="[ceil(x.dim0 / columns) * (x.dim1 // tile_width * zoom + 1) + 1, "
        "min(columns, x.dim0) * (tile_width * zoom + 1) + 1]",
        doc="The picture, linear RGBA, opaque.",
    )
    range: float = param(0.5, min=0.001, max=10, doc="Absolute value of a weight that is shown in full colour.")
    tile_width: int = param(8, min=1, max=1024, structural=True, doc="Width of a tile, in numbers of the matrix.")
    columns: int = param(8, min=1, max=256, structural=True, doc="Number of tiles beside each other.")
    zoom: int = param(4, min=1, max=64, unit="px", structural=True, doc="Pixels along an edge of each number.")

    kernel = Kernel("weight_tiles.cu", entry="draw_tiles")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per pixel."""
        columns, rest = self.x.dim(1) // self.tile_width, self.x.dim(1) % self.tile_width
        build.require(-rest, "columns of x must be a multiple of tile_width", port=self.x)
        size = (self.image.dim(1), self.image.dim(0))
        look = (self.range, self.x.dim(0), self.tile_width, columns, self.columns, self.zoom)
        build.launch(self.kernel, num_threads=size, args=(self.x, self.image, *look, *size))
