"""Finding the block that makes an engine fail: the patch runs again in a fresh process, step by step."""

import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from warploom.engine.arguments import checked
from warploom.engine.diagnostics import DeviceError, Diagnostic, Mend, PatchError, Source, error, warning
from warploom.engine.patch.document import Patch
from warploom.engine.patch.organise.bypass import RunningChanges
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol import sanitizer
from warploom.engine.protocol.child.process import start_process
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.messages import SetFusing, SetKernelTimeLimit
from warploom.engine.protocol.pipe import PipeTransport, words_of
from warploom.engine.protocol.questions import Doing, Open, ReplayStep

#: How long an operation may take before it counts as endless, and other work, such as compiling.
STUCK_S, PREPARING_S = 5.0, 120.0
#: How long one replay may take, and how many frames it runs one operation after the other.
LIMIT_S, FRAMES = 20.0, 240
_START = ReplayStep(0, Doing.START, "start")
_CANCELLED = "the search for a culprit was cancelled"


class Culprit(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine did when it failed.

    `fault` describes the failure; it is empty if no replay has failed, and then the other fields say how far the last
    one came. `node` is the patch's node, `nodes` are all blocks whose work the operation did, if it was fused.
    `operation` describes the work, `kernel` is its entry point; `file` and `line` are its source's. `arguments` are
    those of the kernel, "name = value". `device` is the one on which it failed.
    """

    doing: Doing
    fault: str
    frame: int
    device: str
    node: str | None = None
    nodes: tuple[str, ...] = ()
    operation: str = ""
    kernel: str | None = None
    file: str | None = None
    line: int | None = None
    loops: tuple[tuple[str, int], ...] = ()
    arguments: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def is_found(self) -> bool:
        """True if a replay has failed too."""
        return bool(self.fault)

    @property
    def diagnostic(self) -> Diagnostic:
        """The finding for a person, at the node; a warning if no replay has failed."""
        if not self.is_found:
            text = f"fault must occur again to be found, got {self.frame:,} frames one by one without it"
            return warning(text, remedy=self.remedy, mend=Mend.RESTART, source=Source.LAUNCH)
        turns = "".join(f", turn {turn:,} of {loop}" for loop, turn in self.loops)
        text = f"{self.fault} (frame {self.frame:,}{turns}, on {self.device})"
        if self.arguments:
            text += f"; its arguments: {'; '.join(self.arguments)}"
        return error(
            text,
            node=self.node,
            remedy=self.remedy,
            file=self.file,
            line=self.line,
            mend=Mend.RESTART,
            source=Source.LAUNCH,
        )


class CulpritSearch:
    """A search for the block that makes an engine fail. Create it on the patch's thread; any thread may run it.

    `command` starts an engine's process, as for `connect`; `frame` is the one that failed. Earlier frames run whole.
    If none fails from there on, all frames are replayed from the first one. Each replay takes at most `limit_s`, and
    an operation that takes longer than `stuck_s` counts as endless. Arrays of the patch must not change meanwhile.
    """

    @checked(PatchError, command="checked by words_of")
    def __init__(
        self,
        patch: Patch,
        command: str | Sequence[str],
        device: str = "auto",
        *,
        frame: int = 0,
        time_step_s: float = 1 / 60,
        plain_edges: bool = False,
        fuse: bool = True,
        limit_s: float = LIMIT_S,
        stuck_s: float = STUCK_S,
    ) -> None:
        self._patch = Patch(patch.catalogue)
        self._patch.path, self._patch.trusted = patch.path, patch.trusted
        self._patch.restore(RunningChanges(patch).first())
        self._command, self._device, self._frame = list(words_of(command)), device, frame
        self._time_step_s, self._plain_edges, self._fuses = time_step_s, plain_edges, fuse
        self._limit_s, self._stuck_s = limit_s, stuck_s
        self._lock = threading.Lock()
        self._transport: PipeTransport | None = None
        self._is_cancelled = False

    def run(self) -> Culprit:
        """Replay the patch until the culprit is known. Raise DeviceError if no engine can be started."""
        found = self._replay(self._frame)
        if found.doing is Doing.FRAME and found.frame > 0:
            found = self._replay(found.frame)  # it failed earlier this time
        if self._frame > 0 and not (found.is_found and found.doing is not Doing.FRAME):
            found = self._replay(0)
        if len(found.nodes) > 1:
            alone = self._replay(found.frame, fuses=False)
            if len(alone.nodes) == 1 and alone.nodes[0] in found.nodes:
                found = alone
        if found.device == "host" or found.line is not None:
            return found
        if found.kernel is not None and sanitizer.is_installed() and Path(self._command[0]).stem != "ssh":
            found = self._sanitized(found)
        if found.line is None and (found.kernel is not None or not found.is_found):
            found = self._checked(found)
        return found

    def cancel(self) -> None:
        """End the search; any thread may call it. `run` then returns a culprit that was not found."""
        with self._lock:
            self._is_cancelled = True
            if self._transport is not None:
                self._transport.kill(_CANCELLED)

    def _sanitized(self, found: Culprit) -> Culprit:
        """Return the culprit with its place in the source, if compute-sanitizer knows it."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "report"
            with suppress(DeviceError):
                self._replay(found.frame, command=sanitizer.sanitized(self._command, log))
            report = sanitizer.first_report(log.read_text(errors="replace")) if log.exists() else None
        if report is None or report.kernel != found.kernel:
            return found
        text = f"{found.fault}; {report.text}, by {report.thread}"
        return msgspec.structs.replace(found, fault=text, file=report.file or found.file, line=report.line)

    def _checked(self, found: Culprit) -> Culprit:
        """Return the culprit as the host finds it, which checks every access, if its fault is at the same node."""
        with suppress(DeviceError):
            other = self._replay(found.frame, device="host")
            if not found.is_found and other.is_found:
                return other
            if other.node == found.node and other.line is not None:
                text = f"{found.fault}; on the host, {other.fault}"
                return msgspec.structs.replace(found, fault=text, file=other.file, line=other.line)
        return found

    def _replay(
        self,
        from_frame: int,
        *,
        device: str | None = None,
        fuses: bool | None = None,
        command: Sequence[str] | None = None,
    ) -> Culprit:
        transport = PipeTransport(self._patch, start_process(command or self._command, apart=True))
        with self._lock:
            self._transport = transport
            if self._is_cancelled:
                transport.kill(_CANCELLED)
        try:
            try:
                transport.open(Open(device or self._device, ProfilingLevel.NONE, self._time_step_s, self._plain_edges))
            except DeviceError as problem:
                if self._is_cancelled:
                    return _nothing(_START, "none")
                if not problem.reason:  # the device can't be used
                    raise
                return _died(_START, problem, "none")
            client = Client(self._patch, transport)
            if not (self._fuses if fuses is None else fuses):
                client.post(SetFusing(False))
            client.post(SetKernelTimeLimit(self._stuck_s))  # the host then names the line
            return self._follow(client, from_frame)
        finally:
            self._transport = None
            if command is None:  # compute-sanitizer writes its report at the end
                transport.kill("its replay is over")
            with suppress(DeviceError):
                transport.close()

    def _follow(self, client: Client, from_frame: int) -> Culprit:
        """Ask for one step after the other until one fails, or for long enough."""
        device, began_s = client.info.name, time.monotonic()
        step = _START
        #: When each loop around the present step began.
        since_s: dict[tuple[object, ...], float] = {}
        while step.frame < from_frame + FRAMES and time.monotonic() - began_s < self._limit_s:
            is_short = step.doing is Doing.OPERATION or (step.doing is Doing.FRAME and step.frame > 0)
            patience_s = 2 * self._stuck_s if is_short else PREPARING_S
            try:
                following = client.replay(from_frame, within_s=patience_s)
            except TimeoutError:
                return _culprit(step, f"{step.work} must end, got none within {patience_s:g} s", device)
            except DeviceError as problem:
                if self._is_cancelled:
                    return _nothing(step, device)
                return _died(step, problem, device)
            if following.fault is not None:
                return _failed(following, following.fault, device)
            step = following
            loops = [(step.frame, step.loops[: depth - 1], step.loops[depth - 1][0]) for depth in _depths(step)]
            since_s = {loop: since_s.get(loop, time.monotonic()) for loop in loops}
        for depth, began_loop_s in reversed([*zip(_depths(step), since_s.values(), strict=True)]):
            if time.monotonic() - began_loop_s > self._limit_s / 2:
                node, turn = step.loops[depth - 1]
                outer = msgspec.structs.replace(step, nodes=(node,), work="loop", loops=step.loops[: depth - 1])
                outer = msgspec.structs.replace(outer, kernel=None, file=None, arguments=())
                return _culprit(outer, f"loop must end by itself, got {turn:,} turns until the replay ended", device)
        return _nothing(step, device)


@checked(PatchError, command="checked by words_of")
def find_culprit(
    patch: Patch,
    command: str | Sequence[str],
    device: str = "auto",
    *,
    frame: int = 0,
    limit_s: float = LIMIT_S,
    stuck_s: float = STUCK_S,
) -> Culprit:
    """Replay a patch whose engine has failed, and return what it did; see `CulpritSearch`. This takes seconds."""
    return CulpritSearch(patch, command, device, frame=frame, limit_s=limit_s, stuck_s=stuck_s).run()


def _depths(step: ReplayStep) -> range:
    return range(1, len(step.loops) + 1)


def _nothing(step: ReplayStep, device: str) -> Culprit:
    remedy = "start the engine again; the fault may depend on time, on input, or on operations that run in parallel"
    return Culprit(doing=step.doing, fault="", frame=step.frame, device=device, remedy=remedy)


def _died(step: ReplayStep, problem: DeviceError, device: str) -> Culprit:
    text = f"{step.work} must leave the engine's process alive, but {problem.reason or problem}"
    return _culprit(step, text, device)


def _failed(step: ReplayStep, why: Diagnostic, device: str) -> Culprit:
    found = _culprit(step, why.message, device)
    node = why.node.partition("/")[0] if why.node else found.node
    nodes = (why.node,) if why.node and len(step.nodes) > 1 and why.line else step.nodes
    file, line = (why.file, why.line) if why.line else (step.file, None)
    remedy = why.remedy if why.node and step.kernel is None else found.remedy
    return msgspec.structs.replace(found, node=node, nodes=nodes, file=file, line=line, remedy=remedy)


def _culprit(step: ReplayStep, fault: str, device: str) -> Culprit:
    if step.kernel is not None:
        remedy = "correct the kernel or its inputs; the engine then starts again"
    elif step.nodes:
        remedy = "correct the block or its inputs; the engine then starts again"
    else:
        remedy = "take out the block that was changed last, and start the engine again"
    return Culprit(
        doing=step.doing,
        fault=fault,
        frame=step.frame,
        device=device,
        node=step.nodes[-1].partition("/")[0] if step.nodes else None,
        nodes=step.nodes,
        operation=step.work,
        kernel=step.kernel,
        file=step.file,
        loops=step.loops,
        arguments=step.arguments,
        remedy=remedy,
    )
