"""Whatever level an edit costs, the result is that of a cold rebuild, bit for bit."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.fuzzing import seeds
from tests.runtime.conftest import Kernels
from tests.runtime.update.update_edits import Done, Editor
from tests.runtime.update.update_support import (
    OwnArrays,
    Reference,
    Sources,
    check_records,
    contents,
    copy_of,
    differences,
    errors,
    outputs,
)
from warploom import Engine, Patch, UpdateLevel
from warploom.engine.device.device import Device
from warploom.engine.patch.changes import Change, Connected, NodeAdded, ParameterChanged
from warploom.engine.protocol.messages import FrameReport, Reset

EDITS = 20

KINDS: tuple[str, ...] = ("live",) * 5 + ("size",) * 3 + ("grow", "rewire") * 2
KINDS += ("array", "rebind", "rebind", "cut", "open", "unplug", "remove", "add_region", "move", "move", "undo", "undo")
KINDS += ("order", "order")
KINDS += ("redo", "save_kernel", "save_kernel", "save_wider", "save_broken", "profile", "reset")


class Pair:
    """An engine that follows edits, and a reference that is built again after each edit."""

    def __init__(self, device: Device, sources: Sources, arrays: OwnArrays, editor: Editor) -> None:
        self.sources, self.arrays, self.editor = sources, arrays, editor
        self.engine = Engine(editor.patch, device=device, profiling=editor.profiling)
        self.reference = Reference(device, editor.profiling)
        self._changes: list[Change] = []
        self._changed = True
        self._unsubscribe = editor.patch.subscribe(self._changes.append)
        self.frame = -1

    def close(self) -> None:
        """Free all resources."""
        self._unsubscribe()
        self.engine.close()
        self.reference.close()

    def post(self, done: Done) -> None:
        """Post messages that don't come from the patch."""
        for message in done.messages:
            self.engine.post(message)
            if isinstance(message, Reset):
                self.reference.forget()
        self._changed |= bool(done.messages)

    def step(self) -> FrameReport:
        """Run a frame of both, and compare all readable outputs."""
        before = self.arrays.save()
        report = self.engine.step()
        self.frame = report.frame
        check_records(report)
        self._follow(report)
        ports = outputs(self.editor.patch) | outputs(self.reference.patch)
        lived, arrays = contents(self.engine, ports), self.arrays.save()
        self.arrays.restore(before)
        assert not errors(self.reference.step(report.frame))
        told = differences(lived, self.reference.contents(ports))
        assert not told, "\n".join(told)
        assert self.arrays.save() == arrays
        return report

    def _follow(self, report: FrameReport) -> None:
        """Give the reference the patch of the engine's last good graph."""
        if not (self._changes or self._changed):
            return
        patch, changes = self.editor.patch, list(self._changes)
        self._changes.clear()
        self._changed = False
        if report.updates or not errors(report):
            self.sources.follow()  # otherwise a version might be swapped in only by a rebuild
        wanted = patch
        if errors(report):
            structural = any(record.level is not UpdateLevel.CODE for record in report.updates)
            wanted = self._what_runs() if structural else copy_of(self.reference.patch)
            _follow_values(wanted, changes)
        with self.sources.as_running():
            self.reference.follow(wanted, patch.nodes)

    def _what_runs(self) -> Patch:
        """Return the patch without blocks that can't run; blocks that keep running come from the reference."""
        compiled, held = self.engine.core.updates.compiled, self.engine.core.updates.published.held
        assert compiled is not None and held is not None
        running = {node.partition("/")[0] for node in compiled.nodes}
        patches = self.editor.patch, self.reference.patch
        now, before = (patch.excerpt(running & patch.nodes.keys()) for patch in patches)
        parts = ((before, held), (now, running - held))
        nodes = [NodeAdded(node) for part, of in parts for node in part.nodes.values() if node.id in of]
        connections = [Connected(c) for part, of in parts for c in part.connections if c.target.node in of]
        wanted = Patch(now.catalogue)
        wanted.restore([*nodes, *connections])
        wanted.path = now.path
        return wanted


def _follow_values(patch: Patch, changes: list[Change]) -> None:
    """Set the new values of live parameters."""
    for change in changes:
        if isinstance(change, ParameterChanged) and change.node in patch.nodes:
            block_type = patch.block_type(change.node)
            assert block_type is not None
            if not block_type.parameters[change.parameter].structural:
                patch.restore([change])


@pytest.fixture
def arrays(device: Device) -> Iterator[OwnArrays]:
    """The user's own arrays: four of one size and two others."""
    made = OwnArrays(device)
    for number, size in enumerate((64, 64, 64, 64, 65, 3)):
        made.add(np.random.default_rng(number).integers(-8, 9, size).astype(np.float32))
    yield made
    made.close()


@pytest.mark.parametrize("seed", seeds(1))
def test_random_edits_give_what_a_cold_rebuild_gives(
    kernels: Kernels, device: Device, arrays: OwnArrays, seed: int
) -> None:
    """After each random edit, all outputs and the user's arrays equal a cold rebuild's, and the level is allowed."""
    sources = Sources(kernels.folder)
    editor = Editor(seed, sources, arrays.lent)
    pair = Pair(device, sources, arrays, editor)
    story: list[str] = []
    try:
        report = pair.step()
        while errors(report):
            editor.take_back()
            report = pair.step()
        for _ in range(EDITS):
            editor.see(report.buffers)
            batch = [editor.edit(KINDS) for _ in range(editor.chance.choice((1, 1, 1, 1, 2, 4)))]
            story.append(", ".join(done.name for done in batch))
            for done in batch:
                pair.post(done)
            report = pair.step()
            story[-1] += f" -> {report.update_level.name}{' ' + str(errors(report)[0]) if errors(report) else ''}"
            check_level(pair, batch, report)
            for _ in range(editor.chance.choice((0, 0, 1, 2))):
                assert pair.step().update_level is UpdateLevel.NONE
            while errors(report):
                editor.take_back()
                story.append("undo")
                report = pair.step()
    except BaseException as problem:
        problem.add_note("\n".join(["the story:", *story]))
        raise
    finally:
        pair.close()


def check_level(pair: Pair, batch: list[Done], report: FrameReport) -> None:
    """Check that the level is one that the edit may cost; for several edits in a frame, at most the highest."""
    level = report.update_level
    if len(batch) == 1 and not errors(report) and not pair.sources.broken:
        assert level in batch[0].levels, batch[0].name
    assert level <= max(max(done.levels) for done in batch)
