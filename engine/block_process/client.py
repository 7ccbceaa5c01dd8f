"""`BlockProcess`: runs block files in another process, which may hang or die, and keeps what they declare."""

import logging
import pickle
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDoneYet
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from warploom.engine.block_process import worker
from warploom.engine.block_process.declarations import Declaration, dump, load, stand_in
from warploom.engine.blocktypes.block import Block
from warploom.engine.catalogue.block_errors import ReportedError
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.load_file import BlockFile, Ran
from warploom.engine.diagnostics import WarploomError, error
from warploom.engine.logs import log_again
from warploom.engine.platforms.processes import how_it_ended, kill_group
from warploom.engine.processes.limits import Usage
from warploom.engine.processes.pool import WorkerProcess
from warploom.engine.processes.worker import Outcome
from warploom.engine.types.bits import bit_key
from warploom.engine.user_code.limits import CALL, FILE

T = TypeVar("T")
_log = logging.getLogger(__name__)
#: How long the process may take to start; it loads the library.
_START_S = 60.0
#: How much longer this process waits than the other one, which stops the code itself and then knows the line.
_MORE_S = 1.0
#: The most memory of the process: block files may import large libraries.
_MOST_BYTES = 4 << 30
_REMEDY = "correct the block's code and save it"
_POLL_S = 0.02
#: How long an outcome may take to arrive once it has begun.
_WHOLE_S = 5.0
#: How long the main thread waits for an answer, since a window stands still meanwhile.
_MAIN_S = 0.3
#: The most answers that are kept for calls that are made again.
_MOST_KEPT = 256


class _Died(WarploomError):
    """The process has died, or was killed at a limit."""


class _File(NamedTuple):
    """A text that was run, whose types are in use."""

    folder: Path
    package: str
    module: str
    source: bytes


class BlockProcess:
    """Runs block files and calls the code of their types, in one process that is started when it is needed.

    When it hangs or dies, another one takes its place, in which the files run again whose types are in use. Any thread
    may call it; the main thread waits 0.3 s at most for code of types.
    """

    def __init__(self) -> None:
        # One thread, since the system ends the process with the thread that starts it.
        self._jobs = ThreadPoolExecutor(1, "warploom-workers-blocks")
        self._process: WorkerProcess | None = None
        self._files: dict[Path, _File] = {}
        self._answers: dict[tuple[object, ...], Future[Any]] = {}
        #: The last answer for which the main thread did not wait long enough.
        self._late: Future[Any] | None = None
        self._is_closed = False
        threading._register_atexit(self.close)  # type: ignore[attr-defined]  # as in `engine.processes.pool`

    def warm_up(self) -> None:
        """Start the process in the background."""
        self._jobs.submit(self._started)

    def close(self) -> None:
        """End the process, also while it runs code; safe to call again."""
        self._is_closed = True
        self._jobs.shutdown(wait=False, cancel_futures=True)
        if self._process is not None:
            _kill(self._process)
        self._jobs.shutdown()

    def execute(self, folder: Path, package: str, file: BlockFile, source: bytes) -> Ran:
        """Run the text of a file in a folder, whose modules are those of `package`; return what it has defined.

        A file that makes the process die or hang has a problem.
        """
        return self._jobs.submit(self._execute, file.path, _File(folder, package, file.module, source)).result()

    def forget(self, files: Collection[Path]) -> None:
        """End the process if it has run one of these files, which are deleted or not trusted any more."""
        self._jobs.submit(self._forget, tuple(files)).result()

    def ask(self, type_id: str, what: str, function: Callable[..., T], arguments: tuple[object, ...]) -> T:
        """Return what a function returns in the process for a block type and arguments; see `Apart.ask`.

        An answer is kept until a file runs. If the main thread does not wait for it, the interfaces of the type are
        made again when it is there.
        """
        key = type_id, what, function, bit_key(arguments)
        asked = self._answers.get(key)
        if asked is None:
            if len(self._answers) >= _MOST_KEPT:
                self._answers = {}
            asked = self._answers[key] = self._jobs.submit(self._ask, type_id, what, function, dump(arguments))
        patience_s = None
        if threading.current_thread() is threading.main_thread():
            patience_s = _MAIN_S if self._late is None or self._late.done() else 0.0
        try:
            return asked.result(patience_s)  # type: ignore[no-any-return]  # the function's, or a mistake of its author's
        except NotDoneYet:
            self._late = asked
            asked.add_done_callback(lambda _: block_folders.make_again(type_id))
            raise WarploomError(f"{what} of {type_id} must return first, got code that still runs") from None

    # What follows is called by the thread of the jobs.

    def _execute(self, path: Path, file: _File) -> Ran:
        self._answers = {}
        try:
            ran = self._run(path, file)
        except WarploomError as problem:
            text = f"block file {path.name}{'' if isinstance(problem, _Died) else ':'} {problem}"
            return Ran({}, {}, error(text, file=str(path), remedy=_REMEDY), took_too_long=True)
        if ran.problem is None:
            self._files.pop(path, None)  # it is the last that ran
            self._files[path] = file
        return Ran(self._stand_ins(ran.own), self._stand_ins(ran.others), ran.problem, ran.took_too_long)

    def _stand_ins(self, declarations: Mapping[str, Declaration]) -> dict[str, type[Block]]:
        return {i: stand_in(each, _Type(self, i, each)) for i, each in declarations.items()}

    def _run(self, path: Path, file: _File) -> worker.RanApart:
        ran = self._call(FILE.total_s, worker.run_file, file.folder, file.package, path, file.module, file.source)
        if not isinstance(ran, worker.RanApart):
            raise WarploomError(f"must return its declarations, got {type(ran).__name__}")
        return ran

    def _forget(self, files: tuple[Path, ...]) -> None:
        known = self._files.keys() & set(files)
        for path in known:
            del self._files[path]
        if known:
            self._end()

    def _ask(self, type_id: str, what: str, function: Callable[..., object], arguments: bytes) -> Any:
        try:
            answer, problem = self._call(CALL.total_s, worker.call, type_id, what, function, arguments)
        except _Died as died:
            raise ReportedError(error(f"{what} of {type_id} {died}", remedy=_REMEDY)) from None
        if problem is not None:
            raise ReportedError(problem)
        return answer

    def _started(self) -> WorkerProcess:
        """Return the process, in which the files have run whose types are in use; start it if it doesn't run."""
        while self._process is None or not self._process.is_alive:
            self._end()
            if self._is_closed:
                raise _Died("must be run before the program ends, got none of it")
            try:
                process = self._process = WorkerProcess((worker.__name__,))
            except OSError as problem:
                raise _Died(f"must be run in a process of its own, got: {problem.strerror}") from problem
            self._answer_of(process, _START_S, worker.begin)
            for path, file in tuple(self._files.items()):
                arguments = file.folder, file.package, path, file.module, file.source
                try:
                    self._answer_of(process, FILE.total_s, worker.run_file, *arguments)
                except _Died as died:
                    _log.warning("block file %s, which ran before, %s; its blocks keep their ports", path.name, died)
                    del self._files[path]
                    break
        return self._process

    def _call(self, limit_s: float, function: Callable[..., bytes], *arguments: object) -> Any:
        return load(self._answer_of(self._started(), limit_s, function, *arguments))

    def _answer_of(
        self, process: WorkerProcess, limit_s: float, function: Callable[..., object], *arguments: object
    ) -> Any:
        """Return what a function returns in the process. Raise _Died, and end the process, if it returns nothing."""
        process.send(pickle.dumps((function, arguments)))
        begun_s, excess = time.monotonic(), ""
        while not excess and not process.wait(_POLL_S) and process.is_alive:
            if time.monotonic() - begun_s > limit_s + _MORE_S:
                excess = f"must finish within {limit_s:g} s, got code that holds its process"
            elif Usage.of(process.pid).memory_bytes > _MOST_BYTES:
                excess = f"must take at most {_MOST_BYTES >> 30} GB of memory, got more"
        try:
            if excess or not process.wait(0):
                raise EOFError
            result, problem, text, records = _received(process)
        except Exception:  # noqa: BLE001 - it has died, or a person's code has written into the pipe
            _log.debug("the process of block files gave no answer", exc_info=True)
            raise self._died(excess) from None
        for record in records:
            log_again(record)
        if problem is not None:
            _log.warning("the process of block files failed:\n%s", text)
            raise self._died(f"must leave its process intact, got {type(problem).__name__}: {problem}")
        return result

    def _died(self, excess: str) -> _Died:
        """End the process and start another one in the background; return what the code has done to it."""
        process = self._process
        assert process is not None
        ended_s = time.monotonic() + (0 if excess else _MORE_S)
        while process.is_alive and time.monotonic() < ended_s:
            time.sleep(_POLL_S)
        is_alive, status = process.is_alive, self._end()
        how = how_it_ended(status)
        if not self._is_closed:
            self.warm_up()
        return _Died(excess or f"must leave its process running, got {'none that answers' if is_alive else how}")

    def _end(self) -> int:
        """Kill the process, if there is one, and those that it has started; return its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        _kill(process)
        return process.end()


def _received(process: WorkerProcess) -> Outcome:
    """Return the outcome that has begun to arrive; kill the process if the rest of it doesn't come."""
    limit = threading.Timer(_WHOLE_S, _kill, (process,))
    limit.start()
    try:
        return process.receive()
    finally:
        limit.cancel()


def _kill(process: WorkerProcess) -> None:
    with suppress(OSError):
        kill_group(process.pid)
    process.kill()


class _Type:
    """The class in the process that a stand-in stands for."""

    def __init__(self, process: BlockProcess, type_id: str, declared: Declaration) -> None:
        self._process, self._id = process, type_id
        self.shows_pictures, self.only_calls = declared.shows_pictures, declared.only_calls

    def ask(self, what: str, function: Callable[..., T], *arguments: object) -> T:
        """Return what a function returns for the class and arguments; see `Apart.ask`."""
        return self._process.ask(self._id, what, function, arguments)
