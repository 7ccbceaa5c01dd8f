"""While value blocks and their connections are edited at random, a running engine agrees with a new one."""

import random

import numpy as np
import pytest

from warploom import Engine, Patch
from warploom.engine.diagnostics import PatchError, Severity
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import FrameReport

TEXTS = ["a + b", "a * 2 - c", "max(a, b)", "1 / (a - 0.37)"]
PARAMETERS = {
    "value.slider": ["setting", "low", "high"],
    "value.expression": ["a", "b", "c"],
    "math.scale_offset": ["scale", "offset"],
}


class Editor:
    """Makes random edits of a patch of sliders, expressions and device blocks, none of which depends on time."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.patch = Patch()
        self.patch.add("io.array", node_id="x", data=np.arange(1, 4, dtype=np.float32))

    def ids(self, prefix: str) -> list[str]:
        """Return the nodes whose type has a prefix; at least one."""
        return [node.id for node in self.patch.nodes.values() if node.type.startswith(prefix)]

    def edit(self) -> None:
        """Do one edit; an edit that is refused changes nothing."""
        kinds = (self.add, self.add_value, self.drive, self.drive, self.drive, self.release, self.set, self.set)
        kind = self.chance.choice((*kinds, self.remove, self.patch.undo, self.patch.undo, self.patch.redo))
        try:
            kind()
        except (PatchError, IndexError):  # refused, or there is nothing to choose from
            return

    def add(self) -> None:
        """Append a device block to another one."""
        source = self.chance.choice(["x", *self.ids("math")])
        node = self.patch.add("math.scale_offset", scale=self.chance.uniform(-2, 2))
        self.patch.connect(PortRef(source, "out"), node["x"])

    def add_value(self) -> None:
        """Place a value block."""
        if self.chance.random() < 0.5:
            self.patch.add("value.slider")
        else:
            self.patch.add("value.expression", text=self.chance.choice(TEXTS))

    def drive(self) -> None:
        """Connect a value to a parameter."""
        target = self.chance.choice(self.ids("value") + self.ids("math"))
        name = self.chance.choice(PARAMETERS[self.patch.nodes[target].type])
        self.patch.connect(PortRef(self.chance.choice(self.ids("value")), "value"), PortRef(target, name))

    def release(self) -> None:
        """Take a value connection away."""
        self.patch.disconnect(self.chance.choice(list(filter(self.patch.is_value_connection, self.patch.connections))))

    def set(self) -> None:
        """Set a parameter, driven or not."""
        node = self.chance.choice(self.ids("value") + self.ids("math"))
        self.patch.set(node, **{PARAMETERS[self.patch.nodes[node].type][0]: self.chance.random()})

    def remove(self) -> None:
        """Remove a node."""
        self.patch.remove(self.chance.choice(self.ids("value") + self.ids("math")))


@pytest.mark.parametrize("seed", range(6))
def test_edits_of_values_give_what_a_fresh_engine_gives(seed: int) -> None:
    """After each edit, values, warnings and buffers equal a new engine's; frames run in between."""
    editor = Editor(seed)
    compared = 0
    with Engine(editor.patch, device="host") as engine:
        for _ in range(50):
            editor.edit()
            if editor.chance.random() < 0.4:
                engine.core.frame(free_running=True)
                continue
            report = engine.step()
            with Engine(editor.patch, device="host") as fresh:
                expected = fresh.step()
                if is_failing(report) or is_failing(expected):
                    continue  # a block that fails keeps its last value, which a fresh one doesn't have
                compared += 1
                assert report.values == expected.values
                assert set(report.diagnostics) == set(expected.diagnostics)
                if any(item.severity is Severity.ERROR for item in expected.diagnostics):
                    continue  # the edited engine keeps its running graph
                for node in editor.ids("math"):
                    port = PortRef(node, "out")
                    np.testing.assert_array_equal(engine.read(port), fresh.read(port))
    assert compared > 5


def is_failing(report: FrameReport) -> bool:
    """Return whether any expression has no value."""
    return any(item.severity is Severity.ERROR and "expression" in str(item.node) for item in report.diagnostics)
