"""Large arrays: chains of operations, reductions, pictures and data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks import bench_blocks, bench_fusion
from tests.benchmarks.side_by_side.contest import OURS, Contest, Missing, Program
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.device.device import Device
from warploom.engine.patch.document import NodeRef
from warploom.engine.types import Array

#: Rows of `bench_blocks` that everybody needs, and the ratio that is wanted.
PICTURES = ("Gaussian, sigma 3", "Mean, radius 20", "Erode, square 2", "Sobel", "Invert", "Resize 0.5, linear")
WRITTEN = ("Sort", "Sort by Key", "Scan", "Gather", "Where")  # those whose result is as long as the list
DATA = ("Sum", "Largest", "Sort", "Sort by Key", "Scan", "Histogram", "Top K", "Gather", "Where", "Mean of columns")


def contests(device: Device, scale: float = 1.0) -> Iterator[Contest]:
    """Yield the contests on a device; `scale` multiplies the elements."""
    on_gpu = device.info.name != "host"
    numbers, count = np.random.default_rng(5), round((1 << (26 if on_gpu else 24)) * scale)
    pair = tuple(numbers.uniform(0.5, 1.5, count).astype(np.float32) for _ in range(2))
    yield Contest(
        f"25 operations, {count / 2**20:g} M numbers",
        {
            OURS: partial(our_chain, device, pair),
            "JAX": partial(jax_chain, pair),
            "torch": partial(torch_chain, pair),
            "CuPy": partial(cupy_chain, pair),
        }
        if on_gpu
        else {OURS: partial(our_chain, device, pair), "numba": partial(numba_chain, pair)},
        batch=10 if on_gpu else 1,
        moved_bytes=12 * count,
        tolerance=1e-4,
    )
    sizes = bench_blocks.SIZES["gpu" if on_gpu else "host"]
    given = bench_blocks.arrays(*(4 * round(size * scale**0.5 / 4) for size in sizes))
    height, width = given["image"].shape[:2]
    rows = [*bench_blocks.ROWS, bench_blocks.resize(width, height, 0.5, "linear")]
    for row in rows:
        if row.name in PICTURES + DATA:
            programs: dict[str, Callable[[ExitStack], Program]] = {OURS: partial(our_block, device, row, given)}
            for name in ("CuPy",) if on_gpu else ("numpy", "OpenCV"):
                programs[name] = partial(peer, name, row, given)
            if row.name in TORCH:
                programs["torch"] = partial(torch_peer, "cuda" if on_gpu else "cpu", row, given)
            if on_gpu and row.name in CUB:
                programs["cuda-cccl"] = partial(cub_peer, device, row, given)
            written = given["list"].nbytes if row.name in WRITTEN else 0
            if row.name in PICTURES:
                written = given["image"].nbytes // (4 if row.name.startswith("Resize") else 1)
            yield Contest(
                row.name, programs, batch=10 if on_gpu else 1, tolerance=row.at,
                moved_bytes=written + sum(given[kind].nbytes for kind in row.inputs.values()),
            )  # fmt: skip


def launched(device: Device, patch: Patch, shown: NodeRef, port: str, opened: ExitStack) -> Program:
    """Return launches of a patch's graph."""
    engine = opened.enter_context(Engine(patch, device, profiling=ProfilingLevel.NONE))
    report = engine.step()
    if report.diagnostics:
        raise Missing(report.diagnostics[0].message)
    compiled, stream = engine.core.updates.compiled, engine.core.launcher.stream
    assert compiled is not None
    return Program(lambda: compiled.launch(stream), stream.synchronize, lambda: engine.read(shown[port]))


def our_chain(device: Device, pair: tuple[Array, Array], opened: ExitStack) -> Program:
    """Run the operations as the engine fuses them."""
    patch, last = bench_fusion.chain(bench_fusion.LENGTH, *pair)
    return launched(device, patch, last, "out", opened)


def jax_chain(pair: tuple[Array, Array], _: ExitStack) -> Program:
    """Run them as XLA compiles them."""
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        raise Missing("JAX has no GPU")
    x, y = map(jnp.asarray, pair)
    compiled = jax.jit(lambda x, y: bench_fusion.evaluate(bench_fusion.LENGTH, x, y, jnp.maximum))
    results: list[Any] = [None]

    def launch() -> None:
        results[0] = compiled(x, y)

    return Program(launch, lambda: results[0].block_until_ready(), lambda: np.asarray(results[0]))


def torch_chain(pair: tuple[Array, Array], _: ExitStack) -> Program:
    """Run them as `torch.compile` does, else as a CUDA graph of a kernel each."""
    import torch

    x, y = (torch.from_numpy(array).cuda() for array in pair)
    run: Callable[..., Any] = torch.compile(
        lambda x, y: bench_fusion.evaluate(bench_fusion.LENGTH, x, y, lambda a, b: torch.clamp(a, min=b))
    )
    try:
        run(x, y)
    except Exception as problem:  # noqa: BLE001 - it needs Triton and a C compiler
        raise Missing(f"torch.compile: {type(problem).__name__}") from None
    results: list[Any] = [None]

    def launch() -> None:
        results[0] = run(x, y)

    return Program(launch, torch.cuda.synchronize, lambda: results[0].cpu().numpy())


def cupy_chain(pair: tuple[Array, Array], _: ExitStack) -> Program:
    """Run them as `cupy.fuse` does."""
    import cupy

    x, y = map(cupy.asarray, pair)

    @cupy.fuse
    def run(x: Any, y: Any) -> Any:  # a lambda has no name for the kernel
        return bench_fusion.evaluate(bench_fusion.LENGTH, x, y, cupy.maximum)

    results: list[Any] = [None]

    def launch() -> None:
        results[0] = run(x, y)

    return Program(launch, cupy.cuda.Device().synchronize, lambda: results[0].get())


def numba_chain(pair: tuple[Array, Array], _: ExitStack) -> Program:
    """Run them as a parallel loop of numba on the CPU."""
    from numba import njit, prange

    steps = [
        f"x = {text.replace('1.001', 'f').replace('-3.0', 'g')}" for text in bench_fusion.texts(bench_fusion.LENGTH)
    ]
    lines = "\n".join(f"        {line}" for line in ("x, y = a[i], b[i]", *steps, "out[i] = x"))
    names: dict[str, Any] = {"prange": prange}
    exec(f"def run(a, b, out, f, g):\n    for i in prange(a.size):\n{lines}", names)
    run, out, numbers = njit(parallel=True)(names["run"]), np.empty_like(pair[0]), map(np.float32, (1.001, -3.0))
    return Program(partial(run, *pair, out, *numbers), result=lambda: out)


def without_alpha(result: Any) -> Any:
    """Leave out what blocks keep and filters of arrays don't: the last channel of a picture."""
    return result[..., :3] if np.ndim(result) == 3 else result


def our_block(device: Device, row: bench_blocks.Row, given: Mapping[str, Array], opened: ExitStack) -> Program:
    """Run one block."""
    patch = Patch()
    node = patch.add(row.block, **row.parameters)
    for port, kind in row.inputs.items():
        source = patch.add("io.image_array" if kind == "image" else "io.array", data=given[kind])
        patch.connect(source["out"], node[port])
    program = launched(device, patch, node, row.out, opened)
    assert program.result is not None
    read = program.result
    return Program(program.launch, program.wait, lambda: without_alpha(read()))


def peer(name: str, row: bench_blocks.Row, given: Mapping[str, Array], _: ExitStack) -> Program:
    """Call CuPy, numpy with scipy, or OpenCV."""
    if (row.opencv if name == "OpenCV" else row.peer) is None:
        raise Missing("it has no such function")
    modules = {"CuPy": ("cupy", "cupyx.scipy.ndimage"), "numpy": ("numpy", "scipy.ndimage"), "OpenCV": ("cv2", "cv2")}
    first, second = map(import_module, modules[name])
    call: Callable[..., Any] = (
        partial(row.opencv, cv=first) if name == "OpenCV" and row.opencv
        else partial(row.peer, np=first, nd=second)  # type: ignore[arg-type]
    )  # fmt: skip
    on_gpu = name == "CuPy"
    inputs = [first.asarray(given[kind]) if on_gpu else given[kind] for kind in row.inputs.values()]
    wait = first.cuda.Device().synchronize if on_gpu else lambda: None
    results: list[Any] = [None]

    def launch() -> None:
        results[0] = None  # its memory is free for the next result
        results[0] = call(*inputs)

    return Program(launch, wait, lambda: without_alpha(results[0].get() if on_gpu else np.asarray(results[0])))


#: The same in torch, by the name of the row.
TORCH: Mapping[str, Callable[..., Any]] = {
    "Sum": lambda torch, x: torch.sum(x),
    "Largest": lambda torch, x: torch.max(x),
    "Sort": lambda torch, x: torch.sort(x).values,
    "Scan": lambda torch, x: torch.cumsum(x, 0),
    "Top K": lambda torch, x: torch.topk(x, 100).values,
    "Gather": lambda torch, x, places: x[places],
    "Where": lambda torch, mask, a, b: torch.where(mask, a, b),
    "Mean of columns": lambda torch, x: torch.mean(x, 0),
    "Histogram": lambda torch, x: torch.histc(x, 256, 0.0, 1.0),
}


def torch_peer(on: str, row: bench_blocks.Row, given: Mapping[str, Array], _: ExitStack) -> Program:
    """Call torch."""
    import torch

    wait: Callable[[], object] = torch.cuda.synchronize if on == "cuda" else lambda: None
    inputs = [torch.from_numpy(given[kind]).to(on) for kind in row.inputs.values()]
    results: list[Any] = [None]

    def launch() -> None:
        results[0] = None
        results[0] = TORCH[row.name](torch, *inputs)

    return Program(launch, wait, lambda: results[0].cpu().numpy())


#: The same in CUB by `cuda.compute`, by the name of the row; each takes the list, the result and their size.
CUB: Mapping[str, Callable[..., Any]] = {
    "Sum": lambda cub, x, out, n: cub.reduce_into(
        d_in=x, d_out=out, num_items=n, op=cub.OpKind.PLUS, h_init=np.zeros(1, np.float32)
    ),
    "Largest": lambda cub, x, out, n: cub.reduce_into(
        d_in=x, d_out=out, num_items=n, op=cub.OpKind.MAXIMUM, h_init=np.full(1, -np.inf, np.float32)
    ),
    "Sort": lambda cub, x, out, n: cub.radix_sort(
        d_in_keys=x, d_out_keys=out, num_items=n, order=cub.SortOrder.ASCENDING
    ),
    "Scan": lambda cub, x, out, n: cub.inclusive_scan(
        d_in=x, d_out=out, op=cub.OpKind.PLUS, init_value=np.zeros(1, np.float32), num_items=n
    ),
    "Histogram": lambda cub, x, out, n: cub.histogram_even(
        d_samples=x, d_histogram=out, num_output_levels=257, lower_level=np.float32(0), upper_level=np.float32(1),
        num_samples=n,
    ),
}  # fmt: skip


def cub_peer(device: Device, row: bench_blocks.Row, given: Mapping[str, Array], opened: ExitStack) -> Program:
    """Call CUB on the GPU."""
    from cuda import compute

    x = given["list"]
    shape, dtype = {"Sum": (1, np.float32), "Largest": (1, np.float32), "Histogram": (256, np.int32)}.get(
        row.name, (len(x), np.float32)
    )
    source, out = device.upload(x), device.upload(np.zeros(shape, dtype))
    for buffer in (source, out):
        opened.callback(buffer.free)
    return Program(lambda: CUB[row.name](compute, source, out, len(x)), device.synchronize, out.download)
