"""The folder of a sweep: a folder for each run that is done, a record for each that failed, and the table of both.

::

    OUT/sweep.json                  the patch, as workers read it
    OUT/runs/RUN/run.json           the record of a run that is done; its outputs lie beside it
    OUT/failed/RUN.json             the record of a run that failed
    OUT/results.parquet, .csv       the table

A run's folder is moved into place whole, so that a run which was killed leaves no half of itself, and one that two
workers have run is there once.
"""

import errno
import io
import os
import shutil
import socket
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from warploom.engine.decoding import decode_json
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.files import write_atomically
from warploom.engine.sweeps.axes import Value
from warploom.engine.sweeps.plan import Run

JOB_FILE, TABLE = "sweep.json", "results"
_RUNS, _FAILED, _RECORD = "runs", "failed", "run.json"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Record(msgspec.Struct, frozen=True):
    """The outcome of a run. `outputs` are paths relative to the sweep's folder.

    `numbers` are the contents of outputs of one number, by the file's name without its suffix. `frame_time_ms` is the
    median, without the first frame where there are others; None if no frame ended.
    """

    run: str
    values: dict[str, Value]
    first: int
    last: int
    state: Literal["done", "failed"]
    message: str = ""
    frame_time_ms: float | None = None
    device: str = ""
    outputs: tuple[str, ...] = ()
    numbers: dict[str, float | str] = {}
    #: Warnings of the engine, which don't stop a run.
    warnings: tuple[str, ...] = ()
    #: The disk is full, so other runs would fail too.
    is_full: bool = False
    #: The process can run nothing more: the device failed.
    is_spent: bool = False

    @classmethod
    def failure(cls, run: Run, message: str, **fields: Any) -> "Record":
        """Return the record of a run that failed."""
        return cls(run.id, run.values, run.first, run.last, "failed", message, **fields)


class ResultFolder:
    """The folder of a sweep on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Make the folder. Raise PatchError if that fails, or it can't be written."""
        try:
            for name in (_RUNS, _FAILED):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.path).close()
        except (OSError, ValueError) as problem:
            raise PatchError(f"out must be a folder that can be written, got {self.path}: {problem}") from problem

    def done(self, run_id: str) -> Record | None:
        """Return the record of a run that is done, or None."""
        return _read(self.path / _RUNS / run_id / _RECORD)

    def records(self) -> list[Record]:
        """Return the records of all runs in the folder, sorted by their ids."""
        done = [_read(folder / _RECORD) for folder in (self.path / _RUNS).iterdir() if folder.name[0] != "."]
        finished = {record.run: record for record in done if record is not None}
        failed = [_read(path) for path in (self.path / _FAILED).glob("[!.]*.json")]
        others = {record.run: record for record in failed if record is not None}
        return [record for _, record in sorted((others | finished).items())]

    def begin(self, run_id: str) -> Path:
        """Make and return a folder in which this process writes the outputs of a run."""
        return Path(tempfile.mkdtemp(prefix=f".{run_id}.{process_mark(os.getpid())}.", dir=self.path / _RUNS))

    def finish(self, record: Record, begun: Path) -> Record:
        """Move a run that is done into place. If another process was first, keep its run, and return its record."""
        target = self.path / _RUNS / record.run
        (begun / _RECORD).write_bytes(msgspec.json.encode(record))
        begun.chmod(0o777 & ~_umask())  # temporary folders are only for their owner
        try:
            begun.rename(target)
        except OSError:
            first = self.done(record.run)
            if first is None:
                raise
            shutil.rmtree(begun, ignore_errors=True)
            return first
        (self.path / _FAILED / f"{record.run}.json").unlink(missing_ok=True)
        return record

    def relative(self, name: str, run_id: str) -> str:
        """Return where an output of a run lies once the run is done, relative to the folder."""
        return f"{_RUNS}/{run_id}/{name}"

    def fail(self, record: Record) -> None:
        """Keep the record of a run that failed. A full disk loses nothing but this file: the run is run again."""
        with suppress(OSError):
            write_atomically(self.path / _FAILED / f"{record.run}.json", msgspec.json.encode(record))

    def clean(self, process: int | None = None) -> None:
        """Remove what killed processes left of runs: of one process, or of all runs that are done."""
        for begun in (self.path / _RUNS).glob(f".*.{process_mark(process)}.*" if process is not None else ".*"):
            if process is not None or self.done(begun.name[1:].partition(".")[0]) is not None:
                shutil.rmtree(begun, ignore_errors=True)

    def is_full(self) -> bool:
        """Return whether the disk of the folder has no space left."""
        try:
            with tempfile.TemporaryFile(dir=self.path) as file:
                file.write(bytes(1 << 14))
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            return problem.errno in _FULL
        return False

    def write_table(self, paths: tuple[Path, Path], table: Any) -> None:
        """Write a table as Parquet, and as CSV without its lists, so that each file always holds a whole one."""
        from pyarrow import csv, parquet

        for path, data in zip(paths, (io.BytesIO(), io.BytesIO()), strict=True):
            if path.suffix == ".csv":
                csv.write_csv(table.drop_columns(["outputs"]), data)
            else:
                parquet.write_table(table, data)
            try:
                write_atomically(path, data.getvalue())
            except OSError as problem:
                why = "the disk is full" if problem.errno in _FULL else problem.strerror or problem
                raise PatchError(
                    f"table must be writable: {path}: {why}; no run is lost, and the same command writes the table"
                ) from problem


def make_table(records: Sequence[Record]) -> Any:
    """Return a `pyarrow.Table` with a row for each record; what a run did not set or measure is null."""
    arrow = load_arrow()
    targets = dict.fromkeys(target for record in records for target in record.values)
    columns: dict[str, Any] = {"run": arrow.array([record.run for record in records], arrow.string())}
    for target in targets:
        columns[target] = _column(arrow, [record.values.get(target) for record in records])
    columns |= {
        "first_frame": arrow.array([record.first for record in records], arrow.int64()),
        "last_frame": arrow.array([record.last for record in records], arrow.int64()),
        "frame_time_ms": arrow.array([record.frame_time_ms for record in records], arrow.float64()),
        "device": arrow.array([record.device for record in records], arrow.string()),
        "state": arrow.array([record.state for record in records], arrow.string()),
        "message": arrow.array([record.message for record in records], arrow.string()),
        "outputs": arrow.array([list(record.outputs) for record in records], arrow.list_(arrow.string())),
    }
    for name in dict.fromkeys(name for record in records for name in record.numbers if name not in columns):
        found = [record.numbers.get(name) for record in records]
        columns[name] = arrow.array([None if each is None else float(each) for each in found], arrow.float64())
    return arrow.table(columns)


def load_arrow() -> Any:
    """Return the library of tables. Raise PatchError when it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise PatchError(
            "package pyarrow must be installed for the table of a sweep, got none; type: pip install 'warploom[data]'"
        ) from None
    return pyarrow


def process_mark(process: int | None) -> str:
    """Return a part of a file's name that names a process among all machines."""
    return f"{socket.gethostname().replace('.', '-')}-{process}"


def _column(arrow: Any, values: Iterable[Value | None]) -> Any:
    found = list(values)
    kinds = {type(value) for value in found if value is not None}
    if kinds <= {int, float} and float in kinds:
        return arrow.array([None if value is None else float(value) for value in found], arrow.float64())
    if len(kinds) > 1:  # a parameter has another type in another version of its block
        return arrow.array([None if value is None else str(value) for value in found], arrow.string())
    return arrow.array(found)


def _read(path: Path) -> Record | None:
    """Return the record in a file; None if it is not there, or an earlier version or a crash left other contents."""
    try:
        return decode_json(path.read_bytes(), Record)
    except (OSError, msgspec.DecodeError):
        return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
