"""Training steps beside torch, in one run: `python -m tests.benchmarks.bench_tensor --device host|cuda:0 [NAME]...`

On a GPU, the steps are those of 768 -> 256 -> 1 networks on 16384 examples, dense and with 32 ones in each sparse
column; torch's step is captured in a CUDA graph. On the host, they are those of a classifier of digits. All are trained
by AdamW in f32. Times are medians. With --profile, the times of each operation are printed too; with --tf32, products
round their factors, also in torch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from typing import Any

import numpy as np

from tests.benchmarks.bench_fusion import milliseconds
from warploom import open_device
from warploom.engine.device.device import Device
from warploom.engine.tensor_ir.networks.losses import softmax_cross_entropy
from warploom.engine.tensor_ir.networks.optimisers import AdamW
from warploom.engine.tensor_runtime.training.graph import GraphBuilder, TrainingGraph
from warploom.tensors import allow_tf32

Array = np.ndarray[Any, Any]
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
            x = random.standard_normal((batch, ROWS), np.float32)
            if is_sparse:
                x = np.argpartition(x, ONES, axis=1)[:, :ONES].astype(np.int32)
            y = random.random((batch, 1), np.float32)
        self.inputs = {"inputs": x, "targets": y}

    def graph(self, device: Device) -> TrainingGraph:
        """Return the network's graph on a device, with its inputs."""
        graph = self.builder.build(device, AdamW(), average=True)
        graph.set_inputs(self.inputs)
        return graph

    def torch_step(self, torch: Any, on: str) -> Callable[[], object]:
        """Return a function that makes the same step with torch."""
        functions, sizes = torch.nn.functional, (PIXELS, HIDDEN, DIGITS) if self.name == "digits" else (ROWS, WIDTH, 1)
        first = torch.nn.EmbeddingBag(sizes[0], sizes[1], mode="sum") if self.name == "sparse" else None
        first = (first or torch.nn.Linear(*sizes[:2])).to(on)
        bias = torch.nn.Parameter(torch.zeros(sizes[1], device=on)) if self.name == "sparse" else None
        second = torch.nn.Linear(*sizes[1:]).to(on)
        weights = [*first.parameters(), *second.parameters(), *([] if bias is None else [bias])]
        x, y = (torch.from_numpy(array).to(on) for array in self.inputs.values())
        options = {"capturable": True} if on != "cpu" else {}
        optimiser = torch.optim.AdamW(weights, fused=True, **options)

        def step() -> None:
            optimiser.zero_grad(set_to_none=True)
            hidden = first(x) if bias is None else first(x) + bias
            out = second(hidden.relu())
            if self.name == "digits":
                loss = functions.cross_entropy(out, y)
            else:
                loss = (out.sigmoid() - y).abs().pow(2.0).mean()
            loss.backward()
            optimiser.step()

        return step


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
    if on_gpu:
        yield from (Case(name, EXAMPLES) for name in ("dense", "sparse"))
    else:
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
            with case.graph(device) as graph:
                many = milliseconds(graph.step, graph.synchronize, count)
                loop = milliseconds(lambda graph=graph: graph.steps(count), graph.synchronize, 1) / count
                print(f"{case.name}, batch {case.batch}: {many * 1e3:.1f} us a step, {loop * 1e3:.1f} us in a loop")
                if options.profile:
                    for entry in graph.profile("step"):
                        print(f"    {entry.time_ns / 1e3:8.1f} us  {entry.what}: {', '.join(entry.nodes)[:80]}")
            if torch is None:
                continue
            on = f"cuda:{device.info.name.partition(':')[2]}" if on_gpu else "cpu"
            step = case.torch_step(torch, on)
            wait = torch.cuda.synchronize if on_gpu else lambda: None
            eager = milliseconds(step, wait, count)
            print(f"    torch {eager * 1e3:.1f} us: {eager / many:.2f} x")
            if on_gpu:
                replayed = milliseconds(captured(torch, step), wait, count)
                print(f"    torch in a CUDA graph {replayed * 1e3:.1f} us: {replayed / many:.2f} x")


if __name__ == "__main__":
    main()
