from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, f32, param, port, s32

FILE = "parts.cu"


class DistanceField(
    Block, id="image.distance_field", tags=("sdf", "signed distance", "euclidean", "edt", "outline", "grow", "offset")
):
    """Outputs how far each pixel is from a mask.

    The distance is exact, from centre to centre of pixels, as in scipy.ndimage.distance_transform_edt of what is not in
    the mask. With `signed`, a pixel of the mask has minus its distance to what is outside. Where there is nothing to
    measure to, it is 1e30. Compare it with a number to grow or shrink the mask, or take it for outlines and glows.
    """

    mask: In[any_type] = port(rank=2, doc="The mask, shape [height, width]: everything that is not 0.")
    out: Out[f32] = port(shape="same(mask)", doc="Distances in pixels.")
    signed: bool = param(True, doc="Whether distances inside of the mask are negative instead of 0.")

    columns = Kernel(FILE, entry="column_distances")
    across = Kernel(FILE, entry="distances")

    def describe(self, build: BlockBuilder) -> None:
        """Measure along columns, inside and outside, with a thread for each, then across rows with one per pixel."""
        size, element = (self.mask.dim(1), self.mask.dim(0)), build.element_type(self.mask)
        rows = [build.buffer(name, s32, "[mask.dim0, mask.dim1]") for name in ("rows", "empty_rows")]
        for of_empty, buffer in enumerate(rows):
            build.launch(self.columns, num_threads=size[0], args=(self.mask, buffer, element, of_empty, *size))
        build.launch(self.across, num_threads=size, args=(*rows, self.out, self.signed, *size))
