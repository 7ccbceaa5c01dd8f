"""The profiling level changes at random during edits: no stale times are reported and nothing leaks."""

import random
import time

from tests.fuzzing import FIRST_SEED, many
from tests.runtime.conftest import SCALE, Kernels
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.device.cuda.device import CudaDevice
from warploom.engine.device.cuda.graph.native_graph import MOST_ORIGINS, NativeGraph
from warploom.engine.device.device import Device
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.optimiser import QUEUE
from warploom.engine.patch.changes import PortRef
from warploom.engine.protocol.messages import FrameReport, SetProfiling, UpdateLevel

SWITCHES = 400
NONE, SUMMARY, PER_BLOCK, PER_KERNEL, DEEP_ASYNC, DEEP_SYNC = ProfilingLevel
FIRST, SECOND = PortRef("first", "out"), PortRef("second", "out")


class Editor:
    """Edits a patch of two sources and their readers, and can restore it."""

    def __init__(self, engine: Engine, patch: Patch, kernels: Kernels, chance: random.Random) -> None:
        self._engine, self._patch, self._kernels, self._chance = engine, patch, kernels, chance
        self._added: list[str] = []
        self._turns = 0

    def edit(self) -> None:
        """Move a slider, resize a source, add, remove, connect or disconnect a block, or save a kernel."""
        chance, patch = self._chance, self._patch
        match chance.choice(("live", "live", "size", "add", "add", "remove", "rewire", "unplug", "save")):
            case "live":
                patch.set("scaled", factor=chance.uniform(1.0, 4.0))
            case "size":
                patch.set("second", size=chance.choice((3, 100, 5000)))
            case "add" if len(self._added) < 4:
                self._turns += 1
                name = f"added{self._turns}"
                patch.add(chance.choice(("test_run.scale", "buffer.copy")), node_id=name)
                patch.connect(self._port(), PortRef(name, "x"))
                self._added.append(name)
            case "remove" if self._added:
                self._remove(chance.choice(self._added))
            case "rewire":
                patch.connect(chance.choice((FIRST, SECOND)), PortRef(chance.choice(("scaled", *self._added)), "x"))
            case "unplug" if found := sorted(patch.connections, key=str):
                patch.disconnect(chance.choice(found))
            case "save":
                self._save(chance.choice(("", "0.0f + ")))

    def go_back(self) -> None:
        """Restore the patch to its first state."""
        for name in tuple(self._added):
            self._remove(name)
        self._patch.set("scaled", factor=2.0)
        self._patch.set("second", size=3)
        self._patch.connect(FIRST, PortRef("scaled", "x"))
        self._save("")

    def _port(self) -> PortRef:
        return self._chance.choice((FIRST, SECOND, *(PortRef(name, "out") for name in self._added)))

    def _remove(self, name: str) -> None:
        self._patch.remove(name)
        self._added.remove(name)

    def _save(self, term: str) -> None:
        self._engine.post(self._kernels.write("scale.cu", SCALE.replace("x[i]", f"{term}x[i]")))


def held(device: Device) -> int:
    """Return the number of resources that are not released: memory ranges on the host, driver objects on a GPU.

    Of driver graphs only those are counted that a chain of clones may not keep: a clone needs its originals.
    """
    if isinstance(device, HostDevice):
        return len(device.table.snapshot())
    assert isinstance(device, CudaDevice)
    held = [getattr(release, "__self__", None) for release in device._objects._releases.values()]
    graphs = sum(isinstance(each, NativeGraph) for each in held)
    return len(held) - min(graphs, MOST_ORIGINS + 1)


def check(engine: Engine, patch: Patch, report: FrameReport, level: ProfilingLevel, since: int) -> None:
    """Check that a frame has only times of its level, of frames `since` a switch, and of existing nodes."""
    assert report.statistics.profiling is level
    profile = engine.core.profiler.profile()
    assert profile.level is level and (profile.frame == -1 or since <= profile.frame <= report.frame)
    timed = {node for node, found in report.nodes.items() if found.time_ns is not None}
    compiled = engine.core.updates.compiled
    running = set(compiled.nodes) if compiled is not None else set[str]()
    assert timed <= running & patch.nodes.keys()
    assert {span.node for span in profile.spans} <= running | {""}
    assert not (profile.spans and profile.frame == -1)
    if level < PER_BLOCK:
        assert not timed and not profile.spans
    if level < DEEP_ASYNC:
        assert not profile.buffers
    if level is NONE:
        assert (profile.frame, profile.launch_ns, profile.measured_ns, profile.cost_ns) == (-1, None, None, 0)
        assert report.statistics.launch_ns is None


def test_switches_while_editing_leak_nothing_and_tell_nothing_stale(device: Device, kernels: Kernels) -> None:
    """During random edits and switches, reports have only times of the current level, and no resources leak."""
    chance, patch = random.Random(FIRST_SEED), Patch()
    patch.add("test_run.count", node_id="first")
    patch.add("test_run.count", node_id="second")
    patch.add("test_run.scale", node_id="scaled")
    patch.connect(FIRST, PortRef("scaled", "x"))
    counts, switches, is_edited = [], many(SWITCHES), True
    with Engine(patch, device, profiling=NONE) as engine:
        editor, core, level = Editor(engine, patch, kernels, chance), engine.core, NONE
        pool = core.context.services.pool
        report = engine.step()
        for turn in range(switches):
            if turn in (switches // 2, switches - 1):
                editor.go_back()
                engine.post(SetProfiling(NONE))
                engine.step()
                while QUEUE._threads:  # optimised code replaces the first code, which is then released
                    time.sleep(0.01)
                level, report = NONE, engine.step()
                core.profiler._graph._thread.submit(int).result()  # this thread frees copies of the graph
                pool.trim()
                counts.append((pool.used_bytes, held(device)))
            if chance.random() < 0.4:
                editor.edit()
                is_edited = True
            level = chance.choice([other for other in ProfilingLevel if other is not level])
            engine.post(SetProfiling(level))
            since = report.frame + 1
            if chance.random() < 0.7:
                report = engine.step()
                check(engine, patch, report, level, since)
                assert is_edited or report.update_level is UpdateLevel.NONE
                profile, is_edited = core.profiler.profile(), False
                assert (profile.frame == report.frame) is (level is not NONE)
                assert bool(profile.spans) is (level >= PER_BLOCK)
            else:
                for _ in range(3):
                    report = core.frame(free_running=True)
                    check(engine, patch, report, level, since)
    (used, objects), (used_later, objects_later) = counts
    assert used_later == used
    assert objects_later <= objects
