import math

from warploom.api import Moment, Value, ValueBlock, param, value_port


class Slider(ValueBlock, id="value.slider", tags=("number", "constant", "knob", "fader", "control")):
    """Outputs the number set by its slider, for any number of parameters.

    The slider goes from `low` to `high`; with `step`, it snaps to low + n step.
    """

    handle = "setting"

    value: Value[float] = value_port(doc="The set number.")
    setting: float = param(0.5, min=0, max=1, doc="Position of the slider: 0 is low, 1 is high.")
    low: float = param(0.0, min=-1e9, max=1e9, doc="The number at the lower end.")
    high: float = param(1.0, min=-1e9, max=1e9, doc="The number at the upper end.")
    step: float = param(0.0, min=0, max=1e6, doc="Distance between the numbers that can be set; 0 allows all.")

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Return parameters that go from low to high and start at the value."""
        return {"low": low, "high": high, "setting": (value - low) / (high - low) if high > low else 0.0}

    def update(self, now: Moment) -> None:
        """Map the setting to the range."""
        low, high, step, setting = self.low, self.high, self.step, self.setting
        value = low * (1.0 - setting) + high * setting
        if step > 0:
            steps = (value - low) / step
            if math.isfinite(steps):  # a step so small that this overflows has no effect
                value = low + round(steps) * step
        self.value = min(max(value, min(low, high)), max(low, high))
