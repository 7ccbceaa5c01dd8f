"""With any fusion, every port has the contents that it has when each block has its own kernel."""

import random
from contextlib import ExitStack

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.runtime.update.update_support import contents, differences, errors, outputs
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.compiler.operations import FusedEntry
from warploom.engine.device.device import Device
from warploom.engine.ops import graph_to_json, parse_expression
from warploom.engine.patch.document import NodeRef
from warploom.engine.protocol.messages import SetFusing, SetProfiling

EDITS = 10
SIZES: tuple[tuple[int, ...], ...] = ((1,), (7,), (1027,), (31, 33))
#: Expressions of blocks, of x, or of x and y; `k` is a slider, and the names of sliders clash.
TEXTS = (
    "x * k + 1",
    "sin(x)",
    "x * y - k",
    "x if x > y else k",
    "fma(x, y, k)",
    "x + time",
    "x * u + y",
    "sqrt(abs(x))",
)
REDUCTIONS = ("sum", "smallest", "largest", "count")


def computing(patch: Patch, text: str, sources: list[NodeRef]) -> NodeRef:
    """Add a block that computes an expression of other blocks' outputs."""
    inputs = dict.fromkeys("xy"[: 1 + ("y" in text)], "f32")
    node = patch.add("kernel.graph", graph=graph_to_json(parse_expression(text, inputs=inputs)))
    for name, source in zip(inputs, sources, strict=False):
        patch.connect(source["out"], node[name])
    return node


class _Patch:
    """A patch that is edited at random; each block reads blocks that existed before it."""

    def __init__(self, seed: int) -> None:
        self.patch, self.chance = Patch(), random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        shape = self.chance.choice(SIZES)
        self._arrays = [self.patch.add("io.array", data=self._array(shape)) for _ in range(2)]
        self.nodes = [*self._arrays]
        self._totals: list[NodeRef] = []
        for _ in range(self.chance.randint(4, 9)):
            self.add()

    def _array(self, shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return self._numbers.normal(size=shape).astype(np.float32)

    def add(self) -> None:
        """Add a block behind some others, most often the newest; nothing follows a reduction."""
        newest = self.nodes[-1]
        if self.chance.random() < 0.2:
            self._totals.append(self.patch.add(f"reduce.{self.chance.choice(REDUCTIONS)}"))
            self.patch.connect(self.chance.choice(self.nodes[-2:])["out"], self._totals[-1]["x"])
            return
        sources = [newest if self.chance.random() < 0.7 else self.chance.choice(self.nodes) for _ in range(2)]
        if self.chance.random() < 0.1:
            made = self.patch.add("math.saxpy", a=0.5)  # a CUDA C++ kernel, which is not fused
            self.patch.connect(sources[0]["out"], made["x"])
            self.patch.connect(sources[1]["out"], made["y"])
        else:
            made = computing(self.patch, self.chance.choice(TEXTS), sources)
        self.nodes.append(made)

    def edit(self) -> str:
        """Make one edit and return its description."""
        stages = [node for node in self.nodes if node not in self._arrays]
        kinds = ("slider", "slider", "add", "remove", "rewire", "rewire", "size", "text", "switch", "total")
        kind = self.chance.choice(kinds)
        node = self.chance.choice(stages) if stages else None
        if kind == "add" or node is None:
            self.add()
        elif kind == "total" and self._totals:
            if self.chance.random() < 0.5:
                self.patch.remove(self._totals.pop())
            else:
                self.patch.connect(node["out"], self.chance.choice(self._totals)["x"])
        elif kind == "slider":
            name = {"kernel.graph": "k", "math.saxpy": "a"}[self.patch.nodes[node.id].type]
            if name in self.patch.block_type(node.id).parameters:
                self.patch.set(node, **{name: self.chance.uniform(-3, 3)})
        elif kind == "remove" and len(stages) > 2:
            self.patch.remove(node)
            self.nodes.remove(node)
        elif kind == "rewire":
            before = self.nodes[: self.nodes.index(node)]
            self.patch.connect(self.chance.choice(before)["out"], node["x"])
        elif kind == "size":
            shape = self.chance.choice(SIZES)
            for array in self._arrays:
                self.patch.set(array, data=self._array(shape))
        elif kind == "text" and self.patch.nodes[node.id].type == "kernel.graph":
            text = self.chance.choice(TEXTS)
            inputs = dict.fromkeys("xy", "f32")
            self.patch.set(node, graph=graph_to_json(parse_expression(text, inputs=inputs)))
        return kind


@pytest.mark.parametrize("seed", seeds(4))
def test_fused_patches_live_through_edits_as_others_do(device: Device, seed: int) -> None:
    """Through random edits, every port of a fused patch has the contents that it has without fusion."""
    made, fused_kernels = _Patch(seed), 0
    with ExitStack() as closing:
        fused = closing.enter_context(Engine(made.patch, device=device))
        plain = closing.enter_context(Engine(made.patch, device=device, fuse=False))
        for number in range(EDITS):
            edit = made.edit() if number else "first build"
            if edit == "switch":
                messages = (SetFusing(False), SetFusing(True), SetProfiling(made.chance.choice(list(ProfilingLevel))))
                fused.post(made.chance.choice(messages))
            assert errors(fused.step()) == errors(plain.step())
            ports = outputs(made.patch)
            told = differences(contents(fused, ports), contents(plain, ports))
            assert not told, f"{number} {edit}: " + "\n".join(told)
            compiled = fused.core.updates.compiled
            assert compiled is not None
            fused_kernels += sum(isinstance(o.entry, FusedEntry) for o in compiled.plan.operations)
    assert fused_kernels > 0 or seed > 3  # few random patches have nothing to fuse
