"""The transport to an engine in another process: frames of msgpack, each after its length, on its standard streams."""

import logging
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
import numpy as np
from msgspec.structs import replace

from warploom.engine.arguments import checked, shown
from warploom.engine.blocktypes.block import block_types
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.device.device import DeviceInfo
from warploom.engine.diagnostics import (
    DeviceError,
    Diagnostic,
    KernelError,
    Mend,
    PatchError,
    Sighting,
    Source,
    WarploomError,
    cut,
    error,
)
from warploom.engine.logs import follow_level, log_again
from warploom.engine.patch.document import Patch
from warploom.engine.platforms.machine import place
from warploom.engine.platforms.processes import how_it_ended, words_of_command
from warploom.engine.profiling.levels import ProfilingLevel
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.child import liveness
from warploom.engine.protocol.child.encoding import (
    Alive,
    Answered,
    Asked,
    Failed,
    FromEngine,
    Hello,
    Records,
    Refused,
    SetLogLevel,
    UseFiles,
    encode,
    make_decoder,
)
from warploom.engine.protocol.child.frames import Heard, read_frame, write_frame
from warploom.engine.protocol.child.hello import read_hello
from warploom.engine.protocol.child.liveness import Liveness
from warploom.engine.protocol.child.open_questions import OpenQuestions
from warploom.engine.protocol.child.process import EngineProcess, start_process
from warploom.engine.protocol.child.report_changes import NO_REPORT, ReportChange, changed_report
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.elsewhere.far_engine import FarEngine
from warploom.engine.protocol.messages import Edited, FrameReport, Message, StateCopy
from warploom.engine.protocol.outbox import Outbox
from warploom.engine.protocol.questions import Answer, Close, Open, Question, Step, WatchFiles
from warploom.engine.protocol.sampling import Sample

if TYPE_CHECKING:
    from warploom.engine.catalogue.saved_files import SavedFiles

_log = logging.getLogger(__name__)
#: How long closing waits for the process before it is killed.
PATIENCE_S = 2.0
#: How long closing waits after a question was interrupted.
_HURRIED_S = 0.5
#: The exit status of ssh when its line is lost or a signal ends its command.
_SSH_STATUS = 255
#: How the last report of an engine with a lost line names that end, in `found`.
LOST_LINE = "lost line"
#: The exceptions that a refusal can name; those of other kinds arrive as the nearest of them.
KINDS: dict[str, type[WarploomError]] = {
    kind.__name__: kind for kind in (WarploomError, PatchError, KernelError, DeviceError)
}


@checked(DeviceError, command="checked by its words")
def connect(
    patch: Patch,
    command: str | Sequence[str] | EngineProcess,
    device: str = "auto",
    *,
    profiling: ProfilingLevel = ProfilingLevel.PER_BLOCK,
    time_step_s: Annotated[float, msgspec.Meta(gt=0)] = 1 / 60,
    plain_edges: bool = False,
    waits: bool = True,
) -> Client:
    """Run a patch by an engine in a separate process, which `command` starts: "warploom engine", or a list of words.

    It can also be a process that was started. Raise DeviceError if the process or its device can't be used, and from
    the client when the process ends. Without `waits`, for a window, only the command must be one that runs: whether the
    engine opens its device, and whether it refuses to start, stop or follow files, is reported as its other failures
    are.
    """
    started = command if isinstance(command, EngineProcess) else start_process(words_of(command))
    transport = PipeTransport(patch, started, waits=waits)
    try:
        transport.open(Open(device, profiling, time_step_s, plain_edges))
        return Client(patch, transport)
    except BaseException:
        transport.close()
        raise


def words_of(command: str | Sequence[str]) -> Sequence[str]:
    """Return the words of a command. Raise DeviceError if it is none."""
    if isinstance(command, str):
        try:
            return words_of_command(command)
        except ValueError as problem:
            raise DeviceError(f"engine command must be one that runs, got {shown(command)}: {problem}") from problem
    if not (isinstance(command, list | tuple) and all(isinstance(word, str) for word in command)):
        raise DeviceError(f"engine command must be text, or a list of words, got {shown(command)}")
    return command


class PipeTransport:
    """Messages and questions to a process, and its answers; one thread writes and one reads.

    `patch` is read for the folder of its file, where relative paths start. Without `waits`, questions that have no
    answer are not waited for, and an event reports a refusal. Nothing of a process that is apart is logged here.
    """

    has_own_process = True

    def __init__(self, patch: Patch, started: EngineProcess, *, waits: bool = True) -> None:
        self.outbox = Outbox()
        self.info = DeviceInfo("none", "not open", "none", 0, 0)
        self._patch, self._waits, self._apart = patch, waits, started.is_apart
        self._started, self._process, self._pictures = started, started.process, started.pictures
        self._questions = OpenQuestions()
        self._unsent: SimpleQueue[bytes | Callable[[], bytes] | None] = SimpleQueue()
        #: Set when the process has said hello, or has ended.
        self._greeted = threading.Event()
        #: Sends the files to a process that sees others; None once the process has said that it does not.
        self._far: FarEngine | None = FarEngine(
            patch, self._questions.numbers, self._unsent.put, self._expect, self._report
        )
        #: Why the process is killed, if it is.
        self._reason = ""
        self._is_closed = self._is_open = False
        self._patience_s = PATIENCE_S
        self._last = NO_REPORT
        self._sent_path = patch.path
        self._is_ssh = Path(started.command[0]).stem == "ssh"
        self._liveness = Liveness(
            liveness.SSH_HELLO_S if self._is_ssh else liveness.HELLO_S,
            lambda text: self._questions.fail(self._failed(text)),
        )
        self._threads = [
            threading.Thread(target=self._write_all, name="to the engine", daemon=True),
            threading.Thread(target=self._read_all, name="from the engine", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._forget_types = block_types.subscribe(lambda _: self._tell_files())
        self._saved_files: SavedFiles | None = None
        self._tell_files()
        self._forget_level = follow_level(lambda level: self._unsent.put(encode(SetLogLevel(level))))
        _log.info("process %d runs the engine: %s", self._process.pid, started)

    def post(self, message: Message, /) -> None:
        """Leave a message for the next frame.

        An event reports a message that can't be encoded. A message that can no longer reach the process is dropped.
        """
        if self._patch.path is not self._sent_path:
            self._tell_files()
        if (far := self._far) is not None:
            far.follow(message)
        try:
            self._unsent.put(encode(message))
        except WarploomError as problem:  # not raised: the error would interrupt an edit of the patch
            if isinstance(message, Edited):
                for change in message.changes:
                    self.post(change)
                return
            self.outbox.put_event(error(str(problem), node=getattr(message, "node", None), source=Source.ENGINE))

    @property
    def silent_s(self) -> float:
        """How long nothing was received from the process, in seconds; it sends something twice a second."""
        return self._liveness.silent_s

    @property
    def waits_for(self) -> str:
        """What the process has to do before it runs the patch, for a person who waits; "" once it can."""
        if self._greeted.is_set():
            return self._far.waits_for if self._far is not None else ""
        silent_s, hello_s = self._liveness.silent_s, self._liveness.hello_s
        is_ours = self._started.command[0] == sys.executable  # so its name says nothing to a person
        what = "starting the engine" if is_ours else f"waiting for {cut(str(self._started), 60)}"
        return f"{what}, {silent_s:.0f} of {hello_s:g} s"

    @property
    def stuck_in(self) -> str:
        """The node whose code the process runs now, if any, see `Transport.stuck_in`."""
        return self._pictures.noted("node") if self._pictures is not None else ""

    @property
    def stuck_file(self) -> str:
        """The digest of the block file that the process runs now, if any, see `Transport.stuck_file`."""
        return self._pictures.noted("file") if self._pictures is not None else ""

    def step(self, real_time: bool, /) -> FrameReport:
        """Have the engine run one frame, see `Client.step`."""
        return self.ask(Step(real_time))

    def open(self, question: Open) -> None:
        """Have the process use its device; if it can't, and this does not wait for that, the process is killed."""
        if self._waits:
            self.info = self.ask(question)
            self._is_open = True
        else:
            self._send_only(question, partial(self._opened, question))

    def _opened(self, question: Open, opened: Future[bytes]) -> None:
        try:
            self.info = self._answer(question, opened, None)
            self._is_open = True
        except WarploomError as problem:
            self.kill(str(problem))

    def ask(self, question: Question[Answer], within_s: float | None = None, /) -> Answer:
        """Return the answer. Raise TimeoutError if there is none `within_s`.

        Raise WarploomError if the engine refuses, DeviceError when its process has ended or has been silent for long.
        """
        if self._is_closed:
            raise WarploomError("engine must be open, got one that was closed")
        if isinstance(question, WatchFiles) and self._saved_files is None:
            # The process follows its kernels; this updates the ports and parameters of the patch here when files are
            # saved.
            from warploom.engine.catalogue.saved_files import SavedFiles  # most runs watch no files

            self._saved_files = SavedFiles(lambda _: None)
        if self._waits and not isinstance(question, Open | Close):
            self._greeted.wait()
            if self._far is not None:
                self._far.settle()
        if (far := self._far) is not None:
            question = far.placed(question)
        if not self._waits and question.answer_type() is type(None):
            self._send_only(question, self._report_refusal)
            return cast("Answer", None)
        return self._answer(question, self._send(question), within_s)

    def _send_only(self, question: Question[Any], then: Callable[[Future[bytes]], None]) -> None:
        with suppress(DeviceError):  # the last report of a process that has ended has the reason
            self._send(question).add_done_callback(then)

    def _answer(self, question: Question[Answer], asked: Future[bytes], within_s: float | None) -> Answer:
        try:
            data = asked.result(within_s)
        except KeyboardInterrupt:
            self._patience_s = _HURRIED_S  # the process may be busy with an answer that is no longer needed
            raise
        try:
            answer: Answer = _answer_decoder(type(question)).decode(data)
        except Exception as problem:
            self.kill(f"its answer was none: {problem}")
            raise self._failed(f"must answer as it was asked, got: {problem}") from problem
        return answer

    def _report_refusal(self, asked: Future[bytes]) -> None:
        problem = asked.exception()
        if problem is not None and self._questions.failure is None:
            self._report(error(str(problem), source=Source.ENGINE))

    def _report(self, diagnostic: Diagnostic) -> None:
        self.outbox.put_event(diagnostic)

    def close(self) -> None:
        """End the process; safe to call again. Raise DeviceError if the device fails only now.

        Nothing is raised for a process that has ended by itself: its last report has the reason.
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._forget_types()
        self._forget_level()
        if self._saved_files is not None:
            self._saved_files.close()
        try:
            if self._questions.failure is None:
                self._send(Close()).result(self._patience_s)
        except TimeoutError:
            level = logging.WARNING if self._patience_s == PATIENCE_S else logging.DEBUG
            text = "the engine's process must end when it is closed, and was killed after %g s"
            _log.log(level, text, self._patience_s)
            self._started.kill()
        except DeviceError:
            if self._liveness.is_lost:
                self._started.kill()
            elif self._questions.failure is None:
                raise
        finally:
            self._liveness.close()
            if self._far is not None:
                self._far.close()
            self._unsent.put(None)
            for thread in self._threads:
                thread.join(PATIENCE_S)  # a process that the engine has forked may keep a full pipe open

    def _send(self, question: Question[Any]) -> Future[bytes]:
        number = next(self._questions.numbers)
        frame = encode(Asked(number, question))  # type: ignore[arg-type]  # each question is one of them
        future = self._expect(number)
        self._unsent.put(frame)
        return future

    def _expect(self, number: int) -> Future[bytes]:
        """Return the coming answer to the question of a number. Raise DeviceError if the process can't answer."""
        future = self._questions.expect(number)
        if self._liveness.is_lost:
            raise self._failed(self._liveness.text)
        return future

    def _failed(self, text: str) -> DeviceError:
        return DeviceError(f"engine's process {text} ({self._started} runs it)")

    def _tell_files(self) -> None:
        self._sent_path = self._patch.path
        if (far := self._far) is not None:
            far.follow_types()
        self._unsent.put(self._use_files)

    def _use_files(self) -> bytes:
        if self._far is not None:
            return b""  # it sends the files
        path = self._sent_path.resolve() if self._sent_path is not None else None
        return encode(UseFiles(path, tuple(block_folders.trusted), block_folders.tried()))

    def _write_all(self) -> None:
        sink = self._process.stdin
        assert sink is not None
        self._greeted.wait()
        far = self._far
        frame: bytes | None
        try:
            if far is not None and (frame := far.start()):
                write_frame(sink, frame)
            while (queued := self._unsent.get()) is not None:
                frame = queued() if callable(queued) else queued
                if frame:
                    write_frame(sink, frame if far is None else far.leaving(frame))
                while far is not None and self._unsent.empty() and (frame := far.next_part()):
                    write_frame(sink, frame)
                if self._unsent.empty():
                    sink.flush()
        except OSError:
            pass  # the process has ended; the other thread notices that
        finally:
            with suppress(OSError):
                sink.close()

    def _read_all(self) -> None:
        source, decoder = self._process.stdout, make_decoder(FromEngine, self._pictures)
        assert source is not None
        heard = Heard(source, self._liveness.hear, lambda: self._process.poll() is not None)
        try:
            if (frame := read_frame(heard)) is not None:
                self._greet(read_hello(frame))
            while (frame := read_frame(heard)) is not None:
                message = decoder.decode(frame)
                if self._far is not None:
                    message = self._far.take(message, len(frame))
                    while isinstance(message, bytes):
                        message = self._far.unwrap(decoder.decode(message))
                self._take(message)
        except DeviceError as problem:
            self.kill(f"it was stopped: {problem}")
        except Exception as problem:  # noqa: BLE001 - whatever the process sends, waiting callers must get an error
            if not isinstance(problem, msgspec.DecodeError):
                _log.exception("what the engine's process sent could not be followed")
            self.kill(f"its output was no message: {problem}")
        status = self._process.wait()
        source.close()
        how = how_it_ended(status, "status")
        ended = f"it was ended by {how}" if status < 0 else f"it ended with {how}"
        if status == _SSH_STATUS and (self._is_ssh or (self._greeted.is_set() and self._far is not None)):
            how, ended = LOST_LINE, "the line to it was lost, or it crashed (ssh ended with status 255)"
        self._end(self._reason or ended, how)
        self._greeted.set()

    def _greet(self, hello: Hello) -> None:
        if hello.place == place():
            self._far = None
        else:
            _log.info("the engine sees other files than this process")
        self._greeted.set()

    def kill(self, reason: str) -> None:
        """Kill the process, for a reason that its last report and all questions give."""
        self._reason = self._reason or reason
        self._started.kill()

    def _take(self, message: Any) -> None:
        match message:
            case Alive() | None:
                pass
            case Answered(number, answer):
                self._questions.answer(number, bytes(answer))
            case Refused(number, kind, text):
                self._questions.answer(number, KINDS.get(kind, WarploomError)(text))
            case ReportChange():
                self._last = changed_report(self._last, message)
                self.outbox.put_report(self._last)
            case Profile():
                self.outbox.put_profile(message)
            case Sample():
                self.outbox.put_sample(message.name, lambda _: message)
            case StateCopy():  # it is kept for long, and its place in the shared memory must be free again
                self.outbox.put_event(message.with_buffers(np.ndarray.copy))
            case Failed(diagnostic):
                self.outbox.put_event(diagnostic)
            case Records(records, dropped):
                if dropped:
                    _log.warning(
                        "%d log records of the engine's process were dropped, since they came too fast", dropped
                    )
                for record in () if self._apart else records:
                    log_again(record)
            case _:
                self.outbox.put_event(message)

    def _end(self, reason: str, how: str) -> None:
        """Report the end of the process to all waiting callers and in the next report."""
        diagnostic = error(
            f"engine's process must keep running, but {reason}",
            remedy=f"start the engine again; {self._started} ran it",
            found=how,
            mend=Mend.RESTART if self._is_open else None,
            source=Source.ENGINE,
        )
        if self._is_closed or self._apart:
            _log.info("process %d has ended", self._process.pid)
        else:  # before any question fails: its caller may take the last report at once
            _log.error("%s", diagnostic.message)
            last = self._last
            ended = replace(
                last,
                statistics=replace(last.statistics, device=self.info.name),
                diagnostics=(*last.diagnostics, diagnostic),
                sightings=(*last.sightings, Sighting.now()),
                running=False,
                preparing=False,
                failed=True,
            )
            self.outbox.put_report(ended)
            self.outbox.put_event(diagnostic)
        failure = DeviceError(f"{diagnostic.message} ({diagnostic.remedy})")
        failure.reason = reason
        self._questions.end(failure)


@cache
def _answer_decoder(question: type[Question[Any]]) -> msgspec.msgpack.Decoder[Any]:
    return make_decoder(question.answer_type())
