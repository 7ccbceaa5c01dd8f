"""Reductions: how their thread blocks share the work."""

from functools import cache

from warploom.api import BlockBuilder, BufferHandle, DType, OpGraphBuilder, OpGraphSource, f32, f64, u32

#: The most thread blocks, and the fewest elements for each of them.
PARTS, LEAST = 1024, 4096


@cache
def reduction(operation: str, x: str, reads: str, out: str, dtype: str) -> OpGraphSource:
    """Return a kernel whose thread blocks each reduce their share of `x` to one element of `out`."""
    graph = OpGraphBuilder()
    value = graph.add("op.input", x, type=reads)["value"]
    if operation != "add":  # combined in the type of the result
        value = graph.add("op.convert", x=value, type=dtype)["out"]
    graph.add("op.aggregate", out, value=value, operation=operation, type=dtype)
    return OpGraphSource.of(graph.graph())


def describe_reduction(
    build: BlockBuilder,
    operation: str,
    x: BufferHandle,
    out: BufferHandle,
    *,
    reads: str = "number",
    result: DType | None = None,
) -> None:
    """Reduce `x` to the one element of `out`. Thread blocks reduce their shares; then one block reduces the results.

    Numbers are reduced as f64, and the `result` is f32 unless given. An extreme that becomes an f32 is that of the
    numbers as f32, which takes half the time on a CPU. With `reads` "any", an element counts as 1 if it is not 0, and
    otherwise as 0; the result is u32.
    """
    usual = f32 if reads == "number" else u32
    kind = f64 if usual is f32 and (operation == "add" or result is not None) else usual
    parts = build.buffer("parts", kind, f"[min({PARTS}, ceil({x.name}.size / {LEAST}))]")
    build.compute(reduction(operation, x.name, reads, "parts", str(kind)), over=x, thread_blocks=parts.size)
    build.compute(reduction(operation, "parts", str(kind), out.name, str(result or usual)), over=parts, thread_blocks=1)
