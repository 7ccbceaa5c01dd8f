"""`CudaContext`: the engine's copy of the patch and the services of its device, wired in one place."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple
from uuid import uuid4

from msgspec.structs import replace

from warploom.engine.blocktypes.adaptive import decides_interface
from warploom.engine.catalogue.catalogue import Catalogue
from warploom.engine.compiler.frame import Frame, FrameUniforms
from warploom.engine.device.device import Device
from warploom.engine.device.releasing import release_all
from warploom.engine.diagnostics import DeviceError, Diagnostic
from warploom.engine.libraries.backend import Libraries, open_libraries
from warploom.engine.libraries.call import LibraryCall
from warploom.engine.patch import changes
from warploom.engine.patch.changes import Change, Connection, PortRef, Sentinel, nodes_of
from warploom.engine.patch.editing.applying import PatchIndex, check_change
from warploom.engine.patch.organise.annotations import RunOrder
from warploom.engine.patch.regions import region_of
from warploom.engine.patch.rules import is_value_connection, reached
from warploom.engine.patch.trust import SavePlace
from warploom.engine.profiling.side_work import SideTimes
from warploom.engine.runtime.memory.buffer_pool import BufferPool
from warploom.engine.runtime.memory.state_store import StateStore
from warploom.engine.runtime.model.block_registry import BlockRegistry
from warploom.engine.runtime.model.describe_patch import PatchSnapshot, PlacedNode, number_drives
from warploom.engine.runtime.model.module_cache import ModuleCache
from warploom.engine.runtime.model.muted import Muted
from warploom.engine.runtime.model.parameters import ParameterStore
from warploom.engine.types.layout import Layout
from warploom.engine.user_code.limits import SHORT_CALL
from warploom.engine.user_code.runner import CodeRunner
from warploom.engine.values.value_graph import ValueGraph


class DeviceServices:
    """One device's services for graphs: memory, modules, libraries, state, and the frame uniforms.

    Any thread may use them. The worker gets these, with plain data, and nothing else of the engine. State is claimed by
    the worker and committed by the engine's thread, which never happens at the same time.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        #: How long compiles, uploads and the like take.
        self.times = SideTimes()
        self.pool = BufferPool(device)
        self.modules = ModuleCache(device, self.times)
        #: Runs blocks' code for the worker.
        self.code = CodeRunner()
        self.states = StateStore(self.pool, device, self.times)
        with ExitStack() as failing:
            failing.callback(self.pool.close)
            #: The stream of the worker's work on the device.
            self.side = device.create_stream()
            failing.callback(self.side.destroy)
            self.uniforms = FrameUniforms(device)
            failing.callback(self.uniforms.free)
            self.frame_memory = self.pool.acquire(Frame.size_bytes)
            failing.pop_all()
        self._libraries: Libraries | None = None
        self._opening = Lock()

    def libraries(self) -> Libraries:
        """Return the device's libraries, which are opened at the first call: most patches have no library calls."""
        with self._opening:
            if self._libraries is None:
                self._libraries = open_libraries(self.device)
            return self._libraries

    def workspace_bytes(self, call: LibraryCall, layouts: Mapping[str, Layout]) -> int:
        """Return the bytes of scratch memory that a library call needs. Raise LibraryError if it can't be done."""
        return self.libraries().workspace_bytes(call, layouts)

    def close(self) -> None:
        """Free all device resources, even if some calls fail."""
        libraries = [self._libraries.close] if self._libraries is not None else []
        release_all(self.uniforms.free, self.modules.close, self.side.destroy, self.pool.close, *libraries)


#: The source of an update: a person who edits or undoes, a saved file, or the engine itself.
UpdateSource = Literal["edit", "undo", "kernel file", "block file", "engine"]
FIRST_BUILD = "first build"
#: Number of causes that are named: after pasting a hundred blocks, no one wants to read a hundred names.
CAUSES_TOLD = 4


class Cause(NamedTuple):
    """The cause of a rebuild: a text, its first source, and its nodes."""

    text: str
    source: UpdateSource
    nodes: tuple[str, ...] = ()


class DirtyTracker:
    """Whether structure or code has changed since the last frame, and why. The structure starts dirty: no graph runs.

    `kernel_files` are saved files that kernels may be made of, `read_files` those that blocks may be; `causes` has the
    reasons why the structure is dirty, with their sources. `source` is the source of the changes that are being
    followed. Which parameters changed is known to the parameter store.
    """

    def __init__(self) -> None:
        self.structure = True
        self.kernel_files: set[Path] = set()
        self.read_files: set[Path] = set()
        self.causes: dict[str, Cause] = {FIRST_BUILD: Cause(FIRST_BUILD, "engine")}
        self.source: UpdateSource = "edit"

    def mark_structure(
        self, what: str, about: object = "", *, source: UpdateSource | None = None, nodes: tuple[str, ...] = ()
    ) -> None:
        """Ask for a rebuild. The cause is the text of both, such as "removed block" and the block's name."""
        self.structure = True
        if FIRST_BUILD not in self.causes:
            cause = f"{what} {about}".rstrip()
            self.causes.setdefault(cause, Cause(cause, source or self.source, nodes))

    def take_structure(self) -> Cause:
        """Return all causes as one, and mark the structure clean."""
        told = list(self.causes)[:CAUSES_TOLD]
        more = len(self.causes) - len(told)
        text = ", ".join(told) + (f" and {more} more" if more else "")
        source: UpdateSource = next((cause.source for cause in self.causes.values()), "engine")
        nodes = dict.fromkeys(node for cause in self.causes.values() for node in cause.nodes)
        self.structure = False
        self.causes.clear()
        return Cause(text, source, tuple(nodes))

    def take_kernel_files(self) -> frozenset[Path]:
        """Return the saved kernel files, and mark code clean."""
        taken, self.kernel_files = frozenset(self.kernel_files), set()
        return taken

    def take_read_files(self) -> frozenset[Path]:
        """Return the saved files that blocks may have to be described with again, and forget these files."""
        taken, self.read_files = frozenset(self.read_files), set()
        return taken


class CudaContext:
    """Follows the changes of a patch. It belongs to the engine's thread; other threads get `snapshot` and `services`.

    The name is CUDA's because it is for one CUDA graph; the device may be the host. The patch's relative paths start at
    `folder`.
    """

    def __init__(self, device: Device, catalogue: Catalogue, folder: Callable[[], Path]) -> None:
        self.device = device
        self.folder = folder
        #: Whether the patch is trusted, see `engine.patch.trust`.
        self.trusted = False
        #: Returns the patch's file; None while there is none.
        self.file: Callable[[], Path | None] = lambda: None
        self._unsaved = uuid4().hex
        #: The nodes whose block was added, removed or replaced since the last call of `take_changed_blocks`.
        self.changed_blocks: set[str] = set()
        self.dirty = DirtyTracker()
        self.parameters = ParameterStore(folder)
        #: Runs the code of value blocks; frames by hand wait for it.
        self.code = CodeRunner(SHORT_CALL)
        self.registry = BlockRegistry(catalogue, self.parameters, folder, self.code)
        self.value_graph = ValueGraph(self.registry.type_of, self.parameters, self.code)
        self.services = DeviceServices(device)
        #: All connections by the inputs that they feed, in the order in which they came.
        self._by_target: dict[PortRef, Connection] = {}
        #: The connections at each node; None until the first node is removed.
        self._index: PatchIndex | None = None
        #: The nodes in which the device failed.
        self.muted = Muted()
        #: The nodes of the patch that are bypassed or disabled, whose state waits for them.
        self.resting: frozenset[str] = frozenset()
        #: The sentinels, by output.
        self.sentinels: dict[PortRef, Sentinel] = {}
        #: The pairs of blocks of which the first runs before the second, by their annotations' keys.
        self.orders: dict[str, tuple[str, str]] = {}

    def apply(self, change: Change) -> None:
        """Apply one change of the patch; raises a PatchError, without any effect, when the change doesn't fit."""
        check_change(change, self.registry.placed, self._by_target)
        if isinstance(change, changes.NodeRemoved):  # its connections are removed before it
            for connection in self._touching(change.node.id):
                self.apply(changes.Disconnected(connection))
            for port in [port for port in self.sentinels if port.node == change.node.id]:
                del self.sentinels[port]
        if self._index is not None:
            self._index.follow(change)
        match change:
            case changes.Connected():  # the most frequent come first: a patch is opened by thousands of them
                connection = change.connection
                self._by_target[connection.target] = connection
                self._connect(connection)
            case changes.NodeAdded():
                self.registry.register(change.node)
                for name, keys in change.node.curves.items():
                    self.value_graph.set_curve(PortRef(change.node.id, name), keys)
                self._block_changed(change.node.id)
            case changes.NodeRemoved(node):
                self.value_graph.remove_curves(node.id)
                self.registry.unregister(node.id)
                self._block_changed(node.id)
            case changes.Disconnected(connection):
                del self._by_target[connection.target]
                self._disconnect(connection)
            case changes.ParameterChanged(node_id, parameter, value):
                self._set_parameter(node_id, parameter, value)
            case changes.CurveChanged(node_id, parameter, keys):
                self.value_graph.set_curve(PortRef(node_id, parameter), keys)
            case changes.SentinelChanged(port, value):
                self._set_sentinel(port, value)
            case changes.NodeRegionChanged(node_id, region):
                self.registry.set_region(node_id, region)
                self._block_changed(node_id)
            case changes.BlockTypesChanged(types):
                self._redefine(types)
            case changes.AnnotationChanged(key, RunOrder() as order):
                self.orders[key] = order.first, order.then
                self.dirty.mark_structure("order of", f"{order.first} and {order.then}", nodes=nodes_of(change))
            case changes.AnnotationChanged(key, None, RunOrder() as order):
                self.orders.pop(key, None)
                self.dirty.mark_structure("order of", f"{order.first} and {order.then}", nodes=nodes_of(change))
            case changes.NodeLooksChanged() | changes.NodeModeChanged() | changes.AnnotationChanged():
                return  # the running graph is not affected; `RunningChanges` leaves blocks out
        if self.muted.reasons:
            self._release(change)

    def is_light(self, change: Change) -> bool:
        """True for a change that needs no build, and may be followed while one is under way."""
        match change:
            case changes.ParameterChanged(node_id, parameter):
                block_type = self.registry.type_of(node_id)
                return block_type is not None and (block_type.is_value or self.registry.is_live(node_id, parameter))
            case changes.CurveChanged():
                return True
            case changes.Connected(connection):
                ends = map(self.registry.type_of, (connection.source.node, connection.target.node))
                is_drive = None not in ends and self._is_value_connection(connection)
                return is_drive and not self._may_be_read(connection)
            case changes.Disconnected(connection):
                return self.value_graph.has(connection) and not self._may_be_read(connection)
        return False

    def snapshot(self) -> PatchSnapshot:
        """Return a snapshot of the patch, for `describe_patch`."""
        drives = self.value_graph.connections
        return self.registry.snapshot(
            self.connections, self.sentinels, drives, self.muted.reasons, self.orders.values()
        )

    def adopt(self, nodes: Iterable[PlacedNode]) -> None:
        """Adopt the described nodes of the last snapshot: newer versions of blocks may have taken over."""
        if self.registry.adopt(nodes):
            self.value_graph.rewire()
            self._reroute()
            self.value_graph.drive_again()  # values of the present frame have been computed already

    def mute(self, reasons: Mapping[str, Diagnostic], failure: DeviceError | None = None) -> None:
        """Leave nodes out of the graph, for reasons by node, until they may run again.

        Value blocks are not in the graph.
        """
        graph = self.registry.placed.keys() - self.registry.value_blocks.keys()
        reasons = {node: replace(reason, node=node) for node, reason in reasons.items() if node in graph}
        self.muted.add(reasons, failure)
        for node in reasons:
            self.dirty.mark_structure("muted", node, source="engine", nodes=(node,))

    def run_again(self, nodes: Iterable[str]) -> None:
        """Put nodes that were muted into the graph again."""
        for node in nodes:
            self.dirty.mark_structure("another try of", node, nodes=(node,))

    def _release(self, change: Change) -> None:
        """Let muted nodes run again that depend on what has changed: on a live value only in itself or its region."""
        placed, is_light = self.registry.placed, self.is_light(change)

        def before(node_id: str) -> list[str]:
            inside = [node.id for node in placed.values() if region_of(node.region) == node_id]
            around = region_of(placed[node_id].region) if node_id in placed else ""
            sources = () if is_light else [c.source.node for c in self._by_target.values() if c.target.node == node_id]
            return [*inside, *([around] if around else ()), *sources]

        changed = set(nodes_of(change))
        self.run_again(
            self.muted.release([node for node in self.muted.reasons if changed & reached(before, [node]).keys()])
        )

    def set_trusted(self, trusted: bool) -> None:
        """Set whether the patch is trusted."""
        self.trusted = self.value_graph.trusted = self.registry.trusted = trusted
        self.value_graph.set_parameter(None, structural=True)  # trust decides which sources may be listened to

    def save_place(self, folder: Path | None = None, overwrites: Collection[str] | None = ()) -> SavePlace:
        """Return the place where outputs are saved now."""
        file = self.file()
        patch = str(file.resolve()) if file is not None else self._unsaved
        return SavePlace(self.folder(), folder, self.trusted, patch, overwrites)

    @property
    def connections(self) -> Collection[Connection]:
        """The connections that carry buffers, in the order in which they came."""
        values, every = self.value_graph, self._by_target.values()
        return [each for each in every if not values.has(each)] if values.connections else every

    def take_changed_blocks(self) -> set[str]:
        """Return the nodes whose block was added, removed or replaced since the last call."""
        taken, self.changed_blocks = self.changed_blocks, set()
        return taken

    def close(self) -> None:
        """Stop listening, and free everything on the device."""
        self.give_up_block_code()
        self.value_graph.close()
        self.services.close()

    def give_up_block_code(self) -> None:
        """Don't wait for blocks' code any more, and run none again; any thread may call it."""
        self.code.close()
        self.services.code.close()

    def _touching(self, node_id: str) -> list[Connection]:
        """Return the connections at a node. The index is made when a node is first removed."""
        if self._index is None:
            self._index = PatchIndex()
            for connection in self._by_target.values():
                self._index.follow(changes.Connected(connection))
        return self._index.touching(node_id)

    def _set_parameter(self, node_id: str, name: str, value: object) -> None:
        if self.value_graph.osc.held:  # the person's value counts from now on
            self.value_graph.osc.release((PortRef(node_id, name),))
        if self.parameters.set(node_id, name, value):
            self._block_changed(node_id)
        spec = self.parameters.spec(node_id, name)
        if spec is not None and self.parameters.is_driven(node_id, spec.name):
            self.value_graph.overrule(PortRef(node_id, spec.name), self.parameters.patch_value(node_id, spec))
            return
        if spec is None:
            return
        if node_id in self.registry.value_blocks or (node_id in self.registry.live_nodes and not spec.structural):
            self.value_graph.set_parameter(node_id, structural=spec.structural)
        elif spec.structural:
            if decides_interface(self.registry.type_of(node_id), spec.name):
                self._renew(node_id)
            else:
                self.registry.invalidate(node_id)
            self.dirty.mark_structure(f"{name} of {node_id}", nodes=(node_id,))

    def _set_sentinel(self, port: PortRef, sentinel: Sentinel | None) -> None:
        if sentinel is None:
            self.sentinels.pop(port, None)
        else:
            self.sentinels[port] = sentinel
        self.dirty.mark_structure("removed check of" if sentinel is None else "check of", port, nodes=(port.node,))

    def _renew(self, node_id: str) -> None:
        """Follow a value that decides the ports and parameters of its node."""
        if self.registry.renew(node_id):
            self._block_changed(node_id)
            self._reroute()

    def _block_changed(self, node_id: str) -> None:
        """Follow a block that was added, removed or replaced; only device blocks need a rebuild."""
        self.changed_blocks.add(node_id)
        self.run_again(self.muted.release([node_id]))
        block = self.registry.value_blocks.get(node_id)
        if block is not None:
            self.value_graph.place(block)
        elif not (self.value_graph.remove(node_id) and self.registry.type_of(node_id) is None):
            self.value_graph.rewire(node_id)  # its drivers are bound to the old parameters
            what = "block" if node_id in self.registry.placed else "removed block"
            self.dirty.mark_structure(what, node_id, nodes=(node_id,))

    def _connect(self, connection: Connection) -> None:
        is_drive = self._is_value_connection(connection)
        if is_drive:
            self.value_graph.connect(connection)
        if not is_drive or self._may_be_read(connection):
            self._connection_changed("connection", connection)

    def _disconnect(self, connection: Connection) -> None:
        is_drive = self.value_graph.has(connection)
        if is_drive:
            self.value_graph.disconnect(connection)
        if not is_drive or self._may_be_read(connection):
            self._connection_changed("removed connection", connection)

    def _may_be_read(self, connection: Connection) -> bool:
        """True for a drive that kernels may follow in the same frame, which takes another graph."""
        return bool(number_drives((connection,), self.registry.type_of))

    def _connection_changed(self, what: str, connection: Connection) -> None:
        self.dirty.mark_structure(what, connection, nodes=(connection.target.node, connection.source.node))

    def _redefine(self, types: frozenset[str]) -> None:
        replaced, pending = self.registry.redefine(types)
        renewed = (*replaced, *pending)
        if renewed and all(getattr(self.registry.type_of(node), "is_adaptive", False) for node in renewed):
            what = f"{', '.join(renewed[:CAUSES_TOLD])} saved"
            self.dirty.mark_structure("files of", what, source="kernel file", nodes=renewed)
        elif renewed:
            self.dirty.mark_structure("new version of", ", ".join(sorted(types)), source="block file")
        for node_id in replaced:
            self._block_changed(node_id)
        if replaced:
            self._reroute()
            self.value_graph.drive_again()

    def _reroute(self) -> None:
        """Sort connections into those of values and of buffers again, by the present types of their ends."""
        for connection in self._by_target.values():
            if self._is_value_connection(connection) is not self.value_graph.has(connection):
                self._disconnect(connection)
                self._connect(connection)

    def _is_value_connection(self, connection: Connection) -> bool:
        placed = self.registry.placed
        source, target = placed[connection.source.node], placed[connection.target.node]
        return is_value_connection(connection, source.block_type, target.block_type)
