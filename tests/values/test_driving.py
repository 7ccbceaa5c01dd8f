"""Driving: how values are converted, what is reported, and which value a parameter has after disconnecting."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.values.running import Running
from warploom import Patch
from warploom.api import Block
from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.diagnostics import Severity
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.types.bits import same
from warploom.engine.values.wiring import Drive

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.floats(-10, 10), st.integers(-10, 10), st.booleans()
)


@given(st.lists(NUMBERS, min_size=1, max_size=10))
def test_a_driven_parameter_takes_the_nearest_value_that_it_may_have(values: list[float]) -> None:
    """Integers are rounded, booleans are true unless 0, and values are limited to their bounds, with a diagnostic."""
    for kind, low, high in (("float", -1.0, 1.0), ("int", -5, 5), ("bool", None, None), ("float", None, None)):
        spec = ParameterSpec("p", kind, 0, "doc", low, high)
        told: list[Any] = []
        connection = Connection(PortRef("a", "value"), PortRef("b", "p"))
        drive = Drive(connection, spec, None, told.append)
        for value in values:
            drive.put(value)
            exact = {"float": float, "int": lambda v: int(np.rint(v)), "bool": bool}[kind](value)
            edges = (-3.4028234663852886e38, 3.4028234663852886e38) if low is None else (low, high)
            expected = exact if kind == "bool" else min(max(exact, edges[0]), edges[1])
            assert drive.value == told[-1] == expected and isinstance(told[-1], type(spec.coerce(told[-1])))
            assert (drive.diagnostic is not None) == (kind != "bool" and exact != expected)
        assert not any(same(a, b) for a, b in pairwise(told))


def test_a_value_out_of_bounds_is_reported_while_it_lasts(target: type[Block]) -> None:
    """A value out of bounds is a warning on the driven node with source and remedy, until it is in bounds."""
    patch = Patch()
    slider = patch.add("value.slider", high=10.0, setting=0.5)
    driven = patch.add("test_values.target", node_id="driven")
    patch.connect(slider["value"], driven["number"])
    running = Running(patch)
    assert running.run(1, driven["number"]) == 1.0
    (told,) = running.graph.diagnostics
    assert (told.severity, told.node, told.port) == (Severity.WARNING, "driven", "number")
    assert told.message == "parameter number must be at most 1, got more from slider.value"
    running.parameters.set("slider", "setting", 0.05)
    assert running.run(1, driven["number"]) == 0.5
    assert running.graph.diagnostics == ()
    running.parameters.set("slider", "low", -30.0)
    running.run(1)
    assert running.graph.diagnostics[0].message == "parameter number must be at least -1, got less from slider.value"


def test_the_running_graph_receives_changes_only(target: type[Block]) -> None:
    """Only values that have changed are written to the running graph."""
    patch = Patch()
    slider, driven = patch.add("value.slider"), patch.add("test_values.target", node_id="driven")
    patch.connect(slider["value"], driven["wide"])
    running = Running(patch)
    running.run(1)
    assert running.parameters.take_changed() == {("driven", "wide"): 0.5}
    running.run(5)
    assert running.parameters.take_changed() == {}


def test_a_parameter_returns_to_what_the_patch_says(target: type[Block]) -> None:
    """After disconnecting, a parameter has the patch's value, even if that was set while the parameter was driven."""
    patch = Patch()
    slider, driven = patch.add("value.slider"), patch.add("test_values.target", node_id="driven", wide=3.0)
    connection = patch.connect(slider["value"], driven["wide"])
    running = Running(patch)
    running.run(1)
    parameters, values = running.parameters, running.parameters.values["driven"]
    assert parameters.is_driven("driven", "wide") and not parameters.is_driven("driven", "number")
    assert parameters.patch_values("driven") == {"wide": 3.0}
    parameters.set("driven", "wide", 4.0)
    assert values["wide"] == 0.5
    assert parameters.patch_values("driven") == {"wide": 4.0}
    parameters.take_changed()
    running.graph.disconnect(connection)
    assert values["wide"] == 4.0
    assert parameters.take_changed() == {("driven", "wide"): 4.0}
    running.run(1)
    assert not parameters.is_driven("driven", "wide")


def test_values_of_a_node_that_came_back_are_driven_again(target: type[Block]) -> None:
    """A block that is replaced (by undo, or by a new version) is driven through the connections of the previous one."""
    patch = Patch()
    slider, driven = patch.add("value.slider"), patch.add("test_values.target", node_id="driven")
    patch.connect(slider["value"], driven["wide"])
    running = Running(patch)
    running.run(1)
    running.parameters.place("driven", target.parameters, {"wide": 9.0}, reaches_kernels=True)
    running.graph.rewire()
    running.run(1)
    assert running.parameters.values["driven"]["wide"] == 0.5
    assert running.parameters.patch_values("driven") == {"wide": 9.0}
