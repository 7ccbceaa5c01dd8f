from warploom.api import Block, BlockBuilder, CudaFile, CudaOptions, In, Kernel, Out, any_type, f32, f64, param, port

#: What the kernel keeps of a part, by its number there, and whether the result is derived from it at the end.
OPERATIONS = {
    "sum": (0, False),
    "mean": (0, True),
    "smallest": (1, False),
    "largest": (2, False),
    "variance": (3, False),
    "deviation": (3, True),
}
#: As in the kernel: threads of a thread block that reduces parts, and parts of a long row that it combines.
WIDTH, FOLD = 128, 8


class AlongAxis(
    Block,
    id="reduce.along_axis",
    title="Reduce Along Axis",
    tags=("sum", "mean", "minimum", "maximum", "rows", "columns", "project", "marginal"),
):
    """Reduces the elements along one axis to one number for each position of the others.

    It finds their sum, mean, smallest or largest number, variance or standard deviation: of a table, that of each
    column (axis 0) or row (axis 1). All are computed in f64 and always in the same order. Variance and deviation are
    those of all elements of a line, as in numpy. A NaN makes the result of its line NaN.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    out: Out[f32] = port(shape="without(axis, x)", doc="Shape of x without the axis; [1] if there is no other.")
    operation: str = param("mean", choices=tuple(OPERATIONS), doc="What is found along the axis.")
    axis: int = param(0, min=-8, max=7, structural=True, doc="The axis that is reduced; -1 is the last.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch a thread for each part of a line, then one for each line, or a thread block if it has many parts."""
        x, axis = self.x, self.axis
        size, inner = (x.dim(axis), x.stride(axis)) if axis >= 0 else (x.last(-1 - axis), x.last_stride(-1 - axis))
        # Where neighbouring elements are of one line, a thread block has parts of this line only, if it is long enough.
        # Where they are of many lines, each row of lines begins with a thread block.
        one = f"max({WIDTH} // {inner.text}, 1)"
        most = "max(131072 // out.size, 1)"
        cap = f"max(1024, {size.text} // 32768 * {WIDTH})"  # few long lines have as many parts as many short ones
        whole = f"{one} * min({size.text} // max(8 * {one}, 64), ceil({most} / {one}), {cap} // {one})"
        parts = f"max({whole}, min(ceil({size.text} / 64), {cap}, {most}))"
        fold = 1 + (FOLD - 1) * (1 // inner) * (1 - 1 // (1 + size // (FOLD * WIDTH)))
        found = build.buffer("found", f64, f"[({parts}) // {fold.text}, out.size, 2]")
        pairs = found.dim(0)
        sizes = size, inner, pairs
        count = found.size // 2 * fold
        kept, is_derived = OPERATIONS[self.operation]
        file = CudaFile("reduce_axis.cu", CudaOptions(defines={"KEPT": kept}))
        first, last = (Kernel(file, entry=entry) for entry in ("reduce_parts", "combine_parts"))
        is_wide = 1 - 1 // (1 + inner // WIDTH)
        threads = count + count // inner * (-inner % WIDTH) * is_wide
        args = x, found, build.element_type(x), *sizes, count
        build.launch(first, num_threads=threads, thread_block=WIDTH, args=args)
        lanes = 1 + (WIDTH - 1) * (1 - 1 // (1 + (pairs - 1) // WIDTH))
        results = found, self.out, *sizes, self.out.size, is_derived
        build.launch(last, num_threads=self.out.size * lanes, thread_block=WIDTH, args=results)
