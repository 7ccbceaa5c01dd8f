"""Lazy tensors: the time to build, sort and execute graphs, by size and form.

`first` compiles, and `again` is an equal graph in the same process. Run as `python -m tests.benchmarks.bench_lazy
--device host [--sizes 1000,10000,100000] [--forms chain,wide,random]`.
"""

import argparse
import time
from collections.abc import Callable
from functools import reduce
from operator import add
from random import Random

import numpy as np

from warploom.engine.tensor_ir.ordering import topological_order
from warploom.tensors import Tensor


def chain(x: Tensor, count: int) -> Tensor:
    """Return a tensor of operations that each use the previous result."""
    out = x
    for turn in range(count):
        out = out + x if turn % 2 else out * x
    return out


def wide(x: Tensor, count: int) -> Tensor:
    """Return a sum of operations: half of them are independent, and the other half adds these up."""
    level = [x + x for _ in range(count // 2)]
    while len(level) > 1:
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + level[len(level) & ~1 :]
    return level[0]


def random(x: Tensor, count: int) -> Tensor:
    """Return a tensor of operations that each use two of the last fifty results."""
    choose = Random(count)
    recent = [x]
    for _ in range(count):
        a, b = choose.choice(recent), choose.choice(recent)
        recent = [*recent[-49:], a.maximum(b) if choose.random() < 0.5 else (a + b).tanh()]
    return recent[-1]


def mixed(x: Tensor, count: int) -> Tensor:
    """Return a sum of operations of many kinds on matrices, columns, rows and numbers among the last results."""
    choose = Random(count)
    size = int(x.size**0.5)
    square = x.reshape((size, size))
    recent = [square, x[:size].reshape((size, 1)), x[:size].reshape((1, size)), x[0]]
    for _ in range(count):
        a, b, c = (choose.choice(recent) for _ in range(3))
        match choose.randrange(10):
            case 0:
                out = (a * 0.5).tanh()
            case 1:
                out = a.sum(axis=choose.randrange(2), keepdims=True) * 0.1 if a.shape else a.sigmoid()
            case 2:
                out = a.max(axis=-1, keepdims=True) if a.shape else a.relu()
            case 3:
                out = a.transpose((1, 0)) if a.shape else -a
            case 4:
                out = (square @ a).tanh() if a.shape and a.shape[0] == size else a.square()
            case 5:
                out = a.less(b).where(b, c)
            case 6:
                out = a.softmax(0) if a.shape else a.sin()
            case 7:
                several = [choose.choice(recent) for _ in range(choose.randint(2, 8))]
                out = reduce(Tensor.maximum, several)
            case _:
                out = (a - b).tanh()
        if len(recent) < 60:
            recent.append(out)
        else:
            recent[choose.randrange(60)] = out
    return reduce(add, recent)


FORMS: dict[str, Callable[[Tensor, int], Tensor]] = {"chain": chain, "wide": wide, "random": random, "mixed": mixed}


def main() -> None:
    """Print a line for each form and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--forms", default=",".join(FORMS))
    options = parser.parse_args()
    x = Tensor.from_numpy(np.full(64, 0.5, np.float32), device=options.device)
    (x + 1).execute()
    print(f"{x.device}: seconds; microseconds per node in brackets")
    print(f"{'form':8}{'nodes':>9}{'build':>16}{'sort':>16}{'first':>18}{'again':>16}")
    for form in options.forms.split(","):
        for size in map(int, options.sizes.split(",")):
            times = []
            for _ in range(2):
                start = time.perf_counter()
                out = FORMS[form](x, size)
                built = time.perf_counter()
                count = len(topological_order([out._node()]))
                ordered = time.perf_counter()
                out.execute()
                times.append((built - start, ordered - built, time.perf_counter() - ordered))
            told = [f"{t:.3f} ({t / count * 1e6:.1f})" for t in (*times[0], times[1][2])]
            print(f"{form:8}{count:>9,}{told[0]:>16}{told[1]:>16}{told[2]:>18}{told[3]:>16}", flush=True)


if __name__ == "__main__":
    main()
