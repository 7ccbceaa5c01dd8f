"""The program of a worker process: `python -m warploom.engine.processes.worker PARENT [MODULE...]`, for the pool.

It runs functions that arrive on standard input, one after the other, and writes their results or exceptions to standard
output. It ends when its input does, even while a function runs, and when its parent does, however that ended: no one
waits for the result any more.
"""

import gc
import logging
import os
import pickle
import sys
import threading
import traceback
from contextlib import suppress
from importlib import import_module
from queue import SimpleQueue
from typing import IO

from warploom.engine.logs import LogBuffer, Logged, attach
from warploom.engine.platforms.processes import end_with, offer_to_kill

#: Garbage is collected after so many new objects: Python's own 700 would collect several times in a compile of 6 ms.
_NEW_OBJECTS = 50_000
#: The reply: the returned value, or the exception with its traceback as text. The log records follow.
Outcome = tuple[object, Exception | None, str, tuple[Logged, ...]]


def main() -> None:
    """Import the modules named on the command line, then run functions until standard input ends."""
    # The end of standard input is no help where another process has a copy of the pipe, such as one that the parent has
    # forked, or while native code holds the interpreter.
    end_with(int(sys.argv[1]))
    # Keeps libraries from printing to standard output, and from reading the jobs on standard input.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    jobs: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(source, jobs), daemon=True).start()
    offer_to_kill()  # when memory runs out, the system should kill a compile and not the engine
    for name in sys.argv[2:]:
        with suppress(Exception):  # a job that needs the module will raise the same error
            getattr(import_module(name), "warm_up", int)()
    records = LogBuffer(logging.WARNING)
    attach(records)
    gc.set_threshold(_NEW_OBJECTS)
    while True:
        sink.write(_run(jobs.get(), records))
        sink.flush()


def _read(source: IO[bytes], jobs: SimpleQueue[bytes]) -> None:
    try:
        while True:
            jobs.put(pickle.load(source))
    except (EOFError, pickle.UnpicklingError):  # the parent has ended, maybe while it wrote
        os._exit(0)


def _run(job: bytes, records: LogBuffer) -> bytes:
    try:
        function, arguments = pickle.loads(job)
        result: tuple[object, Exception | None, str] = (function(*arguments), None, "")
    except Exception as problem:  # noqa: BLE001 - the caller of the function gets every exception
        result = (None, problem, traceback.format_exc())
        try:
            pickle.loads(pickle.dumps(problem))
        except Exception:  # noqa: BLE001 - an exception may hold anything
            result = (None, RuntimeError(repr(problem)), result[2])
    outcome: Outcome = (*result, records.take()[0])
    return pickle.dumps(outcome)


if __name__ == "__main__":
    main()
