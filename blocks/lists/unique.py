from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, port, u32
from warploom.blocks.lists.runs import find_runs


class Unique(Block, id="data.unique", tags=("distinct", "duplicates", "count", "set", "values", "categories")):
    """Finds the different elements, and how often each occurs.

    They are at the front of `out` in ascending order; `counts` has the number of each. Both have a count, and zeros
    behind it. -0 and 0 are one element, and all NaN are one, the last, as in numpy.
    """

    x: In[any_type] = port(doc="Single real numbers or booleans, of any shape.")
    out: Out[any_type] = port(dtype="same(x)", shape="[x.size]", append=True, doc="The different elements, in order.")
    counts: Out[u32] = port(shape="[x.size]", append=True, doc="How often each of them occurs in x.")

    kernel = Kernel("lists.cu", entry="measure_runs")

    def describe(self, build: BlockBuilder) -> None:
        """Sort by CUB, find where elements differ, and measure the runs between."""
        starts = find_runs(build, self.x, self.out).starts
        arguments = starts, self.out.counter, self.counts, self.counts.counter, self.x.size
        build.launch(self.kernel, num_threads=self.x.size, args=arguments)
