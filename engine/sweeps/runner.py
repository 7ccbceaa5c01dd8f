"""The runs of a worker: one engine that stays open, whose parameters and state are set anew for each run.

A run has the same results as in a fresh engine: after its values are set, all state begins again at frame 0. The engine
can't clear what live blocks keep, whose own code runs in every frame. After a run with such blocks, or one that failed,
the next run has a fresh engine.
"""

import math
import os
import shutil
from pathlib import Path
from statistics import median_low

import msgspec
import numpy as np

from warploom.engine.blocktypes.parameters import ParameterSpec
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import configured_folder, trust_blocks
from warploom.engine.device.device import Device
from warploom.engine.device.open import open_device
from warploom.engine.diagnostics import DeviceError, PatchError, WarploomError
from warploom.engine.patch.changes import Mode
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import dump_patch, patch_digest, read_patch
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.protocol.messages import Frozen, Reset
from warploom.engine.runtime.check.check_patch import has_errors
from warploom.engine.runtime.engine import Engine
from warploom.engine.sweeps.plan import Run
from warploom.engine.sweeps.results import Record, ResultFolder
from warploom.engine.version import version


class Job(msgspec.Struct, frozen=True):
    """What all runs of a sweep share, as workers on any machine get it."""

    patch: str
    path: str
    trusted: bool
    #: Folders of block files that the person trusts.
    folders: tuple[str, ...]
    out: str
    version: str
    #: What is run; the same for a patch whose nodes were only moved.
    digest: str

    @classmethod
    def of(cls, patch: Patch, out: Path) -> "Job":
        """Return the job of a patch, whose relative files start at its own folder, or else at the current one."""
        path = (patch.path or Path.cwd() / "patch.loom").absolute()
        folders = tuple(map(str, block_folders.trusted))
        place = str(out.absolute())
        return cls(dump_patch(patch), str(path), patch.trusted, folders, place, version(), patch_digest(patch))


class Runner:
    """Runs the runs of a job, one after the other, in one engine."""

    def __init__(self, job: Job, device: str, cores: int) -> None:
        self.job, self.folder = job, ResultFolder(Path(job.out))
        self._device_name, self._cores = device, cores
        self._device: Device | None = None
        self._engine: Engine | None = None
        for folder in job.folders:
            if Path(folder).is_dir() and Path(folder) != configured_folder():
                trust_blocks(folder)
        self._patch = self._read_patch()

    def run(self, run: Run) -> Record:
        """Run and save a run, and return its record; one that is done already is not run again."""
        known = self.folder.done(run.id)
        if known is not None:
            return known
        begun: Path | None = None
        try:
            begun = self.folder.begin(run.id)
            record = self._run(run, begun)
            return self.folder.finish(record, begun)
        except (WarploomError, OSError) as problem:
            is_spent = (
                isinstance(problem, DeviceError) and self._device is not None and self._device.info.name != "host"
            )
            failed = Record.failure(
                run, str(problem), device=self._title(), is_spent=is_spent, is_full=self.folder.is_full()
            )
            self._close_engine()
            if begun is not None:
                shutil.rmtree(begun, ignore_errors=True)
            if not failed.is_full:
                self.folder.fail(failed)
            return failed

    def close(self) -> None:
        """Close the engine and its device."""
        self._close_engine()
        if self._device is not None:
            self._device.close()
            self._device = None

    def _run(self, run: Run, begun: Path) -> Record:
        engine = self._open_engine()
        for node, spec in recorded_files(self._patch):
            name = Path(str(self._patch.nodes[node].parameters.get(spec.name, spec.default))).name
            self._patch.set(node, gesture=self, **{spec.name: str(begun / name)})
        for target, value in run.values.items():
            node, _, parameter = target.partition(".")
            self._patch.set(node, gesture=self, **{parameter: value})
        engine.post(Reset())
        times_ns: list[int] = []
        warnings: dict[str, None] = {}
        for number in range(run.last + 1):
            report = engine.step()
            if has_errors(report.diagnostics):
                raise PatchError("; ".join(dict.fromkeys(map(str, report.diagnostics))))
            if any(isinstance(event, Frozen) for event in engine.take_events()):
                raise PatchError(f"frame {number} must run to its end, got a sentinel that froze it")
            if number >= run.first:
                times_ns.append(report.frame_time_ns)
        warnings |= dict.fromkeys(map(str, report.diagnostics))
        engine.save_outputs(begun)
        if engine.core.context.registry.live_nodes:
            self._close_engine()  # which also ends the files that blocks write frame by frame
        outputs = sorted(path.name for path in begun.iterdir())
        return Record(
            run.id,
            run.values,
            run.first,
            run.last,
            "done",
            frame_time_ms=round(median_low(times_ns[1:] or times_ns) / 1e6, 4),
            device=self._title(),
            outputs=tuple(self.folder.relative(name, run.id) for name in outputs),
            numbers=_numbers(begun, outputs),
            warnings=tuple(warnings),
        )

    def _read_patch(self) -> Patch:
        return read_patch(self.job.patch.encode(), Path(self.job.path), trust=self.job.trusted)

    def _open_engine(self) -> Engine:
        if self._engine is None:
            if self._device is None:
                self._device = _open(self._device_name, self._cores)
            self._patch = self._read_patch()
            self._engine = Engine(self._patch, self._device, profiling=ProfilingLevel.NONE)
        return self._engine

    def _close_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            try:
                engine.close()
            except DeviceError:  # the run has reported it
                self._device = None

    def _title(self) -> str:
        return self._device.info.name if self._device is not None else self._device_name


def _numbers(folder: Path, outputs: list[str]) -> dict[str, float | str]:
    """Return the contents of the arrays that hold one number, by name; NaN and infinity as texts, which JSON lacks."""
    found: dict[str, float | str] = {}
    for path in (folder / name for name in outputs if name.endswith(".npy")):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if array.size == 1 and array.dtype.kind in "fiub":
            number = float(array.reshape(()))
            found[path.stem] = number if math.isfinite(number) else str(number)
    return found


def _open(name: str, cores: int) -> Device:
    """Open a device. The host computes with some of the cores, since other workers have the rest."""
    device = open_device(name) if name != "host" else None
    if device is None or (device.info.name == "host" and cores):
        from warploom.engine.device.host.device import HostDevice

        if device is not None:
            device.close()
        return HostDevice(cores or None)
    return device


def recorded_files(patch: Patch) -> list[tuple[str, ParameterSpec]]:
    """Return the parameters that name files which blocks write frame by frame, such as films. Each run has its own."""
    found = []
    for node in patch.nodes.values():
        block_type = patch.type_of(node)
        if block_type is not None and block_type.is_live and node.mode is not Mode.DISABLED:
            found += [(node.id, spec) for spec in block_type.parameters.values() if spec.files.startswith("save")]
    return found


_runner: Runner | None = None


def begin(job: Job, device: str, cores: int) -> int:
    """Make this process the worker of a job, and return its number."""
    global _runner
    _runner = Runner(job, device, cores)
    return os.getpid()


def run_one(run: Run) -> Record:
    """Run one run of this process's job."""
    assert _runner is not None
    return _runner.run(run)
