from warploom.api import Moment, Value, ValueBlock, value_port


class Time(ValueBlock, id="value.time", tags=("clock", "frame", "seconds", "now")):
    """Outputs the time and the frame number.

    Time stops while the engine is paused, and starts again from 0 after a reset. In a headless run, every frame has the
    same time step on every machine.
    """

    seconds: Value[float] = value_port(unit="s", doc="Time since the first frame.")
    frame: Value[int] = value_port(doc="Frame number, counted from 0.")
    time_step: Value[float] = value_port(unit="s", doc="Time since the previous frame.")

    def update(self, now: Moment) -> None:
        """Output the moment's time, frame number and time step."""
        self.seconds, self.frame, self.time_step = now.time_s, now.frame, now.time_step_s
