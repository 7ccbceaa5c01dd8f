"""Kernels of a training step are attributed to the members of the network that they were made from."""

import numpy as np
import pytest

from tests.inner_patches.networks import data, placed, small
from warploom import Engine, ProfilingLevel
from warploom.engine.inner_patches.network_model import Model
from warploom.engine.inner_patches.training import NetworkPatch
from warploom.engine.protocol.messages import NodeReport
from warploom.engine.tensor_ir.graph import made_for, reachable_nodes
from warploom.engine.tensor_ir.networks.builder import NetworkBuilder
from warploom.engine.tensor_ir.networks.network import build_network
from warploom.engine.tensor_ir.networks.optimisers import AdamW
from warploom.engine.tensor_ir.operations.elementwise import Elementwise


def with_activation() -> NetworkPatch:
    """Return the small network with the activation of its first layer as a node of its own."""
    network = small()
    network.set("hidden", activation="none")
    network.add("net.relu", node_id="bend")
    network.connect(network["hidden"]["out"], network["bend"]["x"])
    network.connect(network["bend"]["out"], network["last"]["x"])
    return network


def measured(network: NetworkPatch, profiling: ProfilingLevel, **options: object) -> NodeReport:
    patch, _ = placed(network, {"x": data(1, 500, 64), "y": data(2, 500, 1)}, **options)
    with Engine(patch, device="host", profiling=profiling) as engine:
        for _ in range(3):
            report = engine.step()
            assert not report.diagnostics
        return report.nodes["train"]


def test_each_operation_knows_its_parts() -> None:
    """A gradient belongs to the parts of the node that was differentiated, and an update to its weights' part."""
    network = build_network(Model(with_activation()).builder, AdamW(), average=True)
    step = network.functions["step"].writes
    for name in ("hiddenw", "hiddenb", "lastw", "lastb"):
        assert step[network.leaf(name)].parts == (name[:-1],), name
    nodes = [node for node in reachable_nodes(step.values()) if node.inputs]
    assert {part for node in nodes for part in node.parts} == {"hidden", "bend", "last", "error"}


def test_what_replaces_several_nodes_counts_for_their_parts_alone() -> None:
    """A combined node belongs to the parts that it replaces, except for those of a node that is still computed."""
    builder = NetworkBuilder()
    x = builder.dense_input("x", (3, 1))
    with made_for(("first",)):
        kept = x * 3.0
        difference = x - kept
    with made_for(("second",)):
        builder.root = difference.square().sum()
    builder.keep("kept", kept)
    nodes = reachable_nodes([build_network(builder).optimised])
    (combined,) = [node for node in nodes if node.operation == Elementwise("abs_power_error", (2.0,))]
    assert combined.parts == ("first", "second")


@pytest.mark.parametrize("options", [{}, {"query": False, "clip_gradients": True, "optimiser": "Ranger"}])
def test_times_of_members_add_up(options: dict[str, object]) -> None:
    """Times of members add up to at most the block's time; the rest is work such as the curve of losses."""
    report = measured(with_activation(), ProfilingLevel.PER_KERNEL, **options)
    parts = report.parts
    assert report.time_ns is not None and parts.keys() == {"hidden", "bend", "last", "error"}
    times = [part.time_ns for part in parts.values() if part.time_ns is not None]
    assert min(times) > 0 and sum(times) <= report.time_ns
    assert sum(part.kernels > 0 for part in parts.values()) == len(times)
    assert "bend" in parts["hidden"].fused_into


def test_no_times_without_a_measurement_of_each_kernel() -> None:
    """When times are measured by block, members have no times, but their fusions are reported."""
    parts = measured(with_activation(), ProfilingLevel.PER_BLOCK).parts
    assert [part.time_ns for part in parts.values()] == [None] * 4
    assert "bend" in parts["hidden"].fused_into and parts["bend"].kernels


def test_other_parts_don_t_change_what_is_computed() -> None:
    """A step has the same bits with the activation in a node of its own and in the layer."""
    found = []
    for network in (small(), with_activation()):
        patch, node = placed(network, {"x": data(1, 9, 64), "y": data(2, 9, 1)})
        with Engine(patch, device="host") as engine:
            engine.step()
            found.append(engine.read(node["hiddenw"]))
    np.testing.assert_array_equal(*found)
