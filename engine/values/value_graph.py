"""`ValueGraph`: the value and live blocks of a patch, which run once per frame on the engine's thread."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from warploom.engine.blocktypes.block import TypeOf
from warploom.engine.blocktypes.shared_device import LentMemory
from warploom.engine.blocktypes.updated_blocks import Moment, UpdatedBlock
from warploom.engine.diagnostics import Diagnostic, warning
from warploom.engine.patch import rules
from warploom.engine.patch.animation.curves import Course
from warploom.engine.patch.animation.keys import Curve
from warploom.engine.patch.changes import Connection, PortRef
from warploom.engine.patch.organise.osc_addresses import OscTable
from warploom.engine.patch.trust import refuse_source
from warploom.engine.types import Array
from warploom.engine.user_code.runner import CodeRunner
from warploom.engine.values.osc_control import OscControl
from warploom.engine.values.sources.dmx import DmxListener
from warploom.engine.values.sources.gamepad import GamepadListener
from warploom.engine.values.sources.listening import MOST_SOURCES, Inputs, Kinds, Listeners
from warploom.engine.values.sources.midi import MidiListener, MidiSender
from warploom.engine.values.sources.osc import OscListener
from warploom.engine.values.sources.websocket import WebSocketListener
from warploom.engine.values.steps import ValueStep
from warploom.engine.values.wiring import KEYS, Drive, Parameters, wire_values

LISTENERS: Kinds = {
    "osc": OscListener,
    "midi": MidiListener,
    "midi_out": MidiSender,
    "sacn": DmxListener,
    "artnet": DmxListener,
    "websocket": WebSocketListener,
    "gamepad": GamepadListener,
}
#: The time that a frame waits for the update of a block while the engine runs freely.
PATIENCE_S = 0.1
#: While the engine runs freely, a node's changed diagnostics are reported at most once in this interval.
TELL_INTERVAL_NS = 100_000_000


class ValueGraph:
    """Follows the value blocks and value connections of a patch, and computes them in `update`.

    The live blocks of the running graph are among them.

    `parameters` is notified of driven parameters, and writes their values. Edits only set marks; the steps are rebuilt
    when they are needed next.
    """

    def __init__(self, type_of: TypeOf, parameters: Parameters, code: CodeRunner, kinds: Kinds = LISTENERS) -> None:
        """`type_of` returns any node's block type; `code` runs blocks.

        `kinds` are the sources that can be listened to.
        """
        self._code = code
        self.inputs = Inputs()
        self.diagnostics: tuple[Diagnostic, ...] = ()
        #: True if the patch may listen to the network; see `engine.patch.trust`.
        self.trusted = False
        self._type_of = type_of
        self._parameters = parameters
        self._listeners = Listeners(self.inputs, kinds)
        #: Messages that set parameters without a block, and values that are sent.
        self.osc = OscControl(
            type_of, parameters, self.inputs, lambda target: target in self._connections or target in self._curves
        )
        self._osc_problems: tuple[Diagnostic | None, ...] = (None, None)
        self._osc_refused: Diagnostic | None = None
        self._blocks: dict[str, UpdatedBlock] = {}
        self._connections: dict[PortRef, Connection] = {}  # by target
        self._curves: dict[PortRef, Curve] = {}  # the keys of parameters
        self._driven: Counter[str] = Counter()  # the number of connections and curves, by the node that they drive
        self._courses: list[tuple[Course, Drive]] = []  # the curves that count: those without a connection
        self._overruled: set[PortRef] = (
            set()
        )  # parameters that a person has set in the present frame, against their keys
        self._frame, self._time_s = -1, 0.0
        self._steps: list[ValueStep] = []
        self._step_of: dict[str, ValueStep] = {}
        self._drives: dict[PortRef, Drive] = {}  # by target
        self._problems: list[Diagnostic] = []
        self._is_wired = True
        self._has_new_settings = False
        self._unchecked: list[ValueStep] = []  # steps whose updates are still running
        self._is_untold = False  # `diagnostics` may be out of date
        self._told_ns = 0

    # Follows the patch

    def place(self, block: UpdatedBlock) -> None:
        """Add or replace the block of a node."""
        self.osc.note_blocks()
        self._blocks[block.node] = block
        self._is_wired = False

    def remove(self, node: str) -> bool:
        """Remove a value block. Return False for any other node: live blocks run as long as the graph has them."""
        self.osc.note_blocks()
        if node not in self._blocks or self._blocks[node].is_live:
            return False
        self.drop(node)
        return True

    def drop(self, node: str) -> None:
        """Remove a block."""
        self.osc.note_blocks()
        del self._blocks[node]
        self._is_wired = False

    def rewire(self, node: str | None = None) -> None:
        """Note that a device block was added, removed or replaced; None means any of them."""
        self.osc.note_blocks()
        if node is None or self._driven[node] or any(target.node == node for target in self.osc.held):
            self._is_wired = self._is_wired and not (self._connections or self._curves or self.osc.held)

    def connect(self, connection: Connection) -> None:
        """Add a value connection."""
        self.osc.release((connection.target,))
        self._connections[connection.target] = connection
        self._driven[connection.target.node] += 1
        self._is_wired = False

    def set_osc(self, table: OscTable) -> None:
        """Receive and send other things by OSC."""
        self.osc.follow(table, trusted=self.trusted)
        self._has_new_settings = True

    def disconnect(self, connection: Connection) -> None:
        """Remove a value connection; its parameter returns to the patch's value."""
        del self._connections[connection.target]
        self._driven[connection.target.node] -= 1
        self._drives.pop(connection.target, None)
        self._parameters.release(connection.target.node, connection.target.port)
        self._is_wired = False

    def set_curve(self, target: PortRef, keys: Curve) -> None:
        """Let a parameter follow keys, unless a connection drives it; without keys it has the patch's value again."""
        known = target in self._curves
        self._driven[target.node] += bool(keys) - known
        self._overruled.discard(target)
        if keys:
            self.osc.release((target,))
            self._curves[target] = keys
        elif known:
            del self._curves[target]
        self._is_wired = False

    def remove_curves(self, node: str) -> None:
        """Remove the keys of a node that is removed."""
        for target in [target for target in self._curves if target.node == node]:
            self.set_curve(target, ())

    def overrule(self, target: PortRef, value: float) -> None:
        """Give an animated parameter another value until the next frame."""
        for _, drive in self._courses:
            if drive.connection.target == target:
                drive.put(value)
                self._overruled.add(target)

    def has(self, connection: Connection) -> bool:
        """True if the graph has this connection."""
        return self._connections.get(connection.target) == connection

    @property
    def connections(self) -> tuple[Connection, ...]:
        """The value connections."""
        return tuple(self._connections.values())

    def set_parameter(self, node: str | None, *, structural: bool) -> None:
        """Note a new parameter value of a value block.

        A structural one makes all blocks check their parameters again.
        """
        self._has_new_settings |= structural
        if node in self._step_of:
            self._step_of[node].gave_up = None

    def begin_again(self) -> None:
        """Reset the state of every block. Parameters have the patch's values until they are driven again."""
        for step in self._steps:
            step.begin()
        for target in self._drives:
            self._parameters.release(target.node, target.port)
        self._drives, self._is_wired = {}, False

    def drive_again(self) -> None:
        """Write the present values to driven parameters again, after their blocks were replaced."""
        if not self._is_wired:
            self._wire()
        self._follow_curves()
        for step in self._steps:
            step.drive_again()
        self._tell(fresh=True)

    # Every frame

    def update(self, now: Moment, *, fresh: bool = True) -> bool:
        """Compute all values for the frame that starts. Return whether `diagnostics` have changed.

        A value may leave its bounds in every other frame. So unless `fresh`, a changed diagnostic at the same place
        waits for an interval in which people can read it. While a slow block is updated, its outputs keep their last
        values.
        """
        if not self._is_wired:
            self._wire()
        if self._has_new_settings or self._unchecked:
            self._look_at_settings(math.inf if fresh else 0)
        if self._courses:
            if now.frame != self._frame:
                self._overruled.clear()
            self._frame, self._time_s = now.frame, now.time_s
            self._is_untold |= self._follow_curves()
        if self.osc.is_active:
            self.osc.receive()
        for step in self._steps:
            if step.run(now, math.inf if fresh else PATIENCE_S):
                self._is_untold = True
        if self.osc.is_active:
            self.osc.send(self.value)
        if self.osc.is_active or self._osc_problems != (None, None):
            self._look_at_osc()
        return self._is_untold and self._tell(fresh)

    def value(self, port: PortRef) -> float | None:
        """Return the value of a value output or a driven parameter; None for any other port."""
        for output in self._step_of[port.node].outputs if port.node in self._step_of else ():
            if output.name == port.port:
                return output.value
        driven = self._drives.get(port) or self.osc.held.get(port)
        return driven.value if isinstance(driven, Drive) else None

    def snapshot(self) -> dict[str, float]:
        """Return the values of all outputs and all driven parameters, by "node.port"."""
        values = {f"{step.block.node}.{output.name}": output.value for step in self._steps for output in step.outputs}
        held = {target: drive for target, drive in self.osc.held.items() if isinstance(drive, Drive)}
        values.update({str(target): drive.value for target, drive in {**held, **self._drives}.items()})
        return values

    def has_given(self, node: str) -> bool:
        """True if a live block has given arrays since the last call of `given`."""
        return node in self._step_of and bool(self._step_of[node].given)

    def given(self, node: str) -> dict[str, Array | LentMemory]:
        """Return the arrays that a live block has given since the last call, by buffer."""
        step = self._step_of.get(node)
        if step is None or not step.given:
            return {}
        taken, step.given = step.given, {}
        return taken

    @property
    def has_state(self) -> bool:
        """True if values of a frame depend on frames before it."""
        return any(step.has_state for step in self._steps)

    @property
    def is_computing(self) -> bool:
        """True while a block is updated, for longer than a frame waits."""
        return any(step.is_computing for step in self._steps)

    def dump_state(self) -> dict[str, str]:
        """Return the state of value blocks by node. Raise PatchError for a block whose state is no plain data."""
        return {step.block.node: step.dump() for step in self._steps if step.has_state}

    def load_state(self, states: Mapping[str, str]) -> None:
        """Go on from a state."""
        for step in self._steps:
            if step.block.node in states:
                step.load(states[step.block.node])

    @property
    def is_empty(self) -> bool:
        """True if the patch has no value blocks and nothing needs an update."""
        is_busy = self._blocks or self._courses or self._has_new_settings or self._is_untold or self.osc.is_active
        return not is_busy and self._is_wired

    @property
    def is_listening(self) -> bool:
        """True while a block listens to an external source, such as MIDI or OSC."""
        return bool(self._listeners.open)

    @property
    def nodes(self) -> Iterable[str]:
        """The value blocks by node id."""
        return self._blocks.keys()

    def stop_listening(self) -> None:
        """Listen to nothing from now on, and send nothing."""
        self._listeners.close()
        self._listeners = Listeners(self.inputs, {})
        self.osc.close()

    def end_steps(self) -> None:
        """End the life of live blocks."""
        for step in self._steps:
            step.close()

    def close(self) -> None:
        """Stop all listeners."""
        self._listeners.close()
        self.osc.close()

    def _wire(self) -> None:
        wiring = wire_values(self._blocks, self._connections.values(), self._type_of)
        known, self._step_of = self._step_of, {}
        for node, step in known.items():
            if self._blocks.get(node) is not step.block:
                step.close()  # before another one begins, which may need the same device
        for node in wiring.order:
            self._step_of[node] = self._step(self._blocks[node], known.get(node))
        self._steps = list(self._step_of.values())
        before, self._drives = self._drives, {}
        driven: dict[PortRef, list[Connection]] = {}
        for connection in wiring.connections:
            driven.setdefault(connection.source, []).append(connection)
        for node, step in self._step_of.items():
            for output in step.outputs:
                made = [self._drive(c) for c in driven.get(PortRef(node, output.name), ())]
                output.drives = tuple(made)
                self._drives.update({drive.connection.target: drive for drive in made})
        unfit = self._wire_curves()
        for target in before.keys() - self._drives.keys():
            self._parameters.release(target.node, target.port)
        for step in self._steps:
            step.rewire()
        self.osc.hold_again()
        self._problems = [*wiring.problems, *unfit]
        self._is_wired = self._has_new_settings = True

    def _wire_curves(self) -> list[Diagnostic]:
        """Bind keys to their parameters; return why some can't be bound."""
        self._courses, unfit = [], []
        for target, keys in self._curves.items():
            block_type = self._type_of(target.node)
            if block_type is None:
                continue
            spec = block_type.parameters.get(block_type.renamed.get(target.port, target.port))
            if spec is None or not rules.is_drivable(spec):
                text = f"keys must be of a live number or boolean, got those of {target.port}: they are left out"
                unfit.append(warning(text, node=target.node, port=target.port, remedy="remove the keys"))
            elif (place := PortRef(target.node, spec.name)) not in self._drives:
                drive = self._drives[place] = self._drive(Connection(KEYS, place))
                self._courses.append((Course(keys), drive))
        return unfit

    def _follow_curves(self) -> bool:
        """Put the values of this frame; return whether diagnostics have changed."""
        changed = False
        for course, drive in self._courses:
            if not self._overruled or drive.connection.target not in self._overruled:
                changed |= drive.put(course.at(self._time_s))
        return changed

    def _step(self, block: UpdatedBlock, known: ValueStep | None) -> ValueStep:
        if known is not None and known.block is block:
            return known
        step = ValueStep(block, self._code)
        block.controls = self.inputs.table
        step.begin()
        return step

    def _drive(self, connection: Connection) -> Drive:
        target = connection.target
        block_type = self._type_of(target.node)
        assert block_type is not None  # otherwise the connection would have been left out
        spec = block_type.parameter(target.port)
        put = self._parameters.drive(target.node, spec.name)
        return Drive(connection, spec, self._parameters.values[target.node][spec.name], put)

    def _look_at_settings(self, patience_s: float) -> None:
        asked = self._steps if self._has_new_settings else self._unchecked
        self._unchecked = [step for step in asked if not step.check(patience_s)]
        if not self._has_new_settings and len(self._unchecked) == len(asked):
            return
        self._has_new_settings, self._is_untold = False, True
        sources = {"": self.osc.table.source} if self.osc.table.source else {}
        sources |= {
            step.block.node: step.source
            for step in self._steps
            if step.source and (not step.block.is_live or self._listeners.has_kind(step.source))
        }
        refused = refused_sources(sources, trusted=self.trusted)
        self._osc_refused = refused.get("")
        self._listeners.need(source for node, source in sources.items() if node not in refused)
        for step in self._steps:
            step.refused = refused.get(step.block.node)
            step.listener = self._listeners.open.get(step.source) if step.refused is None else None
            step.block.listener = step.listener

    def _look_at_osc(self) -> None:
        listener = self._listeners.open.get(self.osc.table.source)
        heard = self._osc_refused or (listener.problem_at("") if listener is not None else None)
        problems = (heard, self.osc.problem)
        if problems != self._osc_problems:
            self._osc_problems, self._is_untold = problems, True

    def _tell(self, fresh: bool) -> bool:
        problems = [step.problem for step in self._steps if step.problem is not None]
        clamped = [told for drive in self._drives.values() if (told := drive.diagnostic) is not None]
        found = (*self._problems, *problems, *clamped, *filter(None, self._osc_problems))
        if found != self.diagnostics:
            known = {(item.node, item.port) for item in self.diagnostics}
            is_known = all((item.node, item.port) in known for item in found)
            now_ns = time.perf_counter_ns()
            if not fresh and is_known and now_ns - self._told_ns < TELL_INTERVAL_NS:
                return False
            self._told_ns = now_ns
        self._is_untold = False
        is_new, self.diagnostics = found != self.diagnostics, found
        return is_new


def refused_sources(sources: Mapping[str, str], *, trusted: bool) -> dict[str, Diagnostic]:
    """Return why nodes may not listen to their sources, for those that may not; `trusted` is whether the patch is."""
    refused: dict[str, Diagnostic] = {}
    heard: set[str] = set()
    for node, source in sources.items():
        told = None if trusted else refuse_source(node, source)
        if told is None and source not in heard and len(heard) == MOST_SOURCES:
            text = f"patch must listen to at most {MOST_SOURCES} OSC addresses and MIDI devices, got another: {source}"
            told = warning(text, node=node, remedy="let several blocks listen to the same one")
        if told is None:
            heard.add(source)
        else:
            refused[node] = told
    return refused
