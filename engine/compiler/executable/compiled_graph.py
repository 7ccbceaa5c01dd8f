"""Phase 8, instantiate: the device graph becomes an executable, and with its buffers a `CompiledGraph`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from warploom.engine.compiler.buffers import Lifetime, kept_name
from warploom.engine.compiler.difference import Difference, plan_difference
from warploom.engine.compiler.executable.arguments import Resources
from warploom.engine.compiler.executable.build import BuiltGraph, build_graph
from warploom.engine.compiler.executable.clone import clone_graph
from warploom.engine.compiler.executable.nodes import KernelNode
from warploom.engine.compiler.operations import UploadFrame
from warploom.engine.compiler.plan import Plan
from warploom.engine.device.arguments import ArgumentError
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Executable, GraphNode, Memory, PinnedArray, Stream
from warploom.engine.device.releasing import release_all
from warploom.engine.patch.changes import PortRef

#: Kernel nodes of one executable whose argument blocks were written since their last refresh.
Written = dict[GraphNode, None]
Refresh = Callable[[Collection[GraphNode]], None]
#: Writes a value to all its places, which `refresh` passes on. Raises ArgumentError if a kernel can't take it.
WriteValue = Callable[[object], None]


class LiveParameters:
    """The live parameters of a graph, by node and name."""

    def __init__(self, variants: Iterable[Variant]) -> None:
        self._kernels: dict[str, list[tuple[Written, KernelNode]]] = {}
        self._executables: list[tuple[Refresh, Written]] = []
        for variant in variants:
            written: Written = {}
            self._executables.append((variant.executable.refresh, written))
            for kernel in variant.kernels:
                for node in kernel.parameters:
                    self._kernels.setdefault(node, []).append((written, kernel))

    def find(self, place: tuple[str, str]) -> WriteValue:
        """Return a function that writes a parameter's value; it does nothing if no kernel takes the value."""
        node, name = place
        return together(
            [
                kernel.arguments.writer(index, written, kernel.handle, component)
                for written, kernel in self._kernels.get(node, ())
                for index, component in kernel.parameters[node].get(name, ())
            ]
        )

    def refresh(self) -> int:
        """Update the kernel nodes whose arguments were written since the last call; return their number."""
        count = 0
        for refresh, written in self._executables:
            if written:
                count += len(written)
                refresh(written)
                written.clear()
        return count


def together(writes: Sequence[WriteValue]) -> WriteValue:
    """Return a function that writes one value to several places."""
    if len(writes) == 1:
        return writes[0]

    def write(value: object) -> None:
        for write_one in writes:
            write_one(value)

    return write


@dataclass
class Variant:
    """One executable of a graph; the graph lives as long, since its node handles name the nodes to update."""

    built: BuiltGraph
    executable: Executable
    _uniforms: PinnedArray | None = None  # the last argument of `read_uniforms`

    @property
    def memory(self) -> Mapping[PortRef, Memory]:
        """The memory of each buffer, by owner."""
        return self.built.memory

    @property
    def kernels(self) -> list[KernelNode]:
        """The kernel nodes, in the order of operations."""
        return self.built.kernels

    def update(self, node: KernelNode) -> None:
        """Update a kernel node from its `KernelNode`."""
        self.executable.update_kernel(node.handle, node.kernel.kernel, node.config, node.arguments)

    def read_uniforms(self, upload: int, uniforms: PinnedArray) -> None:
        """Let the next launches read the frame uniforms from an array; `upload` is the operation that reads them."""
        if uniforms is not self._uniforms:
            self.executable.update_copy(self.built.handles[upload], uniforms)
            self._uniforms = uniforms

    def destroy(self) -> None:
        """Free executable and graph."""
        release_all(self.executable.destroy, self.built.graph.destroy)


@dataclass
class CompiledGraph:
    """An executable graph with its buffers and node handles.

    A graph in which buffers change places between frames has two variants, which are launched alternately. It owns its
    variants; memory belongs to the pool and modules to the module cache.
    """

    plan: Plan
    variants: list[Variant]
    status: PinnedArray | None = None
    phase: int = 0  # the variant that was launched last, or is to be launched first
    _launched: bool = False

    def __post_init__(self) -> None:
        #: The places of live parameters' values.
        self.live = LiveParameters(self.variants)
        self._upload = frame_upload(self.plan)
        self._alternates = len(self.variants) > 1
        #: True when the graph reads the frame uniforms.
        self.uses_frame = self._upload is not None

    @property
    def memory(self) -> Mapping[PortRef, Memory]:
        """The memory of each buffer after the last launch, by owner."""
        return self.variants[self.phase].memory

    @property
    def kernels(self) -> list[KernelNode]:
        """The kernel nodes, one for each operation that launches one."""
        return self.variants[0].kernels

    @property
    def nodes(self) -> frozenset[str]:
        """Ids of the nodes that run."""
        return frozenset(self.plan.description.by_id)

    @cached_property
    def is_still(self) -> bool:
        """True when launches without changes have equal results that no block watches: no state, no frame uniforms."""
        changing = (Lifetime.STATE, Lifetime.EXTERNAL)
        has_state = any(buffer.lifetime in changing for buffer in self.plan.buffers.allocations.values())
        return not (has_state or self.uses_frame or any(kind.watches for kind in self.plan.description.kinds))

    @cached_property
    def has_state(self) -> bool:
        """True when launches depend on earlier ones."""
        return any(buffer.lifetime is Lifetime.STATE for buffer in self.plan.buffers.allocations.values())

    def set_parameters(self, values: Mapping[tuple[str, str], object]) -> int:
        """Write live parameters, by (node, name), and update each touched kernel node once; return how many.

        Raise ArgumentError if a kernel can't take a value; all others are written nevertheless.
        """
        refused: ArgumentError | None = None
        for key, value in values.items():
            try:
                self.live.find(key)(value)
            except ArgumentError as problem:
                refused = problem
        count = self.live.refresh()
        if refused is not None:
            raise refused
        return count

    def follow(self, old: CompiledGraph, waits: Callable[[PortRef], bool]) -> list[tuple[Memory, Memory, int]]:
        """Continue where `old` stopped; return the necessary copies, each as (from, to, bytes).

        A delay's next output must be the one that it would have had in `old`. No copy is needed unless the delay has
        another source, or has moved into a region or out of one. Launched without advancing, the graph repeats the last
        frame of `old`. The next output of a delay that only `old` has is moved into the delay's own memory, if the
        delay `waits` to come back.
        """
        before, buffers = old.plan.buffers, self.plan.buffers
        now, own = old.memory, old.variants[0].memory
        swaps = [target for target in buffers.swaps if target in before.swaps]
        if swaps:
            self._launched = old._launched
            self.phase = int(self.variants[0].memory[swaps[0]] is not now[swaps[0]])
        shown, moves = self.memory, []
        for target in dict.fromkeys([*buffers.swaps, *before.swaps]):
            planned, known = buffers.allocations.get(target), before.allocations.get(target)
            if planned is not None:
                went_on = known is not None and known.lifetime is Lifetime.STATE and known.layout == planned.layout
                # A new delay begins with the initial contents of its own memory.
                source = old._next_output(target) if went_on else self.variants[0].memory[target]
                following, size_bytes = self._next_output(target), planned.layout.size_bytes
                if source is not following:
                    moves.append((source, following, size_bytes))
                if went_on and shown[target] is not following and shown[target] is not now[target]:
                    moves.append((now[target], shown[target], size_bytes))  # for a frame that is shown again
            elif known is not None and waits(target) and (source := old._next_output(target)) is not own[target]:
                moves.append((source, own[target], known.layout.size_bytes))
        return moves

    def _next_output(self, target: PortRef) -> Memory:
        """Return the memory with a delay's next output; in a region, the next turn copies it to the output."""
        memory = self.variants[self.next_phase].memory
        if target in self.plan.buffers.swaps:
            return memory[target]
        return memory.get(PortRef(target.node, kept_name(target.port)), memory[target])

    def take_over(self, old: CompiledGraph) -> None:
        """Take over the common resources, so that the old graph can be destroyed; it must not be launched again."""
        if old.status is self.status:
            old.status = None

    @property
    def written_state(self) -> list[tuple[Memory, int]]:
        """The state that a launch writes, as memory and bytes.

        The user's own memory is not among it, since the user may change it between two launches.
        """
        buffers = self.plan.buffers.allocations
        written = {owner for operation in self.plan.operations for owner in operation.writes} & buffers.keys()
        return [
            (self.memory[owner], buffers[owner].size_bytes)
            for owner in sorted(written, key=str)
            if buffers[owner].lifetime is Lifetime.STATE
        ]

    @property
    def state(self) -> dict[PortRef, tuple[Memory, int]]:
        """The memory and bytes of what outlives frames, by owner."""
        memory, allocations = self.memory, self.plan.buffers.allocations
        owners = [owner for owner, buffer in allocations.items() if buffer.lifetime is Lifetime.STATE]
        return {owner: (memory[owner], allocations[owner].size_bytes) for owner in sorted(owners, key=str)}

    @property
    def is_launched(self) -> bool:
        """True if the next launch is not a first frame."""
        return self._launched

    def go_on(self, phase: int, *, is_launched: bool) -> None:
        """Count as having launched a variant last, before `state` is written."""
        self.phase, self._launched = phase % len(self.variants), is_launched

    def begin_again(self) -> None:
        """Count as not launched yet: the next launch is a first frame, even if it is shown several times."""
        self._launched = False

    @property
    def next_phase(self) -> int:
        """The variant that the next frame launches."""
        return (self.phase + self._launched) % len(self.variants)

    def launch(self, stream: Stream, *, advance: bool = True, uniforms: PinnedArray | None = None) -> None:
        """Launch the whole graph once; without `advance`, repeat the frame of the last launch.

        The frame uniforms are read from `uniforms`, or where the last launch found them; they must stay there until the
        launch has ended.
        """
        if advance and (self._alternates or not self._launched):
            self.advance()
        variant = self.variants[self.phase]
        if uniforms is not None and self._upload is not None:
            variant.read_uniforms(self._upload, uniforms)
        variant.executable.launch(stream)

    def advance(self) -> None:
        """Switch to the variant that the next frame launches."""
        self.phase = self.next_phase
        self._launched = True

    def upload(self, stream: Stream) -> None:
        """Upload everything to the device, so that the first launches take no longer than later ones."""
        for variant in self.variants:
            variant.executable.upload(stream)

    def destroy(self) -> None:
        """Release everything but memory and modules."""
        status = [self.status.free] if self.status is not None else []
        release_all(*(variant.destroy for variant in self.variants), *status)


def frame_upload(plan: Plan) -> int | None:
    """Return the operation that reads the frame uniforms, if one does."""
    return next((i for i, operation in enumerate(plan.operations) if isinstance(operation.entry, UploadFrame)), None)


def compile_plan(
    plan: Plan,
    device: Device,
    resources: Resources,
    running: CompiledGraph | None = None,
    changes: Difference | None = None,
) -> CompiledGraph:
    """Build and instantiate a plan, twice if buffers are swapped; if the device refuses it, everything is released.

    With the `running` graph, only differences are built where possible; the new graph must then `take_over` the common
    resources when the old one is no longer used. `changes` are those from its plan to this one, if known.
    """
    if running is not None and len(running.variants) == 1 and not resources.swapped:
        (variant,) = running.variants
        changes = changes or plan_difference(running.plan, plan)
        cloned = clone_graph(changes, device, resources, variant.built, running.status)
        if cloned is not None:
            return CompiledGraph(plan, [_instantiate(cloned)], resources.status)
    variants: list[Variant] = []
    try:
        for memory in resources.memories:
            built = build_graph(plan, device, replace(resources, memory=memory))
            variants.append(_instantiate(built))
    except BaseException:
        release_all(*(variant.destroy for variant in variants))
        raise
    return CompiledGraph(plan, variants, resources.status)


def _instantiate(built: BuiltGraph) -> Variant:
    try:
        executable = built.graph.instantiate()
    except BaseException:
        built.graph.destroy()
        raise
    return Variant(built, executable)
