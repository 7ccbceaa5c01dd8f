"""Microphones and loudspeakers: streams of samples that follow the clock of a patch.

A device has a clock of its own. Its queue is read, or filled, a little faster or slower, so that the queue keeps its
length: the latency stays the same for hours, without gaps.
"""

import logging
import threading
from abc import abstractmethod
from typing import Any

import numpy as np

from warploom.api import Inputs, Listener, Unavailable
from warploom.blocks.sound.resampling import Follower, Stretch
from warploom.blocks.sound.ring import Ring, Samples
from warploom.engine.diagnostics import PatchError

_log = logging.getLogger(__name__)
#: How long a frame by hand waits for a device to open.
PATIENCE_S = 5.0
#: How often a lost device is noticed.
_LOOK_S = 1.0
#: The most that a queue is lengthened to when frames are late.
_MOST_KEPT_S = 0.5
#: The length of a queue, in seconds: frames by hand may take long.
_LONGEST_S = 10.0
#: PortAudio is called by one thread at a time. How many streams are open: only without any can devices be listed anew.
_portaudio = threading.RLock()
_open_streams = 0


def library() -> Any:
    """Return the module sounddevice. Raise Unavailable with the command that installs what is missing."""
    try:
        import sounddevice
    except ImportError as problem:
        text = f"sound devices must have the library sounddevice, got none ({problem})"
        raise Unavailable(text, "pip install 'warploom[media]'", is_lasting=True) from problem
    except OSError as problem:
        text = f"sound devices must have the library PortAudio, got none ({problem})"
        remedy = "sudo apt install libportaudio2, or pip install 'warploom[media]' on other systems than Linux"
        raise Unavailable(text, remedy, is_lasting=True) from problem
    return sounddevice


def find(sounds: Any, name: str, kind: str, channels: int) -> tuple[int, str]:
    """Return the index and the whole name of the first device that `name` is a part of.

    An empty name, or "default", is the system's own. `kind` is "input" or "output". Raise Unavailable if there is none.
    """
    key = f"max_{kind}_channels"
    there = [(index, str(each["name"]), int(each[key])) for index, each in enumerate(sounds.query_devices())]
    there = [each for each in there if each[2]]
    wanted, part = None, name.strip().lower()
    if part in ("", "default"):
        default = sounds.default.device[0 if kind == "input" else 1]
        wanted = next((each for each in there if each[0] == default), there[0] if there else None)
    else:
        same = [each for each in there if each[1].lower() == part]
        wanted = next(iter(same or [each for each in there if part in each[1].lower()]), None)
    names = ", ".join(each[1] for each in there) or "none"
    if wanted is None:
        called = f"called {name!r}" if part not in ("", "default") else f"for sound {kind}"
        remedy = "connect it, or name another one; it is then found by itself"
        raise Unavailable(f"device {called} must be there, got {names}", remedy)
    if wanted[2] < channels:
        text = f"device {wanted[1]} must have {channels} channels for {kind}, got {wanted[2]}"
        raise Unavailable(text, "choose fewer channels, or another device")
    return wanted[0], wanted[1]


def device_names(kind: str) -> list[str]:
    """Return the whole names of the devices that are there now. Raise PatchError without the library.

    `kind` is "input" or "output".
    """
    try:
        sounds = library()
    except Unavailable as problem:
        raise PatchError(f"{problem}; {problem.remedy}") from problem
    with _portaudio:
        if not _open_streams:
            sounds._terminate()  # the devices are listed only here
            sounds._initialize()
        return list(dict.fromkeys(str(each["name"]) for each in sounds.query_devices() if each[f"max_{kind}_channels"]))


def notice_of(device: "SoundDevice") -> str:
    """Return what a person has to know of a device that doesn't work; "" while it works."""
    problem = device.problem_at("")
    return "" if problem is None else f"{problem.message}: {problem.remedy}"


class SoundDevice(Listener):
    """One stream of a device, kept open by a thread of its own until `close`. A missing device is tried again."""

    kind = ""

    def __init__(self, name: str, rate: int, channels: int, latency_s: float) -> None:
        """`latency_s` is the length of the queue between the patch and the device."""
        super().__init__(f"sound {self.kind} {name}", Inputs())
        self.name, self.rate, self.channels = name, rate, channels
        self.ring = Ring(round(_LONGEST_S * rate), channels)
        self.follower = Follower(latency_s * rate, rate)
        self.stretch = Stretch(channels)
        #: The device's whole name while it is open, and its own latency.
        self.found = ""
        self.device_latency_s = 0.0
        #: Set once the device is open, or its problem is known.
        self.tried = threading.Event()
        self._ended = threading.Event()
        self.start()

    @property
    def latency_s(self) -> float:
        """The time that sound takes between the patch and the air."""
        return self.follower.length / self.rate + self.device_latency_s

    def keep_more(self) -> None:
        """Lengthen the queue, since frames were later than it is long."""
        self.follower.wanted = min(1.5 * self.follower.wanted, max(self.follower.wanted, _MOST_KEPT_S * self.rate))

    @abstractmethod
    def call_back(self, samples: Samples, count: int, time: Any, status: Any) -> None:
        """Take or give samples, on the device's thread."""

    def listen(self) -> None:
        """Keep the stream open until `stopping` is set. Raise Unavailable if there is none, or it ends."""
        try:
            self._keep_open(library())
        except Unavailable:
            raise
        except Exception as problem:  # the errors of drivers, which only the library knows
            text = f"device {self.name or 'for sound'} must work at {self.rate} Hz, got {problem}"
            remedy = "close the programs that use it, or choose the rate of the device; it is tried again by itself"
            raise Unavailable(text, remedy) from problem
        finally:
            self.found = ""
            self.tried.set()

    def wake(self) -> None:
        """End the wait for the end of the stream."""
        self._ended.set()

    def _keep_open(self, sounds: Any) -> None:
        global _open_streams
        with _portaudio:
            if not _open_streams and self.tried.is_set():
                sounds._terminate()  # the devices are listed only here
                sounds._initialize()
            index, found = find(sounds, self.name, self.kind, self.channels)
            stream = getattr(sounds, f"{self.kind.title()}Stream")(
                samplerate=self.rate,
                device=index,
                channels=self.channels,
                dtype="float32",
                latency=self.follower.wanted / self.rate,
                callback=self.call_back,
                finished_callback=self._ended.set,
            )
            _open_streams += 1
        try:
            with _portaudio:
                stream.start()
            self.found, self.device_latency_s = found, float(stream.latency)
            self.ready()
            self.tried.set()
            _log.debug("sound %s by %s, latency %.3f s", self.kind, found, stream.latency)
            while not self.stopping.is_set() and stream.active:
                self._ended.wait(_LOOK_S)
        finally:
            with _portaudio:
                stream.close()
                _open_streams -= 1
            self._ended.clear()
        if not self.stopping.is_set():
            raise Unavailable(f"device {found} must be connected, got it unplugged", "connect it again")


class SoundInput(SoundDevice):
    """A microphone: `take` returns the newest samples at the pace of the patch."""

    kind = "input"

    def __init__(self, name: str, rate: int, channels: int, latency_s: float) -> None:
        #: How often samples were lost, since no frame took them, and how often too few had come.
        self.overruns = self.underruns = 0
        self._arrived = threading.Condition()
        self._is_filling = True
        super().__init__(name, rate, channels, latency_s)

    def call_back(self, samples: Samples, count: int, time: Any, status: Any) -> None:
        """Keep samples that the device has recorded."""
        if self.ring.write(samples) or getattr(status, "input_overflow", False):
            self.overruns += 1
        with self._arrived:
            self._arrived.notify_all()

    def take(self, count: int) -> Samples:
        """Return the samples of a frame in real time; silence while the device is missing or has not begun."""
        if not count:  # the patch is paused
            self.ring.skip(self.ring.held - round(self.follower.wanted))
            return self._silence(0)
        held, kept = self.ring.held, self.follower.wanted + count / 2
        if held > 2 * kept + count:  # frames have stood still: the newest samples are wanted
            self.overruns += not self._is_filling
            self._restart(held - round(kept))
            held = self.ring.held
        if self._is_filling and held < kept:
            return self._silence(count)
        self._is_filling = False
        speed = self.follower.speed(held - count / 2, count)
        needed = self.stretch.needed(count, speed)
        if needed > held:
            if self.found:
                self.underruns += 1
                self.keep_more()
            self._restart(0)
            return self._silence(count)
        self.stretch.add(self.ring.read(needed))
        return self.stretch.take(count, speed)

    def take_exactly(self, count: int, timeout_s: float = 1.0) -> Samples:
        """Wait for the next samples, each of which is taken once: for frames by hand, which have no clock."""
        if not count:
            return self.take(0)
        with self._arrived:
            self._arrived.wait_for(lambda: self.ring.held >= count or not self.found, timeout_s)
        taken = self.ring.read(count)
        return np.concatenate((self._silence(count - len(taken)), taken))

    def _restart(self, spare: int) -> None:
        self.ring.skip(spare)
        self.stretch.restart()
        self.follower.restart()
        self._is_filling = True

    def _silence(self, count: int) -> Samples:
        return np.zeros((count, self.channels), np.float32)


class SoundOutput(SoundDevice):
    """A loudspeaker: `put` appends the samples of a frame to what is played."""

    kind = "output"

    def __init__(self, name: str, rate: int, channels: int, latency_s: float) -> None:
        #: How often the device had nothing to play since a frame was late, and how many samples it didn't play.
        self.underruns = self.dropped = 0
        #: The device plays silence while the queue is filled; how many samples it did since the queue was empty.
        self._is_filling, self._silent, self._has_run_out = True, 0, False
        super().__init__(name, rate, channels, latency_s)

    def call_back(self, samples: Samples, count: int, time: Any, status: Any) -> None:
        """Give the device what it plays next."""
        self.underruns += bool(getattr(status, "output_underflow", False)) and not self._is_filling
        played = self.ring.read(0 if self._is_filling else count)
        samples[: len(played)] = played
        samples[len(played) :] = 0
        if len(played) < count and not self._is_filling:
            self._is_filling = self._has_run_out = True
            self._silent = 0
        self._silent += count - len(played)

    def put(self, samples: Samples) -> None:
        """Play the samples of a frame in real time, after those of earlier frames."""
        count, held, wanted = len(samples), self.ring.held, self.follower.wanted
        if not count or not self.found:
            return
        if held > 2 * wanted + 2 * count:  # the device stands still
            self.dropped += count
            return
        if self._has_run_out:
            # After a longer silence, the patch was paused, which is no fault.
            if self._silent <= wanted + 2 * count:
                self.underruns += 1
                self.keep_more()
            self._has_run_out = False
            self.follower.restart()
        speed = 1.0 if self._is_filling else self.follower.speed(held + count / 2, count)
        self.stretch.add(samples)
        self.dropped += self.ring.write(self.stretch.take_all(speed))
        if self._is_filling and self.ring.held >= wanted:
            self._is_filling = False
