"""The types, the interface and the kernel of a source's op graph.

The results of the latest sources are cached, since editor and engine request the same.
"""

from functools import lru_cache
from typing import Literal
from weakref import WeakValueDictionary

import msgspec

from warploom.engine.kernel_sources.sources import OpGraphSource
from warploom.engine.ops import OpGraph, OpInterface, OpKernel
from warploom.engine.ops.analysis import Analysis, analyse
from warploom.engine.ops.interface import ToldNumbers, interface_of, without_numbers
from warploom.engine.ops.lowering.kernel import lower
from warploom.engine.ops.pixels import with_pixels
from warploom.engine.processes.pool import run

#: The entry point of a kernel drawn from ops.
GRAPH_ENTRY = "kernel"
#: The number of sources whose results are cached.
_MOST = 512
#: Graphs of more ops are compiled in a worker process: noise takes 8 ms an op, most ops take 0.1.
_MOST_HERE = 200


@lru_cache(_MOST)
def _parsed(source: OpGraphSource) -> OpGraph:
    return source.parsed()


@lru_cache(_MOST)
def analysis(source: OpGraphSource) -> Analysis:
    """Return the graph with its types and errors. Raise OpError when the text holds no graph."""
    return analyse(_parsed(source))


@lru_cache(_MOST)
def interface(source: OpGraphSource) -> OpInterface:
    """Return the facts about the graph that a block needs. Raise OpError when it is wrong. Nothing is compiled."""
    return interface_of(analysis(source))


@lru_cache(_MOST)
def _told(source: OpGraphSource) -> ToldNumbers:
    return ToldNumbers(analysis(source))


@lru_cache(_MOST)
def shared(source: OpGraphSource) -> OpGraphSource:
    """Return a source that graphs share if they differ only in numbers that a kernel can take as arguments."""
    return OpGraphSource.of(without_numbers(_parsed(source), _told(source)))


@lru_cache(_MOST)
def kernel(source: OpGraphSource) -> OpKernel:
    """Return the compiled graph with its numbers in the code. Raise OpError when it is wrong.

    A large graph is compiled in a worker process, where time and memory are limited. Raise CompilerCrash above a limit.
    """
    if len(_parsed(source).nodes) <= _MOST_HERE:
        return lower(analysis(source), GRAPH_ENTRY)
    interface(source)  # raises OpError here
    return run(_with_ptx, source)


def _with_ptx(source: OpGraphSource) -> OpKernel:
    made = lower(analysis(source), GRAPH_ENTRY)
    return msgspec.structs.replace(made, written=made.kernel_ptx)


@lru_cache(_MOST)
def with_own_pixels(source: OpGraphSource, pixels: tuple[tuple[str, str], ...]) -> OpGraphSource:
    """Return a source that reads and writes these pixels, by the names of inputs and outputs, instead of float4."""
    return OpGraphSource.of(with_pixels(_parsed(source), dict(pixels)))


def told_kernel(source: OpGraphSource, elements_per_thread: Literal[1, 4] = 1) -> OpKernel:
    """Return the compiled graph, whose kernel reads its numbers from its arguments."""
    return lower(analysis(source), GRAPH_ENTRY, elements_per_thread=elements_per_thread, is_told=True)


#: A kernel by the result of `shared` for its graph.
_launched: WeakValueDictionary[OpGraphSource, OpKernel] = WeakValueDictionary()


def launched(source: OpGraphSource) -> OpKernel:
    """Return the kernel that launches use: its code may hold the numbers of another graph with the same `shared`.

    So editing a number compiles nothing.
    """
    alike = shared(source)
    known = _launched.get(alike)
    if known is None:
        known = _launched[alike] = kernel(source)
    return msgspec.structs.replace(known, numbers=_told(source).packed())
