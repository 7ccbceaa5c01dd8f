from engine.api import Moment, Value, ValueBlock, value_port


class Time(ValueBlock, id="value.time", tags=("clock", "frame", "seconds", "now")):
    """Output the time and the number of the frame.

    Time stands still while the engine is paused, and starts again from 0 when it is reset. In a headless run every
    frame takes the same time step, whatever the machine.
    """

    seconds: Value[float] = value_port(unit="s", doc="Time since the first frame.")
    frame: Value[int] = value_port(doc="Number of the frame, from 0 on.")
    time_step: Value[float] = value_port(unit="s", doc="Time since the frame before.")

    def update(self, now: Moment) -> None:
        """Pass the moment on."""
        self.seconds, self.frame, self.time_step = now.time_s, now.frame, now.time_step_s
