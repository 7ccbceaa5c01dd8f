"""The feed of the flight recorder: the engine's records, for a visible widget."""

import time
from contextlib import suppress
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from warploom.app.qt.beside import Run, at_once
from warploom.app.view_models.profile.flight import Flight
from warploom.engine.diagnostics import WarploomError
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.flight_record import FlightRecord

_PERIOD_MS = 100


class FlightFeed(QObject):
    """Requests the flight record from an engine ten times a second, on another thread, from `start` to `stop`."""

    #: A `Flight` that differs from the last one.
    arrived = Signal(Flight)
    #: A record has the times of nodes that were requested.
    timed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.beside: Run = at_once
        #: While this is True, no records are requested, and arriving ones are ignored.
        self.is_held = False
        self._engine: Client | None = None
        self._is_asking = False
        self._mark: object = None
        self._timer = QTimer(self, interval=_PERIOD_MS)
        self._timer.timeout.connect(self.ask)

    def set_engine(self, engine: Client | None) -> None:
        """Request records from another engine."""
        self._engine, self._is_asking, self._mark = engine, False, None
        self.ask()

    def start(self) -> None:
        """Start requesting records."""
        self._timer.start()
        self.ask()

    def stop(self) -> None:
        """Stop requesting records."""
        self._timer.stop()

    def ask(self) -> None:
        """Request the record, unless a request is pending."""
        engine = self._engine
        if engine is None or self._is_asking or self.is_held or not self._timer.isActive():
            return
        self._is_asking = True

        def then(record: FlightRecord | None) -> None:
            if engine is self._engine:
                self._is_asking = False
                if record is not None and not self.is_held:
                    self._take(Flight(record, time.time()))

        work = partial(_record, engine, with_times=False)
        self.beside("Reading the flight recorder …", work, then, partial(then, None))

    def ask_times(self, flight: Flight) -> None:
        """Request the times of nodes for a record that arrived."""

        def then(record: FlightRecord | None) -> None:
            if record is not None:
                flight.take_times(record)
                self.timed.emit()

        if self._engine is not None:
            work = partial(_record, self._engine, with_times=True)
            self.beside("Reading the times of blocks …", work, then, lambda: None)

    def _take(self, flight: Flight) -> None:
        if flight.mark != self._mark:
            self._mark = flight.mark
            self.arrived.emit(flight)


def _record(engine: Client, *, with_times: bool) -> FlightRecord | None:
    with suppress(WarploomError):  # the engine was closed or has ended; its last report has the reason
        return engine.flight_record(with_times=with_times)
    return None
