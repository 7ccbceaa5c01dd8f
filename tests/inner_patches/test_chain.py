"""Chains of library calls: each is one captured node, whose ports and sliders are the chain's ends."""

from typing import Any

import numpy as np
import pytest

from warploom import Engine, Patch, UpdateLevel
from warploom.blocks.kernel.chain import _PRODUCTS
from warploom.engine.descriptions.entries import CaptureEntry
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import PatchError
from warploom.engine.inner_patches.chain import ChainPatch
from warploom.engine.inner_patches.chain_members import chain_catalogue
from warploom.engine.patch.document import NodeRef
from warploom.engine.types import Array


def matrix(seed: int, size: int = 5) -> Array:
    return np.random.default_rng(seed).standard_normal((size, size)).astype(np.float32)


def running(chain: ChainPatch, *arrays: Array) -> tuple[Patch, NodeRef]:
    """Return a patch with a chain's block; the arrays feed its inputs in order."""
    patch = Patch()
    node = patch.add("kernel.chain", graph=chain.json())
    block_type = patch.block_type(node.id)
    assert block_type is not None
    for spec, array in zip(block_type.inputs(), arrays, strict=True):
        patch.connect(patch.add("io.array", data=array)["out"], node[spec.name])
    return patch, node


def products() -> ChainPatch:
    return ChainPatch.parse(_PRODUCTS)


def test_a_chain_is_one_captured_node() -> None:
    """Two calls with an internal buffer between them become one captured node."""
    a, b = matrix(1), matrix(2)
    patch, node = running(products(), a, b)
    with Engine(patch, device="host") as engine:
        assert not engine.step().diagnostics
        assert np.allclose(engine.read(node["result"]), a @ b @ b, rtol=1e-5, atol=1e-5)
        compiled = engine.core.updates.compiled
        assert compiled is not None
        (entry,) = (o.entry for o in compiled.plan.operations)
        assert isinstance(entry, CaptureEntry) and [made.call.label for made in entry.calls] == ["gemm", "gemm"]


def test_a_number_is_a_live_parameter() -> None:
    """A number can drive several calls of a chain; a call without a connected number uses its own setting."""
    chain = products()
    number = chain.add("chain.number", node_id="gain", default=2.0, minimum=0.0, maximum=4.0)
    chain.connect(number["value"], chain["first"]["alpha"])
    chain.connect(number["value"], chain["second"]["alpha"])
    chain.set("first", beta=0.0)
    a, b = matrix(3), matrix(4)
    patch, node = running(chain, a, b)
    spec = patch.block_type(node.id).parameters["gain"]  # type: ignore[union-attr]
    assert (spec.default, spec.minimum, spec.maximum) == (2.0, 0.0, 4.0)
    with Engine(patch, device="host") as engine:
        engine.step()
        assert np.allclose(engine.read(node["result"]), 4 * a @ b @ b, rtol=1e-4, atol=1e-4)
        patch.set(node, gain=0.5)
        assert engine.step().update_level is UpdateLevel.HOT
        assert np.allclose(engine.read(node["result"]), 0.25 * a @ b @ b, rtol=1e-4, atol=1e-4)


def test_what_lies_between_can_be_an_output_too() -> None:
    """An intermediate result can be an output of the chain while later calls still read it."""
    chain = products()
    between = chain.add("chain.output", node_id="between")
    chain.connect(chain["first"]["out"], between["value"])
    a, b = matrix(5), matrix(6)
    patch, node = running(chain, a, b)
    with Engine(patch, device="host") as engine:
        engine.step()
        assert np.allclose(engine.read(node["between"]), a @ b, rtol=1e-5, atol=1e-5)
        assert np.allclose(engine.read(node["result"]), a @ b @ b, rtol=1e-4, atol=1e-4)


def harm_input(chain: ChainPatch) -> None:
    chain.disconnect(chain["first"]["a"])


def harm_output(chain: ChainPatch) -> None:
    chain.disconnect(chain["result"]["value"])


def pass_through(chain: ChainPatch) -> None:
    chain.disconnect(chain["result"]["value"])
    chain.connect(chain["a"]["value"], chain["result"]["value"])


def give_twice(chain: ChainPatch) -> None:
    chain.connect(chain["second"]["out"], chain.add("chain.output", node_id="again")["value"])


def name_twice(chain: ChainPatch) -> None:
    chain.set("a", name="b")


def name_badly(chain: ChainPatch) -> None:
    chain.set("a", name="not a name")


def name_by_a_keyword(chain: ChainPatch) -> None:
    chain.set("a", name="class")


def add_kernel(chain: ChainPatch) -> None:
    chain.add("math.scale_offset", node_id="kernel")


def empty(chain: ChainPatch) -> None:
    chain.remove("result")


@pytest.mark.parametrize(
    ("harm", "node", "port", "words"),
    [
        (harm_input, "first", "a", "input must be connected"),
        (harm_output, "result", "value", "output must be connected"),
        (pass_through, "result", "value", "output must come from a library call, got an input"),
        (give_twice, "again", None, "output must have a source of its own, got that of result"),
        (name_twice, "b", "name", "name must be given once, got 'b' twice"),
        (name_badly, "a", "name", "name must be one that a port can have, got 'not a name'"),
        (name_by_a_keyword, "a", "name", "name must be one that a port can have, got 'class'"),
        (add_kernel, "kernel", None, "must consist of library calls only, got Scale Offset"),
        (empty, None, None, "chain must have an output"),
    ],
)
def test_each_mistake_is_told_at_its_block(harm: Any, node: str | None, port: str | None, words: str) -> None:
    """A mistake in a chain is reported at its node, the previous chain continues, and its block shows the message."""
    a, b = matrix(7), matrix(8)
    patch, placed = running(products(), a, b)
    chain = products()
    harm(chain)
    found = [problem for problem in chain.problems if words in problem.message]
    assert [(problem.node, problem.port) for problem in found] == [(node, port)]
    with pytest.raises(PatchError):
        chain.chain.interface()
    with Engine(patch, device="host") as engine:
        engine.step()
        patch.set(placed, graph=chain.json())
        (problem,) = engine.step().diagnostics
        assert problem.node == placed.id
        assert np.allclose(engine.read(placed["result"]), a @ b @ b, rtol=1e-5, atol=1e-5)


def test_a_chain_goes_to_json_and_back() -> None:
    """A chain that goes through JSON keeps positions, settings and the order of its nodes."""
    chain = products()
    chain.set("first", alpha=2.0)
    again = ChainPatch.parse(chain.json())
    assert again.json() == chain.json() and list(again.nodes) == list(chain.nodes)


def test_the_catalogue_has_ends_and_library_calls_alone() -> None:
    """The catalogue of chains offers ends and library calls, but no blocks with kernels or for single numbers."""
    members = {block.id for block in chain_catalogue().all()}
    assert {"chain.input", "chain.output", "chain.number", "linalg.multiply"} <= members
    assert members.isdisjoint({"math.add", "value.slider", "kernel.chain", "control.for"})
    assert "linalg.multiply" in {block.id for block in chain_catalogue().search("matmul")}


def test_a_call_in_a_chain_may_fail() -> None:
    """The warning of a failed call is shown at the chain's output."""
    chain = ChainPatch()
    ends = [chain.add("chain.input", node_id=name) for name in "ab"]
    solve, norm = chain.add("linalg.solve"), chain.add("linalg.norm")
    for end, port in zip(ends, "ab", strict=True):
        chain.connect(end["value"], solve[port])
    chain.connect(solve["x"], norm["x"])
    chain.connect(norm["out"], chain.add("chain.output", node_id="length")["value"])
    patch, node = running(chain, np.zeros((3, 3), np.float32), np.ones((3, 1), np.float32))
    with Engine(patch, device="host") as engine:
        (reported,) = engine.step().diagnostics
    assert (reported.node, reported.port) == (node.id, "length") and "must be invertible" in reported.message


def in_place() -> ChainPatch:
    """Return a chain of y + |y| x and that sum times its own length; |y| and the sum are outputs too."""
    chain = ChainPatch()
    x, y = (chain.add("chain.input", node_id=name) for name in "xy")
    length, add = chain.add("linalg.norm", node_id="length"), chain.add("linalg.add_scaled", node_id="add")
    chain.connect(y["value"], length["x"])
    for port, source in (("x", x["value"]), ("y", y["value"]), ("factor", length["out"])):
        chain.connect(source, add[port])
    other, scaled = chain.add("linalg.norm", node_id="other"), chain.add("linalg.scale", node_id="scale")
    chain.connect(add["out"], other["x"])
    chain.connect(add["out"], scaled["x"])
    chain.connect(other["out"], scaled["factor"])
    for name, source in (("sum", add["out"]), ("result", scaled["out"]), ("size", length["out"])):
        chain.connect(source, chain.add("chain.output", node_id=name)["value"])
    return chain


def test_calls_that_work_in_place_change_nothing_that_others_read(device: Device) -> None:
    """Calls that work in place change neither the chain's inputs nor values that other calls or outputs read."""
    x, y = matrix(9, 7)[0], matrix(10, 7)[0]
    patch, node = running(in_place(), x, y)
    source = next(c.source for c in patch.connections if c.target.port == "y")
    with Engine(patch, device=device) as engine:
        for _ in range(2):  # a second frame would read inputs that the first one changed
            assert not engine.step().diagnostics
            total = y + np.linalg.norm(y) * x
            np.testing.assert_allclose(engine.read(node["size"]), [np.linalg.norm(y)], rtol=1e-6)
            np.testing.assert_allclose(engine.read(node["sum"]), total, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(engine.read(node["result"]), total * np.linalg.norm(total), rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(engine.read(source), y)
        assert {"linalg.scale", "linalg.add_scaled"} <= {block.id for block in chain_catalogue().all()}


def test_a_copy_takes_no_gaps() -> None:
    """An array that a call changes in place must have no gaps, inside a chain as elsewhere."""
    patch, node = running(in_place(), matrix(9, 7)[0], matrix(10, 7)[0])
    source = next(c.source for c in patch.connections if c.target.port == "y")
    view = patch.add("buffer.transpose")
    patch.connect(patch.add("io.array", data=matrix(10, 7))["out"], view["x"])
    patch.disconnect(next(c for c in patch.connections if c.source == source))
    patch.connect(view["out"], node["y"])
    with Engine(patch, device="host") as engine:
        problems = engine.step().diagnostics
    assert any("no gaps" in problem.message and problem.node == node.id for problem in problems), problems


def test_settings_that_a_file_has_wrong_count_as_the_defaults() -> None:
    """Wrong names, wrong numbers and unknown parameters count as the defaults, as in any patch."""
    chain = products().json()
    chain["nodes"][0]["parameters"] = {"name": 3.5}
    chain["nodes"][2]["parameters"] = {"transpose_a": "maybe", "gone": 1}
    chain["nodes"].append({"id": "k", "type": "chain.number", "position": [0, 0], "parameters": {"default": "high"}})
    made = ChainPatch.parse(chain)
    assert not made.problems
    interface = made.chain.interface()
    assert [port.name for port in interface.ports] == ["a", "b", "result"]
    assert [(item.name, item.default) for item in interface.parameters] == [("k", 1.0)]
