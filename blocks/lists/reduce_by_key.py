from warploom.api import Block, BlockBuilder, In, Kernel, Out, any_type, f32, f64, param, port
from warploom.blocks.lists.runs import find_runs

#: In the order of their numbers in the kernel.
OPERATIONS = ("sum", "mean", "smallest", "largest")
#: Elements that one thread reduces.
PIECE = 1024


class ReduceByKey(
    Block,
    id="data.reduce_by_key",
    title="Reduce by Key",
    tags=("group by", "groupby", "aggregate", "segment", "sum", "mean", "bincount"),
):
    """Reduces the elements of each key to one number.

    The different keys are at the front of `out_keys` in ascending order, and `out` has for each the sum, the mean, the
    smallest or the largest of the elements with this key. Both have a count, and zeros behind it. All are
    computed in f64 and always in the same order. As keys, -0 and 0 are one, and all NaN are one, the last; an element
    that is NaN makes the result of its key NaN. To count the elements of each key, use Unique.
    """

    keys: In[any_type] = port(doc="Single real numbers or booleans, of any shape.")
    x: In[any_type] = port(dtype="number", shape="same(keys)", doc="An element for each key, of the shape of keys.")
    out_keys: Out[any_type] = port(
        dtype="same(keys)", shape="[keys.size]", append=True, doc="The different keys, in order."
    )
    out: Out[f32] = port(shape="[keys.size]", append=True, doc="The result for each of these keys.")
    operation: str = param("sum", choices=OPERATIONS, doc="What is found for each key.")

    first, last = Kernel("lists.cu", entry="reduce_pieces"), Kernel("lists.cu", entry="combine_pieces")

    def describe(self, build: BlockBuilder) -> None:
        """Sort the keys by CUB, reduce pieces of the elements in this order, and combine them."""
        order, ends, starts = find_runs(build, self.keys, self.out_keys)
        heads = build.buffer("heads", f64, f"[ceil(keys.size / {PIECE})]")
        totals = build.buffer("totals", f64, "[keys.size]")
        how = OPERATIONS.index(self.operation), PIECE
        read = self.x, build.element_type(self.x), order, ends
        build.launch(self.first, num_threads=heads.size, args=(*read, heads, totals, *how, self.x.size, heads.size))
        found = self.out_keys.counter, self.out, self.out.counter
        build.launch(self.last, num_threads=self.x.size, args=(heads, totals, starts, *found, *how, self.x.size))
