"""Any call of the device may fail: the caller gets one error, the patch is intact, and closing frees everything."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import tests.runtime.small_blocks  # noqa: F401 - defines block types
from tests.device.faults import Faults, GpuLike
from tests.fuzzing import FACTOR, FIRST_SEED
from tests.runtime.conftest import OF_THE_PROGRAM, SCALE, Kernels
from tests.runtime.preview.preview_support import gapped_patch, picture_patch
from tests.runtime.update.update_support import Contents, contents, outputs
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.compiler.executable.by_operation import launch_by_operation
from warploom.engine.device import open as opening
from warploom.engine.device.host.device import HostDevice
from warploom.engine.diagnostics import Diagnostic, PatchError, WarploomError
from warploom.engine.patch.document import NodeRef
from warploom.engine.patch.files import dump_patch
from warploom.engine.protocol.messages import Reset, SaveOutputs, SetPacing, SetProfiling, SetRunning
from warploom.engine.protocol.pacing import Pacing, PacingMode
from warploom.engine.protocol.sampling import ObservePorts, picture_of

ARRAY = np.arange(16, dtype=np.float32).reshape(4, 4)
#: How many calls of each session fail in an ordinary run.
SAMPLE = 6
#: Calls that may fail unseen: memory is asked for again when other memory has been freed, a graph that can't be changed
#: is built anew, and an update tries again to make room for a picture.
TRIED_AGAIN = {
    ("adjust.py", "Executable.update_captured"),
    ("buffer_pool.py", "Device.allocate"),
    ("buffer_pool.py", "Device.fill"),
    ("compiled_graph.py", "Executable.update_kernel"),
    ("picture_slot.py", "Device.activate"),
    ("picture_slot.py", "PinnedArray.free"),
    ("picture_slot.py", "Device.pinned"),
}
_OTHER_SCALE = SCALE.replace("* factor", "+ factor")


class Session:
    """A patch and an engine on a device like a GPU, and everything that the engine said."""

    def __init__(self, kernels: Kernels, patch: Patch) -> None:
        self.kernels, self.patch = kernels, patch
        kernels.write("scale.cu", SCALE)
        self.engine: Engine | None = None
        self.raised: list[Exception] = []
        #: The numbers of calls before each step, and the steps that raised.
        self.begun: list[int] = []
        self.failed: list[int] = []
        self.said: set[str] = set()
        self.reads: list[Contents] = []

    def do(self, step: Callable[[], object]) -> None:
        """Take a step; note its error."""
        try:
            step()
        except WarploomError as problem:
            self.raised.append(problem)
            self.failed.append(len(self.begun))

    def open(self) -> None:
        """Make the engine."""
        self.engine = Engine(self.patch, "host")

    def frame(self, **how: Any) -> None:
        """Run a frame by hand, or as the engine's thread does."""
        if self.engine is not None:
            self.engine.core.frame(**how)
            self.listen()

    def listen(self) -> None:
        """Note what the engine has said."""
        if self.engine is None:
            return
        report = self.engine.take_report()
        found = [*(report.diagnostics if report is not None else ()), *self.engine.take_events()]
        self.said |= {item.message for item in found if isinstance(item, Diagnostic)}

    def take_sample(self) -> None:
        """Take the picture, so that the next one may follow."""
        if self.engine is not None:
            self.engine.take_sample("show")

    def launch_by_operation(self) -> None:
        """Launch the graph operation by operation, as the search for a culprit does."""
        core = self.engine.core if self.engine is not None else None
        if core is not None and core.updates.compiled is not None:
            uniforms, stream = core.context.services.uniforms.current, core.launcher.stream
            launch_by_operation(core.updates.compiled, core.device, uniforms, stream, lambda *_: None)

    def post(self, *messages: Any) -> None:
        """Post messages and run a frame."""
        for message in messages:
            if self.engine is not None:
                self.engine.post(message)
        self.frame()

    def read(self) -> None:
        """Read all ports."""
        found = contents(self.engine, outputs(self.patch)) if self.engine is not None else {}
        self.said |= {held for held in found.values() if isinstance(held, str)}
        self.reads.append(found)


def array(patch: Patch, name: str, values: np.ndarray[Any, Any]) -> NodeRef:
    """Place an array."""
    return patch.add("io.array", node_id=name, data=values)


def flat(session: Session, folder: Path) -> Iterator[Callable[[], object]]:
    """A session without regions: its graphs are cloned and adjusted in place."""
    patch = session.patch
    a = array(patch, "a", ARRAY)
    count = patch.add("test_run.count", node_id="count", size=16)
    scale = patch.add("test_run.scale", node_id="scale")
    patch.connect(count["out"], scale["x"])
    first, second = (patch.add("math.scale_offset", node_id=name, scale=2.0) for name in ("first", "second"))
    patch.connect(scale["out"], first["x"])
    patch.connect(first["out"], second["x"])
    product = patch.add("linalg.multiply", node_id="product")
    patch.connect(a["out"], product["a"])
    patch.connect(a["out"], product["b"])
    grow = patch.add("test_small.grow", node_id="grow", first=2.0)
    take = patch.add("test_small.take", node_id="take")
    patch.connect(grow["out"], take["x"])
    constant = patch.add("buffer.constant", node_id="constant", shape="4", value=3.0)
    pour = patch.add("test_small.pour", node_id="pour", capacity=2)
    patch.connect(constant["out"], pour["x"])
    patch.add("test_run.tell", node_id="tell")
    own = patch.add("io.external", node_id="own", array=np.ones(4, np.float32))
    patch.connect(own["out"], patch.add("test_run.scale", node_id="after")["x"])
    save = patch.add("test_run.save", node_id="save", file=str(folder / "saved.npy"))
    patch.connect(second["out"], save["x"])

    yield session.open
    yield session.frame
    yield session.frame
    patch.set(scale, factor=3.0)
    yield session.frame
    patch.set(count, size=200)
    yield session.frame
    patch.set(a, data=ARRAY + 1)
    yield session.frame
    patch.set(grow, first=5.0)
    yield session.frame
    more = patch.add("test_small.take", node_id="more")
    patch.connect(second["out"], more["x"])
    yield session.frame
    last = patch.add("math.saxpy", node_id="last")
    patch.connect(more["out"], last["x"])
    patch.connect(second["out"], last["y"])
    yield session.frame
    patch.set(product, transpose_a=True)
    yield session.frame
    yield lambda: session.post(session.kernels.write("scale.cu", _OTHER_SCALE))
    yield lambda: session.post(ObservePorts({"show": picture_of("show", (8, 8))}))
    yield session.take_sample
    yield lambda: session.post(ObservePorts({"show": picture_of("show")}))
    yield session.take_sample
    yield lambda: session.frame(free_running=True)
    patch.set(count, size=150)
    yield session.frame
    yield session.read
    yield lambda: session.engine and session.engine.save_outputs(folder / "all")
    yield lambda: session.post(SaveOutputs(None))
    patch.undo()
    yield session.frame
    for level in ProfilingLevel:
        yield lambda level=level: session.post(SetProfiling(level))  # type: ignore[misc]
        patch.set(scale, factor=float(level))
        yield session.frame
    yield lambda: session.engine and session.engine.start(rate=None)
    yield lambda: session.engine and session.engine.stop()
    yield session.listen
    yield lambda: session.engine and session.engine.trace(2)
    yield lambda: session.post(SetProfiling(ProfilingLevel.NONE))
    patch.set(scale, factor=3.5)
    yield lambda: session.post(SetPacing(Pacing(PacingMode.FREE, None, True)))
    for _ in range(8):
        yield lambda: session.frame(free_running=True)
    yield lambda: session.post(ObservePorts({}))
    for _ in range(8):
        yield lambda: session.frame(free_running=True)
    yield lambda: session.engine and session.engine.post(SetRunning(False))
    yield lambda: session.frame(free_running=True)
    patch.set(scale, factor=4.0)
    yield lambda: session.frame(free_running=True)
    patch.set(scale, factor=5.0)
    yield lambda: session.frame(free_running=True)
    yield lambda: session.post(SetRunning(True), Reset())
    patch.connect(first["out"], more["x"])
    yield session.frame
    patch.remove("after")
    yield session.frame
    yield session.read


def nested(session: Session, folder: Path) -> Iterator[Callable[[], object]]:
    """A session with regions, a child graph, delays and status words: its graphs are built anew, and are two."""
    patch = session.patch
    every = patch.add("control.every", node_id="every", period=2)
    branch, loop = patch.add("control.if", node_id="branch"), patch.add("control.for", node_id="loop", count=3)
    patch.connect(every["due"], branch["condition"])
    one = array(patch, "one", np.ones(4, np.float32))
    inner = patch.add("test_small.make", node_id="inner", region=branch)
    patch.connect(inner["out"], patch.add("test_run.scale", node_id="scaled", region=branch)["x"])
    deep = patch.add("control.if", node_id="deep", region=loop)
    patch.connect(every["due"], deep["condition"])
    patch.add("test_run.count", node_id="deepest", region=deep)
    turn = patch.add("test_run.count", node_id="turn", region=loop)
    delay = patch.add("buffer.frame_delay", node_id="delay", initial=5.0)
    total = patch.add("math.add", node_id="total")
    for source, target in ((one, "like"), (total, "x")):
        patch.connect(source["out"], delay[target])
    for source, target in ((delay, "x"), (one, "y")):
        patch.connect(source["out"], total[target])
    three = patch.add("test_small.sum3", node_id="three")
    patch.connect(total["out"], three["x"])
    pour = patch.add("test_small.pour", node_id="pour", capacity=2)
    patch.connect(one["out"], pour["x"])
    patch.add("test_run.tell", node_id="tell")

    yield session.open
    yield session.frame
    yield session.read
    yield session.frame
    yield session.read
    patch.set(inner, value=2.0)
    yield session.frame
    for level in (ProfilingLevel.DEEP_SYNC, ProfilingLevel.NONE):
        yield lambda level=level: session.post(SetProfiling(level))  # type: ignore[misc]
        patch.set(inner, value=3.0)
        yield session.frame
    more = patch.add("buffer.frame_delay", node_id="more", initial=7.0)
    patch.connect(one["out"], more["like"])
    patch.connect(total["out"], more["x"])
    yield session.frame
    patch.connect(one["out"], more["x"])
    yield session.frame
    patch.remove(more)
    yield session.frame
    yield session.launch_by_operation
    patch.set(turn, size=90)
    yield session.frame
    yield lambda: session.post(ObservePorts({"show": picture_of("show")}))
    yield lambda: session.post(Reset())
    patch.undo()
    yield session.frame
    yield lambda: session.post(SetRunning(False))
    yield lambda: session.frame(free_running=True)
    yield session.read


SESSIONS = {"flat": (flat, GpuLike, gapped_patch), "nested": (nested, HostDevice, picture_patch)}


@pytest.fixture(autouse=True)
def makes_sound_plans() -> None:
    """Plans are not verified here: that takes longer than the sessions."""


def run(faults: Faults, kernels: Kernels, folder: Path, name: str, *fails: int, lasting: bool = False) -> Session:
    """Run a session, in which the call with the given number fails; no thread may be left."""
    before = set(threading.enumerate())
    steps, device, patch = SESSIONS[name]
    with faults.counting(*fails, lasting=lasting), pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(opening, "_open_host", device)
        session = Session(kernels, patch())
        for step in steps(session, folder):
            session.begun.append(len(faults.calls))
            session.do(step)
        session.begun.append(len(faults.calls))
        if session.engine is not None:
            session.do(session.engine.close)
            session.engine.close()
            session.listen()
    for thread in set(threading.enumerate()) - before:
        if not thread.name.startswith(OF_THE_PROGRAM):
            thread.join(60)
            assert not thread.is_alive(), thread.name
    return session


def check(session: Session, sound: Session, faults: Faults, *, lasting: bool) -> None:
    """Check the laws of a session in which a call has failed."""
    assert not faults.live, [made for _, made in faults.live.values()]
    assert dump_patch(session.patch) == dump_patch(sound.patch)
    said = [text for text in session.said if Faults.TEXT in text]
    for problem in session.raised:
        # Outputs of a patch that can't be built can't be saved, and the reason was said before.
        assert Faults.TEXT in str(problem) or (said and isinstance(problem, PatchError)), repr(problem)
    if not lasting:
        # An edit resumes an engine whose device works again.
        last = range(len(session.begun) - 3, len(session.begun))  # before it is closed
        assert faults.first >= session.begun[-6] or not any(step in last for step in session.failed)
        told = {str(problem) for problem in session.raised if Faults.TEXT in str(problem)}
        assert len(told) <= 1
        file, _, call = faults.calls[faults.first]
        assert told or said or (Path(file).name, call) in TRIED_AGAIN


def chosen(calls: Sequence[tuple[str, int, str]]) -> list[tuple[int, bool]]:
    """Return the calls that fail, and whether all later ones do too: in an ordinary run, a sample of places."""
    if FACTOR > 1:
        return [(number, lasting) for number in range(len(calls)) for lasting in (False, True)]
    chance = Random(FIRST_SEED)
    numbers = list(range(len(calls)))
    chance.shuffle(numbers)
    places = {calls[number]: number for number in numbers}
    return [(number, index % 4 == 0) for index, number in enumerate(chance.sample(sorted(places.values()), SAMPLE))]


@pytest.mark.parametrize("name", SESSIONS)
def test_any_call_of_the_device_may_fail(kernels: Kernels, tmp_path: Path, name: str) -> None:
    """A failure is one error or a diagnostic; the patch is intact, all is freed, and the next engine is as new."""
    faults = Faults()
    sound = run(faults, kernels, tmp_path, name)
    assert not sound.raised and not faults.live
    reached = set(faults.calls)
    for number, lasting in chosen(faults.calls):
        session = run(faults, kernels, tmp_path, name, number, lasting=lasting)
        reached |= set(faults.calls)
        if number < len(faults.calls):  # the engine's own thread runs more or fewer frames
            try:
                check(session, sound, faults, lasting=lasting)
            except AssertionError as problem:
                problem.add_note(f"call {number}, lasting {lasting}: {faults.calls[number]}")
                raise
    again = run(faults, kernels, tmp_path, name)
    assert again.reads == sound.reads
    sys.stdout.write(f"{name}: {len(faults.calls)} calls from {len(reached)} places\n")
