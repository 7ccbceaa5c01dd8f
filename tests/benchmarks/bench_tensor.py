"""Training steps beside torch, in one run: `python -m tests.benchmarks.bench_tensor --device host|cuda:0 [NAME]...`

The networks, trained by AdamW in f32:

- dense, sparse: 768 -> 256 -> 1 on 16384 examples, of ordinary columns, or of sparse ones with 32 ones
- positions: two such sparse columns for each example, one first layer for both, whose results are joined
- digits: a classifier, on few examples

On a GPU, torch's step is captured in a CUDA graph. On the host, the forward pass without gradients is compared too, and
torch uses as many threads as there are cores. Torch's rows are left out where it isn't installed. Times are medians.
With --profile, the times of each operation are printed too; with --tf32, products round their factors, also in torch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from typing import Any

import numpy as np

from tests.benchmarks.bench_fusion import milliseconds
from warploom import open_device
from warploom.engine.device.device import Device
from warploom.engine.tensor_ir.networks.losses import softmax_cross_entropy
from warploom.engine.tensor_ir.networks.optimisers import AdamW
from warploom.engine.tensor_runtime.training.graph import GraphBuilder, TrainingGraph
from warploom.engine.types import Array
from warploom.tensors import allow_tf32

ROWS, WIDTH, ONES, EXAMPLES = 768, 256, 32, 16384
PIXELS, HIDDEN, DIGITS = 64, 64, 10


class Case:
    """A network, its inputs, and torch's function for its loss."""

    def __init__(self, name: str, batch: int) -> None:
        self.name, self.batch = name, batch
        random = np.random.default_rng(0)
        builder = self.builder = GraphBuilder()
        if name == "digits":
            inputs, targets = builder.dense_input("inputs", (PIXELS, 1)), builder.dense_input("targets", (DIGITS, 1))
            first, second = builder.affine("first", PIXELS, HIDDEN), builder.affine("second", HIDDEN, DIGITS)
            builder.root = softmax_cross_entropy(second.forward(first.forward(inputs).relu()), targets)
            x: Array = random.random((batch, PIXELS), np.float32)
            y: Array = np.eye(DIGITS, dtype=np.float32)[random.integers(0, DIGITS, batch)]
            self.inputs = {"inputs": x, "targets": y}
        elif name == "positions":
            sides = [builder.sparse_input(side, (ROWS, 1), ONES) for side in ("own", "other")]
            targets = builder.dense_input("targets", (1, 1))
            first, second = builder.affine("first", ROWS, WIDTH), builder.affine("second", 2 * WIDTH, 1)
            own, other = (first.forward(side).screlu() for side in sides)
            builder.root = (second.forward(own.concat(other)).sigmoid() - targets).abs_pow(2.0)
            self.inputs = {side: rows_with_ones(random, batch) for side in ("own", "other")}
            self.inputs["targets"] = random.random((batch, 1), np.float32)
        else:
            is_sparse = name == "sparse"
            column = (ROWS, 1)
            inputs = (
                builder.sparse_input("inputs", column, ONES) if is_sparse else builder.dense_input("inputs", column)
            )
            targets = builder.dense_input("targets", (1, 1))
            first, second = builder.affine("first", ROWS, WIDTH), builder.affine("second", WIDTH, 1)
            out = second.forward(first.forward(inputs).relu()).sigmoid()
            builder.root = (out - targets).abs_pow(2.0)
            x = rows_with_ones(random, batch) if is_sparse else random.standard_normal((batch, ROWS), np.float32)
            self.inputs = {"inputs": x, "targets": random.random((batch, 1), np.float32)}

    def graph(self, device: Device) -> TrainingGraph:
        """Return the network's graph on a device, with its inputs."""
        graph = self.builder.build(device, AdamW(), average=True)
        graph.set_inputs(self.inputs)
        return graph

    def torch_functions(self, torch: Any, on: str) -> tuple[Callable[[], object], Callable[[], object]]:
        """Return functions that make the same forward pass, without gradients, and the same step with torch."""
        functions, sizes = torch.nn.functional, (PIXELS, HIDDEN, DIGITS) if self.name == "digits" else (ROWS, WIDTH, 1)
        is_sparse = self.name in ("sparse", "positions")
        first = torch.nn.EmbeddingBag(*sizes[:2], mode="sum") if is_sparse else torch.nn.Linear(*sizes[:2])
        first = first.to(on)
        bias = torch.nn.Parameter(torch.zeros(sizes[1], device=on)) if is_sparse else None
        second = torch.nn.Linear(sizes[1] * (2 if self.name == "positions" else 1), sizes[2]).to(on)
        weights = [*first.parameters(), *second.parameters(), *([] if bias is None else [bias])]
        *xs, y = (torch.from_numpy(array).to(on) for array in self.inputs.values())
        options = {"capturable": True} if on != "cpu" else {}
        optimiser = torch.optim.AdamW(weights, fused=True, **options)

        def loss() -> Any:
            sums = [first(x) if bias is None else first(x) + bias for x in xs]
            hidden = [each.clamp(0, 1).square() if self.name == "positions" else each.relu() for each in sums]
            out = second(torch.cat(hidden, 1) if len(hidden) > 1 else hidden[0])
            if self.name == "digits":
                return functions.cross_entropy(out, y)
            return (out.sigmoid() - y).abs().pow(2.0).mean()

        def forward() -> None:
            with torch.no_grad():
                loss()

        def step() -> None:
            optimiser.zero_grad(set_to_none=True)
            loss().backward()
            optimiser.step()

        return forward, step


def rows_with_ones(random: np.random.Generator, batch: int) -> Array:
    """Return the rows of ones in sparse columns, in random order."""
    order = random.random((batch, ROWS), np.float32)
    return np.argpartition(order, ONES, axis=1)[:, :ONES].astype(np.int32)


def captured(torch: Any, step: Callable[[], object]) -> Callable[[], object]:
    """Return a function that launches a step as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    launch: Callable[[], object] = graph.replay
    return launch


def cases(on_gpu: bool) -> Iterator[Case]:
    """Yield the cases of a device."""
    yield from (
        Case(name, EXAMPLES) for name in (("dense", "sparse", "positions") if on_gpu else ("sparse", "positions"))
    )
    if not on_gpu:
        yield from (Case("digits", batch) for batch in (64, 256))


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="host")
    parser.add_argument("--plain-edges", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        torch = None  # only our own times are printed
    else:
        torch.backends.cuda.matmul.allow_tf32 = options.tf32
    with (
        closing(open_device(options.device, plain_edges=options.plain_edges)) as device,
        allow_tf32() if options.tf32 else nullcontext(),
    ):
        on_gpu = device.info.name != "host"
        count = 100 if on_gpu else 20
        print(device.info.title)
        for case in cases(on_gpu):
            if options.names and case.name not in options.names:
                continue
            count = 100 if on_gpu else 20 if case.name == "digits" else 3
            print(f"{case.name}, batch {case.batch}")
            with case.graph(device) as graph:
                forward, step = (milliseconds(run, graph.synchronize, count) for run in (graph.forward, graph.step))
                loop = milliseconds(partial(graph.steps, count), graph.synchronize, 1) / count
                print(f"    {shown(forward)} forward, {shown(step)} a step, {shown(loop)} in a loop")
                if options.profile:
                    for entry in graph.profile("step"):
                        print(f"    {shown(entry.time_ns / 1e6)}  {entry.what}: {', '.join(entry.nodes)[:80]}")
            if torch is None:
                continue
            on = f"cuda:{device.info.name.partition(':')[2]}" if on_gpu else "cpu"
            wait = torch.cuda.synchronize if on_gpu else lambda: None
            other_forward, other_step = (milliseconds(run, wait, count) for run in case.torch_functions(torch, on))
            print(
                f"    torch {shown(other_forward)} forward: {other_forward / forward:.2f} x, "
                f"{shown(other_step)} a step: {other_step / step:.2f} x"
            )
            if on_gpu:
                replayed = milliseconds(captured(torch, case.torch_functions(torch, on)[1]), wait, count)
                print(f"    torch in a CUDA graph {shown(replayed)} a step: {replayed / step:.2f} x")


def shown(time_ms: float) -> str:
    """Return a time as text."""
    return f"{time_ms:.2f} ms" if time_ms >= 1 else f"{time_ms * 1e3:.1f} us"


if __name__ == "__main__":
    main()
