"""Worker processes on this machine: each has one engine, and is replaced when it dies or its device has failed."""

import pickle
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from warploom.engine.device.open import list_devices
from warploom.engine.diagnostics import DeviceError, WarploomError
from warploom.engine.logs import log_again
from warploom.engine.platforms.processes import how_it_ended
from warploom.engine.platforms.processor import usable_cores
from warploom.engine.processes.pool import WorkerProcess
from warploom.engine.sweeps.plan import Run
from warploom.engine.sweeps.results import Record, ResultFolder
from warploom.engine.sweeps.runner import Job, begin, run_one

#: How often a run is begun whose process dies.
_ATTEMPTS = 3
#: How often the main thread wakes up, so that Ctrl+C is seen.
_POLL_S = 0.2


class EngineWorker:
    """A process with an engine. One thread calls `run`; any thread may call `stop`."""

    def __init__(self, job: Job, device: str, cores: int) -> None:
        self.job = job
        self._begin = (begin, (job, device, cores))
        self._cores = cores
        self._process: WorkerProcess | None = None
        self.is_stopped = False

    def run(self, run: Run, folder: ResultFolder) -> Record | None:
        """Run one run, and return its record; None if the worker was stopped.

        A run whose process dies is begun again in another process, at most three times.
        """
        status = 0
        for _ in range(_ATTEMPTS):
            if self.is_stopped:
                return None
            try:
                record: Record = self._ask(run_one, (run,))
            except EOFError:
                status = self.end(folder)
                continue
            if record.is_spent:
                self.end(folder)
            return record
        if self.is_stopped:
            return None
        failed = Record.failure(
            run, f"worker's process must run to its end, got {how_it_ended(status)}, {_ATTEMPTS} times"
        )
        folder.fail(failed)
        return failed

    def stop(self) -> None:
        """Kill the process, and begin no other run."""
        self.is_stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def end(self, folder: ResultFolder) -> int:
        """End the process, and remove what it has left of a run. Return its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        status = process.end()
        folder.clean(process.pid)
        return status

    def _ask(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        process = self._process
        if process is None:
            # Libraries that start a thread for each core would compete with those of other workers.
            threads = {"OPENBLAS_NUM_THREADS": str(self._cores)} if self._cores else {}
            process = self._process = WorkerProcess((), threads)
            if self.is_stopped:
                process.kill()
            self._call(process, *self._begin)
        return self._call(process, function, arguments)

    def _call(self, process: WorkerProcess, function: Any, arguments: tuple[Any, ...]) -> Any:
        process.send(pickle.dumps((function, arguments)))
        result, problem, _, records = process.receive()
        for record in records:
            log_again(record)
        if problem is not None:
            raise problem
        return result


def choose_workers(device: str, jobs: int | None, runs: int) -> list[tuple[str, int]]:
    """Return the device of each worker, and its number of cores if that is the host; 0 stands for all.

    By default, there is one worker for each GPU, or for each core where there is no GPU.
    """
    device = "cuda:0" if device == "cuda" else device
    known = {status.name: status for status in list_devices()} if device != "host" else {}
    if device not in ("auto", "host") and (device not in known or not known[device].usable):
        reason = known[device].reason if device in known else f"the devices {', '.join(known)}"
        raise DeviceError(f"device {device} must be usable, got: {reason}")
    devices = [name for name, status in known.items() if status.usable] if device == "auto" else [device]
    gpus = [name for name in devices if name != "host"]
    cores = usable_cores()
    if gpus:
        count = min(jobs or len(gpus), runs)
        return [(gpus[number % len(gpus)], 0) for number in range(count)]
    count = min(jobs or cores, runs)
    return [("host", max(1, cores // max(count, 1)))] * count


def run_on_processes(
    job: Job, runs: Sequence[Run], workers: Sequence[tuple[str, int]]
) -> Generator[Record, None, None]:
    """Run the runs on processes of this machine, and yield each record when it is there.

    The processes end with the generator.
    """
    waiting: SimpleQueue[Run] = SimpleQueue()
    ended: SimpleQueue[Record | Exception | None] = SimpleQueue()
    for run in runs:
        waiting.put(run)
    folder = ResultFolder(Path(job.out))
    made = [EngineWorker(job, device, cores) for device, cores in workers]

    def work(worker: EngineWorker) -> None:
        try:
            while True:
                record = worker.run(waiting.get_nowait(), folder)
                if record is None:
                    break
                ended.put(record)
        except Empty:
            pass
        except Exception as problem:  # noqa: BLE001 - the caller of the generator gets it
            ended.put(problem)
        finally:
            worker.end(folder)
            ended.put(None)

    # Each process ends with the thread that started it.
    threads = [threading.Thread(target=work, args=(worker,), name="warploom-sweep") for worker in made]
    for thread in threads:
        thread.start()
    working = len(threads)
    try:
        while working:
            try:
                record = ended.get(timeout=_POLL_S)
            except Empty:
                continue
            if record is None:
                working -= 1
            elif isinstance(record, Exception):
                raise record if isinstance(record, WarploomError) else DeviceError(f"worker must run, got {record!r}")
            else:
                yield record
    finally:
        for worker in made:
            worker.stop()
        for thread in threads:
            thread.join()
