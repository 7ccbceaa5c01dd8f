"""How reductions divide their work."""

from engine.api import BlockBuilder, In, Kernel, Out, any_type, f32, f64

#: Threads of a thread block, as `kernels/reduce.cu` has it.
THREADS = 256
#: Thread blocks that elements are shared out to, at most.
PARTS = 256


def describe_reduction(build: BlockBuilder, operation: str, x: In[any_type], out: Out[f32]) -> None:
    """Reduce `x` to the one element of `out`: each thread block reduces a share, then one reduces the results."""
    parts = build.buffer("parts", f64, f"[min({PARTS}, ceil(x.size / {4 * THREADS}))]")
    share = (x.size + parts.size - 1) // parts.size
    build.launch(
        Kernel("reduce.cu", entry=f"{operation}_share"),
        num_threads=parts.size * THREADS,
        thread_block=THREADS,
        args=(x, build.element_type(x), parts, x.size, share),
    )
    build.launch(
        Kernel("reduce.cu", entry=f"{operation}_parts"),
        num_threads=THREADS,
        thread_block=THREADS,
        args=(parts, out, parts.size),
    )
