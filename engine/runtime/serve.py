"""`serve`: runs the engine for another process's patch; messages and answers are frames on two streams."""

import faulthandler
import logging
import os
import signal
import sys
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

import msgspec
import numpy as np

from warploom.engine.catalogue.admission import Admission
from warploom.engine.catalogue.block_folders import block_folders
from warploom.engine.catalogue.catalogue import WAIT_S, configured_folder, forget_blocks, trust_blocks
from warploom.engine.diagnostics import DeviceError, Diagnostic, PatchError, Source, WarploomError, error, printable
from warploom.engine.logs import LogBuffer, attach, detach, set_level
from warploom.engine.patch.changes import Change
from warploom.engine.patch.document import Patch
from warploom.engine.patch.editing.applying import not_applied
from warploom.engine.platforms.pipes import print_at_once
from warploom.engine.protocol.child.encoding import (
    Alive,
    Answered,
    Asked,
    Failed,
    Records,
    Refused,
    SetLogLevel,
    ToEngine,
    UseFiles,
    encode,
    make_decoder,
)
from warploom.engine.protocol.child.frames import read_frame, write_frame
from warploom.engine.protocol.child.hello import hello
from warploom.engine.protocol.child.liveness import HEARTBEAT_S
from warploom.engine.protocol.child.report_changes import NO_REPORT, report_change
from warploom.engine.protocol.child.shared_pictures import PlacedArray, SharedPictures, inherited
from warploom.engine.protocol.elsewhere.far_client import FarClient, placed_here
from warploom.engine.protocol.elsewhere.messages import Content, Files, Got, Packed, Part
from warploom.engine.protocol.messages import Edited, Message, Saved, SetTrust, StateCopy
from warploom.engine.protocol.outbox import Happening
from warploom.engine.protocol.pipe import KINDS
from warploom.engine.protocol.questions import Close, CopyState, Open, Question, SaveTo
from warploom.engine.protocol.sampling import ObservePorts, Sample
from warploom.engine.readings import here
from warploom.engine.runtime.engine import LocalEngine
from warploom.engine.runtime.observed.launch_watch import LaunchWatch
from warploom.engine.types import Array

_log = logging.getLogger(__name__)
#: How often the outbox is checked for reports, which are for display frames; pictures and events don't wait for that.
_PERIOD_S = 1 / 120
_STUCK_S = 60.0
#: The exit status of a process whose device does not finish.
_OVERDUE = 75
#: Number of log records that wait for a slow client; older ones are dropped and counted.
RECORD_LIMIT = 1000
_PART_BYTES = 1 << 16
#: How long the end waits for printed output; a process that a library started may still hold the pipe.
_PATIENCE_S = 1.0


def serve_standard_streams() -> None:
    """Serve on standard input and output until the input ends.

    Other output of the process goes to standard error, with escaped control characters: kernels print it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in the terminal is for the program that started this process
    with (
        suppress(BrokenPipeError),  # the client has gone
        os.fdopen(os.dup(sys.stdin.fileno()), "rb") as source,
        os.fdopen(os.dup(sys.stdout.fileno()), "wb") as sink,
    ):
        threading.Thread(target=_end_if_stuck, name="stuck", daemon=True).start()
        try:
            with _output_made_visible():
                serve(source, sink, inherited())
        except msgspec.DecodeError as problem:
            raise WarploomError(f"engine's input must be messages, as --engine sends them, got {problem}") from problem


def _end_if_stuck() -> None:
    """End the process, with the stacks of its threads, when one of them holds the interpreter for `_STUCK_S`.

    Such a process doesn't notice either that its client has gone.
    """
    while True:
        faulthandler.dump_traceback_later(_STUCK_S, exit=True)
        time.sleep(_STUCK_S / 10)


@contextmanager
def _output_made_visible() -> Iterator[None]:
    """Have everything that is printed, by native code too, written to standard error without control characters."""
    reader, writer = os.pipe()
    os.dup2(writer, sys.stdout.fileno())
    os.close(writer)
    print_at_once()  # lines of native code must not wait until the end, as they would for a pipe

    def copy() -> None:
        decoder = getincrementaldecoder("utf-8")(errors="replace")
        with os.fdopen(reader, "rb", buffering=0) as source:
            while part := source.read(_PART_BYTES):
                sys.stderr.write(printable(decoder.decode(part)))
                sys.stderr.flush()

    thread = threading.Thread(target=copy, name="printed output", daemon=True)
    thread.start()
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # which ends the thread
        thread.join(_PATIENCE_S)


def serve(source: IO[bytes], sink: IO[bytes], pictures: SharedPictures | None = None) -> None:
    """Run the engine of one client until `source` ends. Raise msgspec.DecodeError when the bytes are not a frame.

    Pictures go through the memory of `pictures`, if there is any. A frame that is not a message is refused, and so is a
    message that can't be applied.
    """
    server = _Server(sink, pictures)
    try:
        decoder = make_decoder(ToEngine)
        while (frame := read_frame(source)) is not None:
            server.receive(frame, decoder)
            server.wait()
    finally:
        server.close()


class _Server:
    """Keeps a copy of the client's patch, for the cost of edits, and the engine that runs the patch."""

    def __init__(self, sink: IO[bytes], pictures: SharedPictures | None) -> None:
        #: No block file runs before the client has said which ones it has tried.
        self._admission = block_folders.admission = Admission()
        if pictures is not None:
            block_folders.announce = partial(pictures.note, "file")
        self._patch = Patch()
        self._blocks: tuple[Path, ...] = ()
        self._engine: LocalEngine | None = None
        #: The client, if it has other files than this process.
        self._far: FarClient | None = None
        self._asked_files: list[int] = []
        self._their_blocks: tuple[Path, ...] = ()
        self._copy = np.ndarray.copy if pictures is None else pictures.place
        self._pictures = pictures
        self._watch: LaunchWatch | None = None
        #: The last report that was sent.
        self._reported = NO_REPORT
        self._unsent: SimpleQueue[bytes | None] = SimpleQueue()
        self._records = LogBuffer(logging.WARNING, RECORD_LIMIT)
        attach(self._records)
        self._sender = threading.Thread(target=self._send_all, args=(sink,), name="to the client")
        self._sender.start()

    def receive(self, frame: bytes, decoder: msgspec.msgpack.Decoder[Any]) -> None:
        """Follow a frame, and those inside it."""
        try:
            message = decoder.decode(frame)
            inside = self._far.take(message, len(frame), self._unsent.put) if self._far is not None else b""
        except Exception as problem:  # noqa: BLE001 - bytes may hold anything, and numpy's types raise anything
            self.refuse(frame, problem)
            return
        if inside:
            self.receive(inside, decoder)
        else:
            self.take(message)

    def wait(self) -> None:
        """Note that the next frame is waited for."""
        if self._far is not None:
            self._far.wait()

    def take(self, message: Any) -> None:
        """Follow one message."""
        try:
            self._follow(message)
        except WarploomError as problem:
            self._tell(str(problem))
        except Exception as problem:  # noqa: BLE001 - the client must be told, and its next message may be sound
            _log.exception("a message could not be followed")
            self._tell(f"engine must follow a message, got {type(problem).__name__}: {problem}")

    def _follow(self, message: Any) -> None:
        match message:
            case Alive() | Got() | Part() | Packed():
                pass
            case Files() | Content():
                self._follow_files(message)
            case Asked(number, SaveTo() as question) if self._far is not None:
                self._far.send_later(encode(self._answer(number, question)))
            case Asked(number, CopyState(most_bytes)) if self._far is not None:  # pictures need its line
                self._unsent.put(encode(self._answer(number, CopyState(min(most_bytes, _PART_BYTES)))))
            case Asked(number, question):
                self._unsent.put(encode(self._answer(number, question)))
            case SetLogLevel(level):
                set_level(self._records, level)
            case UseFiles(path, blocks, tried):
                self._patch.path = path.resolve() if path is not None else None
                self._admission.set_tried(tried)
                self._trust(blocks)
            case SetTrust(trusted):
                self._patch.trusted = trusted
                self._post(message)
            case Edited(edit, is_undo):
                self._post(Edited(tuple(filter(self._apply, edit)), is_undo))
            case _ if not isinstance(message, Change) or self._apply(message):
                self._post(message)

    def _follow_files(self, message: Files | Content) -> None:
        """Follow files of another machine. Block files run once all files of their folder are here."""
        if self._far is None:
            if isinstance(message, Content):
                raise WarploomError("contents must be those of files, got none of them")
            self._far = FarClient(message.client, lambda: os.kill(os.getpid(), signal.SIGTERM))
            block_folders.remove(configured_folder())  # the client sends its own, which may have the same types
            self._admission.set_tried(None)
        lacks = self._far.follow_files(message)
        if lacks is not None:
            self._unsent.put(encode(lacks))
        if isinstance(message, Files):
            self._patch.path = here(message.patch)
            self._asked_files.append(message.number)
            self._their_blocks = tuple(map(here, message.blocks))
        mirror = self._far.mirror
        self._trust(tuple(each for each in self._their_blocks if each in self._blocks or not mirror.lacks(each)))
        if mirror.is_complete:
            for number in self._asked_files:
                self._unsent.put(encode(Answered(number, msgspec.Raw(encode(None)))))
            self._asked_files.clear()

    def _apply(self, change: Change) -> bool:
        """Apply a change to the patch; if it can't be applied, report that and return False."""
        try:
            self._patch.restore([change])
        except PatchError as problem:
            self._send(not_applied(change, problem))
            return False
        return True

    def _post(self, message: Message) -> None:
        if isinstance(message, ObservePorts) and self._far is not None:
            self._far.observe(message.samplings)
        if self._engine is not None:
            self._engine.post(message if self._far is None else placed_here(message))

    def refuse(self, frame: bytes, problem: Exception) -> None:
        """Answer a frame that holds no message."""
        text = f"message must have values of its types, got {problem or type(problem).__name__}"
        number = _number_of(frame)
        if number is None:
            self._tell(text)
        else:
            self._unsent.put(encode(Refused(number, "WarploomError", text)))

    def _tell(self, text: str) -> None:
        self._send(error(text, source=Source.ENGINE))

    def _send(self, told: Diagnostic) -> None:
        _log.warning("%s", told.message)
        self._unsent.put(encode(Failed(told)))

    def _trust(self, blocks: tuple[Path, ...]) -> None:
        for folder in set(self._blocks) - set(blocks):
            forget_blocks(folder)
        self._blocks = blocks
        for folder in blocks:
            try:
                trust_blocks(folder, wait_s=WAIT_S)  # the rest of the patch can run meanwhile
            except WarploomError as problem:
                self._tell(str(problem))

    def close(self) -> None:
        """Free all resources and send the remaining messages."""
        self._admission.set_tried(None)
        block_folders.admission, block_folders.announce = None, str
        try:
            if self._engine is not None:
                self._engine.close()
        except DeviceError as problem:
            _log.warning("the engine was closed, and its device reported: %s", problem)
        finally:
            self._unsent.put(None)
            self._sender.join()
            if self._far is not None:
                self._far.close()
            detach(self._records)

    def _answer(self, number: int, question: Question[Any]) -> Answered | Refused:
        answer: Any = None
        try:
            if isinstance(question, Close):
                if self._engine is not None:
                    self._engine.close()
            elif isinstance(question, Open):
                if self._engine is not None:
                    raise WarploomError("engine must be opened once, got a second time")
                self._engine = LocalEngine(
                    self._patch,
                    question.device,
                    profiling=question.profiling,
                    time_step_s=question.time_step_s,
                    plain_edges=question.plain_edges,
                )
                self._engine.outbox.wake = partial(self._unsent.put, b"")
                if (pictures := self._pictures) is not None:
                    self._engine.announce_code(lambda node, _: pictures.note("node", node))
                self._watch = LaunchWatch(self._engine.engine)
                answer = self._engine.info
            elif self._engine is None:
                raise WarploomError(f"engine must be open before it is asked, got {type(question).__name__}")
            else:
                answer = self._engine.ask(question if self._far is None else placed_here(question))
                if isinstance(question, SaveTo) and self._far is not None:
                    for saved in answer:
                        self._far.send_saved(saved, is_event=False)
            return Answered(number, msgspec.Raw(encode(answer)))
        except WarploomError as problem:
            kind = next(kind.__name__ for kind in type(problem).__mro__ if kind.__name__ in KINDS)
            return Refused(number, kind, str(problem))
        except Exception as problem:  # noqa: BLE001 - the client waits for an answer, whatever it is
            _log.exception("a question could not be answered")
            return Refused(number, "WarploomError", f"engine must answer, got {type(problem).__name__}: {problem}")

    def _send_all(self, sink: IO[bytes]) -> None:
        try:
            frame: bytes | None = b""
            sent_s = 0.0
            write_frame(sink, encode(hello()))
            sink.flush()
            while frame is not None:
                try:
                    frame = self._unsent.get(timeout=_PERIOD_S)
                except Empty:
                    frame = b""
                is_over = self._watch is not None and self._watch.look()
                # News come before an answer: a step's report is there when the step has been answered.
                frames = [*map(encode, self._news(bool(frame))), *([frame] if frame else [])]
                if not frames and time.monotonic() - sent_s >= HEARTBEAT_S:
                    frames = [encode(Alive())]
                if (far := self._far) is not None:
                    frames = [far.leaving(each) for each in frames]
                    while self._unsent.empty() and (part := far.part()) is not None:
                        frames.append(part)
                if frames:
                    for each in frames:
                        write_frame(sink, each)
                    sink.flush()
                    sent_s = time.monotonic()
                if is_over:
                    os._exit(_OVERDUE)
        except BrokenPipeError:
            pass  # the client has gone, and the other stream ends with it

    def _news(self, is_asked: bool) -> list[Any]:
        records, dropped = self._records.take()
        news: list[Any] = [Records(records, dropped)] if records else []
        if self._engine is not None:
            outbox = self._engine.outbox
            if (far := self._far) is None or is_asked or far.has_room:
                if (report := outbox.take_report()) is not None:
                    news.append(report_change(self._reported, report))
                    self._reported = report
                if (profile := outbox.take_profile()) is not None:
                    news.append(profile)
            if far is None:
                news += map(self._placed_sample, outbox.take_samples(self._copy))
            else:
                far.begin_large(outbox)
            for event in outbox.take_events():
                if far is None or not isinstance(event, Saved) or not far.send_saved(event, is_event=True):
                    news.append(self._news_of(event))
        return news

    def _news_of(self, event: Happening) -> object:
        match event:
            case Diagnostic():
                return Failed(event)
            case StateCopy():
                return event.with_buffers(self._placed)
        return event

    def _placed_sample(self, sample: Sample) -> Sample:
        return sample if sample.data is None else msgspec.structs.replace(sample, data=self._placed(sample.data))

    def _placed(self, contents: Array) -> Array:
        """Return an array in the shared memory if it is large."""
        is_there = self._pictures is None or isinstance(contents, PlacedArray)
        return contents if is_there or contents.nbytes < _PART_BYTES else self._copy(contents)


def _number_of(frame: bytes) -> int | None:
    """Return the number of a malformed question, or None."""
    try:
        fields = msgspec.msgpack.decode(frame)
    except Exception:  # noqa: BLE001 - bytes may hold anything
        return None
    number = fields.get("number") if isinstance(fields, dict) else None
    return number if type(number) is int else None
