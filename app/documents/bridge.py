"""`Bridge`: takes the engine's reports, pictures and events once per display frame, and emits them as Qt signals."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from warploom.app.qt.display_rate import refresh_rate
from warploom.app.view_models.profile.tape import Moment, Tape
from warploom.engine.diagnostics import Diagnostic
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.child.liveness import SILENT_S
from warploom.engine.protocol.messages import (
    FrameReport,
    Frozen,
    ObserveProfile,
    Offered,
    Saved,
    StateCopy,
    UpdateRecord,
)
from warploom.engine.protocol.sampling import ObservePorts, Reduction, Sample, Sampling

if TYPE_CHECKING:
    from warploom.engine.protocol.client import Client

#: Pictures per second that look smooth and leave time for other work.
SHARED_RATE = 30.0


class Bridge(QObject):
    """A timer that fires once per display frame. It never waits: unfinished results are taken in a later frame."""

    report = Signal(FrameReport)
    #: The last report of an engine whose device has failed.
    stopped = Signal(FrameReport)
    #: The engine's process has stopped answering, or answers again.
    silent = Signal(bool)
    #: True when the engine begins to prepare another graph, False when this one runs.
    preparing = Signal(bool)
    #: What the engine waits for before it can run the patch, or "".
    waiting = Signal(str)
    #: What is looked at in a port or viewer; its name is "OWNER/NAME", see `observe_ports`.
    sampled = Signal(Sample)
    #: The editor shows a recorded frame from now on, a `Moment`, in place of the present; or None: the present again.
    #: `sampled` follows with what was recorded.
    looked_back = Signal(cast("type[Moment | None]", object))
    #: The profile of the newest measured frames; emitted only while there is a watcher.
    profiled = Signal(Profile)
    updated = Signal(UpdateRecord)
    saved = Signal(Saved)
    #: The engine has paused by itself, after a frame in which a sentinel found something.
    frozen = Signal(Frozen)
    #: The engine has copied its state, as it was asked to.
    copied = Signal(StateCopy)
    #: The values that a parameter offers are known.
    offered = Signal(Offered)
    #: A request failed.
    failed = Signal(Diagnostic)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine: Client | None = None
        self._samplings: dict[str, Sampling] = {}
        self._has_posted = True  # whether the engine has the newest `_samplings`
        self._takes_samples = False
        #: What was shown in the last frames.
        self.tape = Tape()
        #: The recorded frame that the editor shows; None for the present.
        self.moment: Moment | None = None
        #: The newest profile of this engine; None without a watcher, and before the first one arrives.
        self.profile: Profile | None = None
        self._profile_watchers: set[object] = set()
        self._asks_profiles = False  # True if the engine was last asked to report profiles
        self._active = True
        #: The engine's device has failed; below, its process is silent.
        self.has_stopped = self.is_silent = self.is_preparing = False
        self._waits_for = ""
        #: The engine's newest report; None before its first one.
        self.last_report: FrameReport | None = None
        self.report.connect(self._note)
        self._rate = refresh_rate(QGuiApplication.primaryScreen())
        self._timer = QTimer(self, interval=max(4, round(1000 / self._rate)))
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.poll)
        application = QGuiApplication.instance()
        assert isinstance(application, QGuiApplication)
        application.applicationStateChanged.connect(self._on_application_state)

    @property
    def is_polling(self) -> bool:
        """True while the timer runs."""
        return self._timer.isActive()

    def set_engine(self, engine: Client | None) -> None:
        """Follow another engine, or none."""
        self._engine, self.has_stopped, self.is_silent, self._waits_for = engine, False, False, ""
        self.profile, self._asks_profiles, self._takes_samples = None, False, False
        self.last_report = None
        self.tape.clear()
        self._set_preparing(False)
        self._post_samplings()
        self._ask_profiles()
        self._update_timer()

    def observe_ports(self, owner: str, samplings: dict[str, Sampling]) -> None:
        """Request exactly these samples for an owner, by names of its own; they are requested in the next poll.

        The bridge sets the rates of pictures without one.
        """
        others = {name: each for name, each in self._samplings.items() if name.partition("/")[0] != owner}
        wanted = others | {f"{owner}/{name}": each for name, each in samplings.items()}
        if wanted != self._samplings:
            new = [name for name, each in wanted.items() if each != self._samplings.get(name)]
            if (engine := self._engine) is not None:
                for name in wanted.keys() - self._samplings.keys():
                    engine.take_sample(name)  # one that an engine of another process sent after its request ended
            self._samplings, self._has_posted = wanted, False
            self.tape.keep_only(wanted.keys())
            if self.moment is not None:
                self._show_recorded(new)
            self._update_timer()

    def look_back(self, moment: Moment | None) -> None:
        """Show a recorded frame in place of the present, or the present again."""
        if moment is self.moment:
            return
        self.moment = moment
        self.looked_back.emit(moment)
        if moment is not None:
            self._show_recorded(self._samplings)
        elif self._engine is not None:  # everything is sent again, even if the engine is paused
            self._engine.post(ObservePorts({}))
            self._post_samplings()

    def _show_recorded(self, names: Iterable[str]) -> None:
        assert self.moment is not None
        wanted = self._paced()
        for sampling, name in [(wanted[name], name) for name in names if name in wanted]:
            if sampling.rate is not None and (shown := self.moment.shown(name, sampling)) is not None:
                self.sampled.emit(shown)

    def watch_profile(self, watcher: object, watches: bool) -> None:
        """Start or stop watching profiles. The engine reports them while there is a watcher."""
        if watches:
            self._profile_watchers.add(watcher)
        else:
            self._profile_watchers.discard(watcher)
        self._ask_profiles()

    def set_active(self, active: bool) -> None:
        """Pause or resume: while the window is minimised, only displays that a viewer fills get pictures."""
        if active != self._active:
            self._active = active
            self._post_samplings()
            self._ask_profiles()
            self._update_timer()

    def poll(self) -> None:
        """Emit everything new; called once per display frame."""
        engine = self._engine
        if engine is None:
            return
        if not self._has_posted:  # sizes and pointers change more often than pictures
            self._post_samplings()
        report = engine.take_report()
        if report is not None:
            self.tape.put_values(report)
            self.report.emit(report)
        is_silent = engine.transport.silent_s >= SILENT_S and not self.has_stopped
        if is_silent != self.is_silent:
            self.is_silent = is_silent
            self.silent.emit(is_silent)
        if (waits_for := engine.transport.waits_for) != self._waits_for:
            self._waits_for = waits_for
            self.waiting.emit(waits_for)
        for name in tuple(self._samplings):
            sample = engine.take_sample(name)
            if sample is not None and self._is_live(sample):
                self.sampled.emit(sample)
        if self._asks_profiles:
            profile = engine.take_profile()
            if profile is not None:
                self.profile = profile
                self.profiled.emit(profile)
        for event in engine.take_events():
            match event:
                case UpdateRecord():
                    self.updated.emit(event)
                case Saved():
                    self.saved.emit(event)
                case Frozen():
                    self.frozen.emit(event)
                case StateCopy():
                    self.copied.emit(event)
                case Offered():
                    self.offered.emit(event)
                case Diagnostic():
                    self.failed.emit(event)

    def _is_live(self, sample: Sample) -> bool:
        """Record something that is shown; return False while the past is shown in its place."""
        if sample.sampling.rate is None:
            return True  # it is for a file
        self.tape.put(sample, time.monotonic())
        return self.moment is None

    def _note(self, report: FrameReport) -> None:
        self.last_report = report
        self._set_preparing(report.preparing)
        if report.failed:
            self.has_stopped = True
            self.stopped.emit(report)

    def _set_preparing(self, is_preparing: bool) -> None:
        if is_preparing != self.is_preparing:
            self.is_preparing = is_preparing
            self.preparing.emit(is_preparing)

    def _paced(self) -> dict[str, Sampling]:
        """Return the samples to request, with rates for all pictures.

        While the window is minimised, these are the pictures of viewers that fill a display, which has its own rate.
        """
        pictures = {name for name, each in self._samplings.items() if each.reduction is Reduction.PICTURE}
        if not self._active:
            return {name: self._samplings[name] for name in pictures if self._samplings[name].rate is not None}
        # One viewer in the front window gets the display's rate, several get less.
        in_front = QGuiApplication.applicationState() is Qt.ApplicationState.ApplicationActive
        pace = self._rate if in_front and len(pictures) == 1 else min(SHARED_RATE, self._rate)
        return {
            name: replace(each, rate=pace) if name in pictures and each.rate is None else each
            for name, each in self._samplings.items()
        }

    def _post_samplings(self) -> None:
        self._has_posted = True
        wanted = self._paced()
        if self._engine is not None and (wanted or self._takes_samples):
            self._engine.post(ObservePorts(wanted))
            self._takes_samples = bool(wanted)

    def _ask_profiles(self) -> None:
        asks = self._engine is not None and self._active and bool(self._profile_watchers)
        if self._engine is not None and asks != self._asks_profiles:
            self._asks_profiles = asks
            if asks:
                self._engine.take_profile()  # a profile may be left over from an earlier watcher
            self._engine.post(ObserveProfile(asks))
        if not self._profile_watchers:
            self.profile = None  # it would be outdated for the next watcher

    def _on_application_state(self, state: Qt.ApplicationState) -> None:
        self._has_posted = False

    def _update_timer(self) -> None:
        is_needed = self._engine is not None and (self._active or bool(self._paced()))
        if is_needed and not self._timer.isActive():
            self._timer.start()
        elif not is_needed:
            self._timer.stop()
