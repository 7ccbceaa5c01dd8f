"""Dask: the runs of a sweep on a cluster, through the same worker processes as on one machine.

Each thread of a Dask worker has an `EngineWorker`, so a kernel that crashes harms no Dask worker, and a killed Dask
worker takes its engine with it. The scheduler gives its run to another one. All workers must see the sweep's folder.
"""

import gc
import importlib
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from warploom.engine.decoding import decode_json
from warploom.engine.diagnostics import WarploomError
from warploom.engine.sweeps.plan import Run
from warploom.engine.sweeps.results import JOB_FILE, Record, ResultFolder
from warploom.engine.sweeps.runner import Job
from warploom.engine.sweeps.workers import EngineWorker
from warploom.engine.version import version

#: How long the scheduler may take to answer.
ANSWER_S = 10.0

#: The worker of each thread of this Dask worker.
_workers: dict[int, EngineWorker] = {}


def run_on_dask(address: str, job: Job, runs: Sequence[Run], device: str) -> Generator[Record, None, None]:
    """Run the runs on the workers of a Dask scheduler, and yield each record when it is there.

    Raise WarploomError if Dask is not installed, the scheduler doesn't answer, or workers have another version.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise WarploomError(
            "Dask must be installed to use a cluster, got none; type: pip install 'warploom[cluster]'"
        ) from None
    client = _connect(distributed, address)
    futures: list[Any] = []
    try:
        _check_workers(client, job)
        futures = client.map(
            run_on_worker, runs, out=job.out, digest=job.digest, version=job.version, device=device, pure=False
        )
        asked = dict(zip((future.key for future in futures), runs, strict=True))
        for future in distributed.as_completed(futures, loop=client.loop):
            yield _record(future, asked[future.key], address)
            future.release()
    finally:
        try:
            client.cancel(futures, force=True)
            client.run(end_workers, on_error="ignore")
        except Exception:  # noqa: BLE001 - the scheduler is gone, which has been reported
            pass
        client.close(timeout=ANSWER_S)


def _connect(distributed: Any, address: str) -> Any:
    # A client that could not connect closes when it is collected, which must not happen while the next one starts: both
    # hold Dask's lock.
    gc.collect()
    try:
        return distributed.Client(address, timeout=ANSWER_S, set_as_default=False)
    except (OSError, ValueError) as problem:  # ValueError for an address that is none
        raise WarploomError(
            f"Dask's scheduler must answer at {address} within {ANSWER_S:g} s, got {problem}; start it by "
            "`dask scheduler`, and workers by `dask worker ADDRESS`"
        ) from problem


def _check_workers(client: Any, job: Job) -> None:
    """Wait for a worker. Raise WarploomError unless all workers have our version, and see the sweep's folder."""
    client.wait_for_workers(1)
    answers = client.run(state_of_worker, job.out, on_error="return")
    for worker, answer in sorted(answers.items()):
        is_refused = isinstance(answer, Exception)
        found, sees_folder = (f"{type(answer).__name__}: {answer}", False) if is_refused else answer
        if found != job.version:
            raise WarploomError(f"worker {worker} must have Warploom {job.version}, got {found}")
        if not sees_folder:
            raise WarploomError(f"worker {worker} must see the folder {job.out}, got none: use a shared file system")


def _record(future: Any, run: Run, address: str) -> Record:
    """Return the record of a task that has ended in some way."""
    if future.cancelled():
        raise WarploomError(f"Dask's scheduler at {address} must go on, got an end of the connection")
    problem = future.exception()
    if problem is None:
        record: Record = future.result()
        return record
    return Record.failure(run, f"Dask's worker must run the run, got {type(problem).__name__}: {problem}")


def state_of_worker(out: str) -> tuple[str, bool]:
    """Return the version of a worker, and whether it sees the sweep's folder."""
    return version(), (Path(out) / JOB_FILE).is_file()


def run_on_worker(run: Run, *, out: str, digest: str, version: str, device: str) -> Record:
    """Run one run in a Dask worker, in the engine of the thread that calls."""
    here = state_of_worker(out)[0]
    if here != version:  # of a worker that came later
        return Record.failure(run, f"worker must have Warploom {version}, got {here}")
    folder, thread = ResultFolder(Path(out)), threading.get_ident()
    worker = _workers.get(thread)
    if worker is None or worker.is_stopped or (worker.job.out, worker.job.digest) != (out, digest):
        if worker is not None:
            worker.end(folder)
        job = decode_json((Path(out) / JOB_FILE).read_bytes(), Job)
        # A thread of Dask is one of several, so each computes with one core.
        worker = _workers[thread] = EngineWorker(job, device, 1)
    record = worker.run(run, folder)
    return record if record is not None else Record.failure(run, "worker must run to its end, got a stop")


def end_workers() -> None:
    """End the engines of a Dask worker."""
    for worker in tuple(_workers.values()):
        worker.stop()
