from typing import Any

from warploom.api import Block, BlockBuilder, In, Kernel, Out, algorithms, any_type, param, port, u32, u64

#: As in `kernels/top_k.cu`: the threads of a thread block, and the elements of a tile. There, digits have 11 bits.
THREADS, TILE, DIGITS, PASSES = 256, 2048, 1 << 11, 6
FILE = "top_k.cu"


class TopK(Block, id="data.top_k", tags=("largest", "smallest", "best", "rank", "argmax", "nearest")):
    """Finds the k largest or smallest elements, and where they are.

    They come in order, the first the largest or smallest. Of equal elements, the first counts first; NaN is last. Only
    these k are sorted: it reads the elements a few times, and takes much less time than Sort. With `k` 1, `positions`
    is where the largest element is.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape, at least k.")
    out: Out[any_type] = port(dtype="same(x)", shape="[k]", doc="The k elements, in order.")
    positions: Out[u32] = port(shape="[k]", doc="Their positions in x, counted through all axes.")
    k: int = param(10, min=1, max=1 << 26, unit="elements", structural=True, doc="Number of elements.")
    smallest: bool = param(False, structural=True, doc="Find the smallest elements.")

    count, choose = Kernel(FILE, entry="count_digits"), Kernel(FILE, entry="choose_digit")
    mark, collect = Kernel(FILE, entry="count_taken"), Kernel(FILE, entry="collect_taken")
    take = Kernel(FILE, entry="take_first")

    def describe(self, build: BlockBuilder) -> None:
        """Find the last element digit by digit, collect those up to it, and sort them."""
        x, kind = self.x, build.element_type(self.x)
        build.require(x.size - self.k, f"x must have at least k = {self.k} elements", port=x)
        last, counts = build.buffer("last", u64, "[2]"), build.buffer("counts", u32, f"[{DIGITS}]")
        taken = build.buffer("taken", u32, f"[2, ceil(x.size / {TILE})]")
        codes, found = build.buffer("codes", u64, f"[{self.k}]"), build.buffer("found", u32, f"[{self.k}]")
        ends, order = build.buffer("ends", u32, "captured"), build.buffer("order", u32, "captured")
        tiles, given = taken.dim(1), (x, kind, not self.smallest, last)
        build.fill(counts, 0)
        for number in range(PASSES):  # no element has more digits; the kernels are idle if it has fewer
            build.launch(
                self.count,
                num_threads=(tiles // 32 + 1) * THREADS,
                args=(*given, counts, number, tiles, x.size),
                thread_block=(THREADS,),
            )
            arguments = (last, counts, kind, number, self.k)
            build.launch(self.choose, num_threads=THREADS, args=arguments, thread_block=(THREADS,))
        whole: dict[str, Any] = {"num_threads": tiles * THREADS, "thread_block": (THREADS,)}
        build.launch(self.mark, **whole, args=(*given, taken, tiles, x.size))
        build.capture(algorithms.Scan().on(x=taken, out=ends))
        build.launch(self.collect, **whole, args=(*given, taken, ends, codes, found, tiles, x.size))
        build.capture(algorithms.Order().on(x=codes, out=order))
        build.launch(self.take, num_threads=self.k, args=(x, kind, order, found, self.out, self.positions, self.k))
