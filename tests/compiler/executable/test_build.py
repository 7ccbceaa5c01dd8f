"""A plan becomes graph nodes with the right arguments, dependencies and timing events."""

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.compiler.support import patch_blocks as blocks
from tests.compiler.support.descriptions import (
    FakeDevice,
    FakeExecutable,
    FakeKernel,
    FakeMemory,
    FakePinned,
    array,
    graph,
    i,
    launch,
    node,
    o,
    source,
)
from warploom.engine.compiler.description import BlockNode
from warploom.engine.compiler.executable.arguments import Resources, TypedKernel
from warploom.engine.compiler.executable.build import BuiltGraph, build_graph
from warploom.engine.compiler.executable.compiled_graph import CompiledGraph, compile_plan
from warploom.engine.compiler.operations import FRAME, STATUS
from warploom.engine.compiler.plan import Plan
from warploom.engine.compiler.planning import make_plan
from warploom.engine.descriptions.entries import (
    Argument,
    BufferArgument,
    CopyEntry,
    Entry,
    ExtentArgument,
    FillEntry,
    FrameArgument,
    KernelEntry,
    ParameterArgument,
    ValueArgument,
)
from warploom.engine.descriptions.shapes.extents import Extent
from warploom.engine.device.arguments import ArgumentError
from warploom.engine.device.occupancy import KernelResources, MultiprocessorLimits
from warploom.engine.device.protocol import ConditionalKind
from warploom.engine.diagnostics import DeviceError, GraphValidationError
from warploom.engine.ptx.tree import KernelParameter


def kernel(*types: str, max_threads: int = 1024) -> TypedKernel:
    """Return a kernel that takes parameters of these PTX types, each in a slot of 8 bytes."""
    parameters = tuple(KernelParameter(f"p{k}", 8 * k, int(t[1:]) // 8, t) for k, t in enumerate(types))
    return TypedKernel(FakeKernel("k", parameters, max_threads), parameters)


def resources(
    plan: Plan,
    kernels: TypedKernel | None = None,
    values: Mapping[str, Mapping[str, object]] | None = None,
) -> Resources:
    """Return memory at addresses 1000, 2000 ... in the order of allocation, and kernels that accept any arguments."""
    memory = {
        owner: FakeMemory(1000 * (k + 1), b.layout.size_bytes)
        for k, (owner, b) in enumerate(plan.buffers.allocations.items())
    }
    memory[FRAME] = FakeMemory(77, 16)
    found = {
        index: kernels or kernel(*["u64"] * len(operation.entry.arguments))
        for index, operation in enumerate(plan.operations)
        if isinstance(operation.entry, KernelEntry)
    }
    return Resources(memory, found, values or {}, FakePinned(np.zeros(1, "V16")))  # type: ignore[arg-type]  # fakes


def build(
    plan: Plan,
    device: FakeDevice,
    kernels: TypedKernel | None = None,
    values: Mapping[str, Mapping[str, object]] | None = None,
) -> tuple[BuiltGraph, Resources]:
    """Build a plan on a device that only records."""
    given = resources(plan, kernels, values)
    return build_graph(plan, device, given), given  # type: ignore[arg-type]  # the fake only records


def single(*more: Argument, kernels: TypedKernel | None = None, **values: object) -> tuple[Plan, BuiltGraph]:
    """Build one block with an input, an unconnected optional input, an output, and `more` arguments."""
    ports = (i(), i("mask", optional=True), o())
    patch = graph(
        array("a", 5), node("n", *ports, entries=[launch(ports, "x", "mask", "out", more=more)]), wires=["a.out n.x"]
    )
    plan = make_plan(patch)
    return plan, build(plan, FakeDevice(), kernels, values={"n": values})[0]


def test_arguments_are_addresses_extents_values_and_parameters() -> None:
    """An argument is an address, null for an unconnected input, or the requested extent, value or parameter."""
    more = (ParameterArgument("gain"), ExtentArgument(Extent("(out.size * 2)")), ValueArgument(7), FrameArgument())
    _, built = single(*more, kernels=kernel("u64", "u64", "u64", "f32", "u32", "s64", "u64"), gain=0.5)
    (made,) = built.kernels
    assert struct.unpack("<QQQfxxxxIxxxxqQ", made.arguments.block.tobytes()) == (1000, 0, 2000, 0.5, 10, 7, 77)
    assert made.parameters == {"n": {"gain": ((3, None),)}}
    assert (made.node, made.config.grid, made.config.thread_block) == ("n", (1, 1, 1), (256, 1, 1))


def test_fills_and_copies_use_the_owners_memory_and_the_ports_size() -> None:
    """Fills and copies use the owner's memory and the size of the port's data."""
    ports = (i(), o(), o("low"))
    entries: list[Entry] = [
        FillEntry(BufferArgument("low", False, True), 255),
        CopyEntry(BufferArgument("out", False, True), BufferArgument("x", True, False)),
    ]
    plan = make_plan(graph(array("a", 3, 5), node("n", *ports, entries=entries), wires=["a.out n.x"]))
    device = FakeDevice()
    _, given = build(plan, device)
    fill, copy = device.graphs[0].nodes
    memory = {str(owner): m for owner, m in given.memory.items()}
    assert (fill.kind, fill.what) == ("memset", (memory["n.low"], 255, 60))
    assert (copy.kind, copy.what) == ("copy", (memory["n.out"], memory["a.out"], 60))


def refused(plan: Plan, kernels: TypedKernel | None = None, device: FakeDevice | None = None) -> str:
    with pytest.raises(GraphValidationError) as problem:
        build(plan, device or FakeDevice(), kernels)
    (diagnostic,) = problem.value.errors
    assert diagnostic.node == "n"
    assert diagnostic.remedy == "make the block's describe and its kernel agree"
    return diagnostic.message


def test_a_disagreement_of_block_and_kernel_is_an_error_on_the_node() -> None:
    """A kernel with other arguments, or for fewer threads than the block launches, is an error of the block."""
    ports = (i(), o(shape="[2]"))

    def plan(entries: list[Any]) -> Plan:
        return make_plan(graph(array("a", 3), node("n", *ports, entries=entries), wires=["a.out n.x"]))

    two = plan([launch(ports, "x", "out")])
    assert refused(two, kernel("u64")) == "kernel k: kernel takes 1 arguments, got 2"
    assert refused(two, kernel("u64", "f32")) == "kernel k: argument p1 must be a 4-byte value, got a buffer"
    assert refused(two, kernel("u64", "u64", max_threads=128)) == "thread_block of k must hold at most 128, got 256"


def test_a_thread_block_that_is_too_large_is_named_before_a_grid() -> None:
    """Of thread blocks with too many threads, none runs, so there is no number of them that could wait."""
    ports = (i(), o(shape="[2]"))
    plan = make_plan(graph(array("a", 3), node("n", *ports, entries=[launch(ports, "x", "out")]), wires=["a.out n.x"]))
    device, made = FakeDevice(), kernel("u64", "u64", max_threads=128)
    made.kernel.resources = KernelResources(400, 0)  # type: ignore[misc]  # the fake's attribute
    device.info = replace(device.info, limits=MultiprocessorLimits(2048, 32, 65536, 65536, 233472, 1024, 128))
    waiting = replace(made, is_cooperative=True)
    assert refused(plan, waiting, device) == "thread_block of k must hold at most 128, got 256"


def test_a_graph_that_cannot_be_finished_is_freed() -> None:
    """A build that fails frees its graph on the device."""
    plan = make_plan(graph(array("a", 3), node("n", i(), o()), wires=["a.out n.x"]))
    device = FakeDevice()
    with pytest.raises(GraphValidationError):
        build(plan, device, kernel("u64"))
    assert device.graphs[0].destroyed


def test_a_graph_that_the_device_refuses_is_freed() -> None:
    """A graph that can't be instantiated is freed."""
    plan = make_plan(graph(array("a", 3), node("n", i(), o()), wires=["a.out n.x"]))
    device = FakeDevice()
    device.refuses = DeviceError("no")
    with pytest.raises(DeviceError, match="no"):
        compile_plan(plan, device, resources(plan))  # type: ignore[arg-type]  # the fake only records
    assert device.graphs[0].destroyed


def test_dependencies_are_passed_on() -> None:
    """The recorded nodes depend on each other as the plan's operations do."""
    patch = graph(
        source("s", 4),
        node("l", i(), o()),
        node("r", i(), o()),
        node("z", i(), i("y"), o()),
        wires=["s.out l.x", "s.out r.x", "l.out z.x", "r.out z.y"],
    )
    plan, device = make_plan(patch), FakeDevice()
    build(plan, device)
    assert [n.after for n in device.graphs[0].nodes] == [op.after for op in plan.operations] == [(), (0,), (0,), (1, 2)]


def test_a_region_is_a_conditional_node_whose_bodies_hold_its_blocks() -> None:
    """A region is a conditional node: the kernel before it sets its condition, and each branch has its own nodes."""
    patch = graph(
        BlockNode("s", blocks.fresh(1, 4, 0)),
        BlockNode("choice", blocks.when(0, otherwise=True)),
        BlockNode("then", blocks.copy(), "choice"),
        BlockNode("loop", blocks.loop_while(0), "choice.else"),
        BlockNode("inner", blocks.mix(), "loop"),
        wires=["s.out choice.condition", "s.out then.x", "s.out loop.condition", "s.out inner.x"],
    )
    plan, device = make_plan(patch), FakeDevice()
    given = resources(plan, values={"loop": {"limit": 3}})
    given.status = FakePinned(np.zeros(1, np.uint32))  # type: ignore[assignment]  # the fake only records
    given.memory[STATUS] = FakeMemory(99, 4)  # type: ignore[index]  # the memory is a dict here
    build_graph(plan, device, given)  # type: ignore[arg-type]  # the fake only records
    (whole,) = device.graphs
    (choice,) = [made for made in whole.nodes if made.kind == "conditional"]
    kind, condition, (then, otherwise) = choice.what
    assert kind is ConditionalKind.IF_ELSE
    begin = whole.nodes[choice.after[-1]]
    assert begin.kind == "kernel" and struct.unpack("<Q", begin.what[2].block.tobytes()[:8]) == (condition,)
    assert [made.kind for made in then.nodes] == ["copy"]
    assert [made.kind for made in otherwise.nodes] == ["memset", "kernel", "conditional"]
    loop_kind, _, (body,) = otherwise.nodes[-1].what
    assert loop_kind is ConditionalKind.WHILE
    assert [made.kind for made in body.nodes] == ["memset", "kernel", "kernel", "kernel"]


def compiled_with_gains() -> tuple[CompiledGraph, FakeExecutable]:
    """Return a graph of two launches of one block: both take `gain`, one of them twice, and one also takes `other`."""
    ports = (i(), o())
    gain, other = ParameterArgument("gain"), ParameterArgument("other")
    entries = [launch(ports, "x", "out", more=[gain, gain]), launch(ports, "x", "out", more=[gain, other])]
    plan = make_plan(graph(array("a", 5), node("n", *ports, entries=entries), wires=["a.out n.x"]))
    given = resources(plan, kernel("u64", "u64", "f32", "s32"), values={"n": {"gain": 1.0, "other": 2}})
    compiled = compile_plan(plan, FakeDevice(), given)  # type: ignore[arg-type]  # the fake only records
    executable: Any = compiled.variants[0].executable
    return compiled, executable


def test_a_parameter_is_written_wherever_it_goes_and_each_kernel_updated_once() -> None:
    """A new value is written to all kernels that take the parameter, and each of them is updated once."""
    compiled, executable = compiled_with_gains()
    assert compiled.set_parameters({("n", "gain"): 3.0, ("n", "other"): 9}) == 2
    assert len(executable.updates) == 2
    blocks = [k.arguments.block.tobytes()[16:] for k in compiled.kernels]
    assert [struct.unpack("<fxxxxi", b[:12]) for b in blocks] == [(3.0, 3), (3.0, 9)]
    assert compiled.set_parameters({("n", "gone"): 1.0, ("m", "gain"): 1.0}) == 0


def test_a_value_that_does_not_fit_leaves_the_others_written() -> None:
    """A value that does not fit raises an error after all other values were written."""
    compiled, executable = compiled_with_gains()
    with pytest.raises(ArgumentError, match=r"argument p3 must be an integer \(s32\), got 0.5"):
        compiled.set_parameters({("n", "other"): 0.5, ("n", "gain"): 4.0})
    assert len(executable.updates) == 2
    assert [struct.unpack("<f", k.arguments.block.tobytes()[16:20]) for k in compiled.kernels] == [(4.0,), (4.0,)]


def test_destroying_gives_graph_and_executable_back() -> None:
    """Destroying a compiled graph destroys its executable and its graph on the device."""
    plan, device = make_plan(graph(source("s", 4))), FakeDevice()
    compiled = compile_plan(plan, device, resources(plan))  # type: ignore[arg-type]  # the fake only records
    compiled.destroy()
    executable: Any = compiled.variants[0].executable
    assert executable.destroyed and device.graphs[0].destroyed
