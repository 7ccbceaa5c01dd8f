"""Pins outputs as tests of a patch, and checks them.

State and time are the same in every run: an engine that has run no frame yet runs frames by hand, from frame 0, each
one time step (1/60 s unless the engine is opened with another) after the one before, with no input from keys or mouse.
Random blocks follow their seeds. What comes from elsewhere, such as a camera or OSC, can't be repeated.
"""

import io
import statistics
from collections.abc import Callable, Iterable

import msgspec
import numpy as np

from warploom.engine.diagnostics import PatchError, WarploomError
from warploom.engine.figures import format_time
from warploom.engine.patch.beside.array_files import as_file, is_as_written
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.document import Patch
from warploom.engine.patch.files import write_atomically
from warploom.engine.patch.organise.pins import MOST_INLINE, Pin, checked_pin, difference, inline_values
from warploom.engine.patch.trust import SavePlace
from warploom.engine.protocol.client import Client
from warploom.engine.runtime.check.check_patch import has_errors
from warploom.engine.types import Array

#: A budget is compared with the median of at least this many frames, without the first, which compiles.
TIMED_FRAMES = 20


class PinResult(msgspec.Struct, frozen=True):
    """Whether a pin has passed; if it has not, `text` has what was expected, what was found, and where."""

    node: str
    port: str
    frame: int
    passed: bool
    text: str = ""

    def __str__(self) -> str:
        where = f"pin of {self.node}.{self.port}, frame {self.frame}"
        return f"{where}: {'passed' if self.passed else self.text}"


def pin_output(
    patch: Patch,
    port: PortRef,
    values: object,
    *,
    frame: int = 0,
    tolerance: float = 0.0,
    relative: float = 0.0,
    budget_ms: float | None = None,
    overwrites: bool = False,
) -> Pin:
    """Pin an output: from now on it is to hold `values` after a frame. Replace an earlier pin of it, in one undo step.

    Contents of more than 64 elements, or of structs, are written to a file beside the patch, as a save block may: raise
    PatchError if the patch has no file yet, or may not write or overwrite that one. `overwrites` allows the latter.
    """
    found = patch.check_pin(port)
    try:
        array = np.asarray(values, order="C")
    except (ValueError, TypeError, OverflowError) as problem:
        raise PatchError(f"values of a pin must make an array, got: {problem}") from None
    if array.dtype.hasobject:
        raise PatchError(f"values of a pin must be numbers, got {array.dtype}")
    dtype = array.dtype.str if array.dtype.names is None else str(array.dtype)
    pin = Pin(
        node=found.node,
        port=found.port,
        dtype=dtype[:2000],
        shape=array.shape,
        values=inline_values(array) or (),
        frame=frame,
        tolerance=tolerance,
        relative=relative,
        budget_ms=budget_ms,
    )
    if inline_values(array) is None:
        stem = patch.path.stem if patch.path is not None else "patch"
        safe = f"{stem}.{found.node}.{found.port}".replace("/", ".").replace("\\", ".")
        name, contents = as_file(safe, array)
        pin = msgspec.structs.replace(pin, file=name)
        checked_pin(pin)  # before the file is written
        _write(patch, pin, contents, overwrites=overwrites)
    patch.annotate(pin, f"Pin {found}")
    return pin


def _place(patch: Patch, *, overwrites: bool = False) -> SavePlace:
    name = str(patch.path.resolve()) if patch.path is not None else ""
    return SavePlace(patch.folder, None, patch.trusted, name, None if overwrites else ())


def _write(patch: Patch, pin: Pin, contents: bytes, *, overwrites: bool) -> None:
    """Write the file of a pin; the same contents are not written again."""
    if patch.path is None:
        raise PatchError(
            f"patch must be saved before {pin.node}.{pin.port} is pinned, since a file beside it holds more than "
            f"{MOST_INLINE} elements"
        )
    place = _place(patch, overwrites=overwrites)
    path = place.base / pin.file
    refusal = place.refusal(pin.node, path)
    if refusal is None and path.is_file() and path.read_bytes() == contents:
        return
    refusal = refusal or place.overwriting(pin.node, path)
    if refusal is not None:
        raise PatchError(f"pin of {pin.node}.{pin.port}: {refusal.message}")
    try:
        write_atomically(path, contents)
    except OSError as problem:
        raise PatchError(f"pin of {pin.node}.{pin.port} must be writable as {path}, got {problem}") from problem
    place.note(path, contents)


def expected(patch: Patch, pin: Pin) -> Array:
    """Return what a pin expects. Raise PatchError if its file is missing or is not the one that was written."""
    if not pin.file:
        return pin.inline()
    path = _place(patch).base / pin.file
    try:
        contents = path.read_bytes()
    except OSError as problem:
        text = f"file {path} must be readable, got {problem.strerror or problem}"
        raise PatchError(f"{text}; put it back, or pin the output again") from problem
    if not is_as_written(pin.file, contents):
        raise PatchError(f"file {path} must be as it was written, got other contents; pin the output again")
    try:
        found: Array = np.load(io.BytesIO(contents), allow_pickle=False)
    except (ValueError, EOFError) as problem:
        raise PatchError(f"file {path} must hold an array, got: {problem}") from problem
    return found


class PinChecks:
    """Checks the pins of a patch in the frames of a client, which it runs.

    If another runs them, that calls `follow` after each, and `results` at the end.
    """

    def __init__(self, patch: Patch, pins: Iterable[Pin] | None = None) -> None:
        self._patch = patch
        self._pins = list(patch.annotations_of(Pin) if pins is None else pins)
        self._results: dict[str, PinResult] = {}
        self._times_ns: list[int] = []
        #: What the outputs held that differ, by the keys of their pins.
        self.differing: dict[str, Array] = {}

    @property
    def frames(self) -> int:
        """How many frames must run to check all pins; 0 if there are none."""
        timed = [TIMED_FRAMES + 1 for pin in self._pins if pin.budget_ms is not None]
        return max([pin.frame + 1 for pin in self._pins] + timed, default=0)

    def run(self, client: Client, goes_on: Callable[[int, int], bool] = lambda done, frames: True) -> list[PinResult]:
        """Run the frames that the pins need on a client that has run none yet, and return their results.

        `goes_on` gets the number of frames so far and of all, and may end the run. Raise DeviceError if the device
        fails.
        """
        why = ""
        for number in range(self.frames):
            if not goes_on(number, self.frames):
                why = "it was cancelled"
                break
            report = client.step()
            self.follow(client, number, report.frame_time_ns)
            if has_errors(report.diagnostics):
                why = str(next(item for item in report.diagnostics if has_errors([item])))
                break
        return self.results(why)

    def follow(self, client: Client, frame: int, time_ns: int) -> None:
        """Check the pins of the frame that has just run."""
        if frame:
            self._times_ns.append(time_ns)
        for pin in self._pins:
            if pin.frame == frame:
                self._note(pin, self._compared(client, pin))

    def results(self, ended: str = "") -> list[PinResult]:
        """Return the result of each pin; `ended` is why no more frames were run."""
        why = f": {ended}" if ended else ""
        for pin in self._pins:
            if pin.key not in self._results:
                self._note(pin, f"expected frame {pin.frame} to run, found that it did not{why}")
            elif self._results[pin.key].passed and pin.budget_ms is not None:
                self._note(pin, self._late(pin.budget_ms))
        return [self._results[pin.key] for pin in self._pins]

    def _note(self, pin: Pin, text: str) -> None:
        self._results[pin.key] = PinResult(pin.node, pin.port, pin.frame, not text, text)

    def _compared(self, client: Client, pin: Pin) -> str:
        try:
            wanted = expected(self._patch, pin)
            found = client.read(PortRef(pin.node, pin.port))
            text = difference(pin, wanted, found)
        except PatchError as problem:
            return str(problem)
        if text:
            self.differing[pin.key] = np.asarray(found)
        return text

    def _late(self, budget_ms: float) -> str:
        if not self._times_ns:
            return "expected more than one frame, to compare their times with the budget, found one"
        median_ns = statistics.median(self._times_ns)
        if median_ns <= budget_ms * 1e6:
            return ""
        return f"expected {format_time(budget_ms * 1e6)} a frame, found a median of {format_time(median_ns)}"


def read_pinned(
    client: Client, port: PortRef, frame: int, goes_on: Callable[[int, int], bool] = lambda done, frames: True
) -> Array:
    """Run frames of a client that has run none, and return what an output holds after `frame`.

    Raise WarploomError if the patch does not compile, or if `goes_on` ends the run.
    """
    for number in range(frame + 1):
        if not goes_on(number, frame + 1):
            raise WarploomError("pinning was cancelled")
        client.step()
    return client.read(port)


def copy_for_pins(patch: Patch) -> Patch:
    """Return a copy of a patch that another thread may run, with the same folder and trust."""
    copy = Patch(patch.catalogue)
    copy.path, copy.trusted = patch.path, patch.trusted
    copy.restore(patch.as_changes())
    return copy
