"""`sweep`: a patch over parameters, files and ranges of frames, on processes here or on a Dask cluster."""

import time
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from warploom.engine.arguments import checked, shown
from warploom.engine.blocktypes.parameters import UserArray
from warploom.engine.decoding import decode_json
from warploom.engine.device.open import check_device_name
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import write_atomically
from warploom.engine.sweeps.axes import files_axis, grid_axis
from warploom.engine.sweeps.cluster import run_on_dask
from warploom.engine.sweeps.plan import Slice, plan_runs
from warploom.engine.sweeps.results import JOB_FILE, TABLE, Record, ResultFolder, load_arrow, make_table
from warploom.engine.sweeps.runner import Job, recorded_files
from warploom.engine.sweeps.workers import choose_workers, run_on_processes

#: How often the table is written while runs end, and the share of the time that it may take: it may have many rows.
_TABLE_S, _TABLE_SHARE = 10.0, 0.02

Frames = int | range | Iterable[int | range] | None


class Sweep:
    """The runs of a patch in a folder, of which some may be done.

    Making one checks everything that can be checked before the runs. See `sweep` for the arguments.
    """

    def __init__(
        self,
        patch: Patch,
        *,
        out: Path | str,
        grid: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None,
        frames: Frames = None,
        jobs: int | None = None,
        dask: str | None = None,
        device: str = "auto",
        task: str | None = None,
    ) -> None:
        load_arrow()
        if jobs is not None and dask is not None:
            raise PatchError(
                "jobs or dask must be given, got both: Dask's workers decide how many runs there are at once"
            )
        for name, given in (("grid", grid), ("files", files)):
            if given is not None and not isinstance(given, Mapping):
                raise PatchError(f"{name} must be values by NODE.PARAM, got {shown(given)}")
        axes = [grid_axis(patch, target, values) for target, values in (grid or {}).items()]
        axes += [files_axis(patch, target, pattern) for target, pattern in (files or {}).items()]
        self.slice = Slice.parse(task) if task is not None else None
        planned = plan_runs(axes, _ranges(patch, frames))
        #: The runs of this sweep, or of its slice.
        self.runs = planned if self.slice is None else list(self.slice.of(planned))
        _require_plain(patch)
        recorded = recorded_files(patch)
        if recorded and not patch.trusted:
            node, spec = recorded[0]
            raise PatchError(
                f"patch must be trusted to write {node}.{spec.name} into the folder of each run, got one that is not: "
                "use --trust, or disable the block"
            )
        self.folder = ResultFolder(Path(out))
        self.job = Job.of(patch, self.folder.path)
        check_device_name(device)
        self._dask, self._device = dask, device
        #: The device and the cores of each worker process.
        self.workers = choose_workers(device, jobs, len(self.runs)) if dask is None else []
        self.folder.create()
        self._claim()
        #: The records by run; of a run that failed before, there is one only after it was run again.
        self.records: dict[str, Record] = {}
        for run in self.runs:
            record = self.folder.done(run.id)
            if record is not None:
                self.records[run.id] = record
        #: The runs that were done before.
        self.skipped = len(self.records)

    @property
    def left(self) -> int:
        """The number of runs that have no record yet."""
        return len(self.runs) - len(self.records)

    def run(self) -> Generator[Record, None, None]:
        """Run what is not done, and yield each record. The table is written now and then, and at the end.

        Raise WarploomError if the sweep can't go on: the disk is full, or the scheduler is gone. Then, and if the
        iterator is closed, the same sweep goes on later with the runs that are left.
        """
        runs = [run for run in self.runs if run.id not in self.records]
        if self._dask is not None and runs:
            ended = run_on_dask(self._dask, self.job, runs, self._device)
        else:
            ended = run_on_processes(self.job, runs, self.workers)
        due_s = time.monotonic() + _TABLE_S
        try:
            for record in ended:
                if record.is_full:
                    raise PatchError(f"disk of {self.folder.path} must have space left, got none: {record.message}")
                self.records[record.run] = record
                yield record
                if (begun_s := time.monotonic()) > due_s:
                    self.write_table()
                    ended_s = time.monotonic()
                    due_s = ended_s + max(_TABLE_S, (ended_s - begun_s) / _TABLE_SHARE)
        finally:
            ended.close()
            if self.slice is None:
                self.folder.clean()
            self.write_table()

    @property
    def table_paths(self) -> tuple[Path, Path]:
        """The files of the table, Parquet and CSV: that of all runs in the folder, or of the slice."""
        slice_ = self.slice
        path = self.folder.path / (TABLE if slice_ is None else f"{TABLE}-{slice_.number}-of-{slice_.count}")
        return path.with_suffix(".parquet"), path.with_suffix(".csv")

    def table(self) -> Any:
        """Return the `pyarrow.Table` of the runs that have ended, in the order of the plan."""
        return make_table([self.records[run.id] for run in self.runs if run.id in self.records])

    def write_table(self) -> None:
        """Write the table. That of a whole sweep also has what earlier sweeps have left in the folder."""
        known = [self.records[run.id] for run in self.runs if run.id in self.records]
        if self.slice is None:
            known += [record for record in self.folder.records() if record.run not in self.records]
        self.folder.write_table(self.table_paths, make_table(known))

    def _claim(self) -> None:
        """Write what is run into the folder. Raise PatchError if the folder has the runs of another patch."""
        path = self.folder.path / JOB_FILE
        try:
            known = decode_json(path.read_bytes(), Job)
        except FileNotFoundError:
            known = None
        except (OSError, msgspec.DecodeError) as problem:
            raise PatchError(
                f"{path} must be of this version of Warploom, got {problem}: choose another out"
            ) from problem
        if known is not None and known.digest != self.job.digest:
            raise PatchError(
                f"out must have no runs of another patch, got {self.folder.path}, whose patch or settings differ: "
                "choose another folder, or delete this one"
            )
        if known != self.job:
            write_atomically(path, msgspec.json.encode(self.job))


@checked(
    grid="checked by grid_axis",
    files="checked by files_axis",
    frames="checked by Sweep",
    task="checked by Slice",
    device="checked by choose_workers",
    on_run="a function",
)
def sweep(
    patch: Patch,
    *,
    out: Path | str,
    grid: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
    frames: Frames = None,
    jobs: Annotated[int, Meta(ge=1)] | None = None,
    dask: str | None = None,
    device: str = "auto",
    task: str | None = None,
    on_run: Callable[[Record], None] | None = None,
) -> Any:
    """Run a patch over the product of parameters, files and ranges of frames, and return a `pyarrow.Table`.

    `grid` has values by "NODE.PARAM": a text such as "0:1:0.1" (start, stop, step) or "1,2,3", or Python values.
    `files` has patterns such as `shots/*.exr`. `frames` is a number of frames, a range, or several ranges; by default,
    those of the patch's timeline, or 60. Outputs are those of the last frame. They lie in `out`, in a folder by run,
    beside the table, `results.parquet` and `results.csv`. An output of one number is a column of the table, by the name
    of its file. Runs that are done in `out` are not run again.

    Runs go to `jobs` processes on this machine (one for each GPU or core by default), or to the Dask cluster whose
    scheduler is at `dask`. `task`, such as "2/8", runs one of several slices. `on_run` is called with each record. A
    run that fails is a row of the table. Raise WarploomError if the sweep can't begin or go on.
    """
    made = Sweep(patch, out=out, grid=grid, files=files, frames=frames, jobs=jobs, dask=dask, device=device, task=task)
    for record in made.run():
        if on_run is not None:
            on_run(record)
    return made.table()


def _ranges(patch: Patch, frames: Frames) -> list[range]:
    """Return the ranges of frames; raise PatchError for one without frames, or with steps."""
    timeline = patch.timeline
    if frames is None:
        return [range(60) if timeline is None else range(timeline.first, timeline.end + 1)]
    given = list(frames) if isinstance(frames, Iterable) and not isinstance(frames, range) else [frames]
    found = []
    for part in given:
        counted = range(part) if isinstance(part, int) and not isinstance(part, bool) else part
        if not isinstance(counted, range) or counted.step != 1 or not counted or counted.start < 0:
            raise PatchError(f"frames must be a number of at least 1, or ranges from 0 on, got {shown(part)}")
        found.append(counted)
    if not found:
        raise PatchError("frames must be one range or more, got none")
    return found


def _require_plain(patch: Patch) -> None:
    """Raise PatchError if a node has the memory of this program, which no other process has."""
    for node in patch.nodes.values():
        for name, value in node.parameters.items():
            if isinstance(value, UserArray) and value.array is not None:
                raise PatchError(f"parameter {node.id}.{name} must be in the patch's file, got memory of this program")
