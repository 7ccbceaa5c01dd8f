import math

from warploom.api import Moment, Value, ValueBlock, param, value_port


def _sine(turn: float) -> float:
    return math.sin(2 * math.pi * turn)


def _triangle(turn: float) -> float:
    return 1.0 - 4.0 * abs((turn + 0.25) % 1.0 - 0.5)


def _saw(turn: float) -> float:
    return 2.0 * turn - 1.0


def _square(turn: float) -> float:
    return 1.0 if turn < 0.5 else -1.0


_WAVES = {"sine": _sine, "triangle": _triangle, "saw": _saw, "square": _square}


class Lfo(
    ValueBlock,
    id="value.lfo",
    title="LFO",
    tags=("oscillator", "wave", "sine", "animate", "modulate", "wobble", "wiggle"),
):
    """Outputs a wave around `offset`, `frequency` times a second: a low-frequency oscillator.

    sine and triangle start at `offset` and rise. saw rises from offset - amplitude to offset + amplitude and jumps
    back. square is offset + amplitude in the first half of a period, and offset - amplitude in the second. After a
    change of `frequency`, the wave continues from its position, so the value does not jump. `phase` shifts the wave by
    a part of its period.
    """

    value: Value[float] = value_port(doc="offset + amplitude * wave, where the wave goes from -1 to 1.")
    shape: str = param("sine", choices=tuple(_WAVES), doc="Shape of the wave.")
    frequency: float = param(
        0.25, min=-50, max=50, unit="Hz", doc="Periods per second; a negative frequency runs backwards."
    )
    phase: float = param(0.0, min=-1, max=1, unit="turns", doc="Position in the period at which the wave starts.")
    amplitude: float = param(1.0, min=-1e9, max=1e9, doc="Largest distance from the offset.")
    offset: float = param(0.0, min=-1e9, max=1e9, doc="Centre of the wave.")

    turns: float = 0.0

    def start(self) -> None:
        """Start the first period."""
        self.turns = 0.0

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Return parameters that swing over the range, or around the value over a fifth of a wide range."""
        is_wide = high - low > 10 * max(abs(value), 1.0)
        amplitude = (high - low) / (10 if is_wide else 2)
        return {"amplitude": amplitude, "offset": min(max(value, low + amplitude), high - amplitude)}

    def update(self, now: Moment) -> None:
        """Advance in the period by the time since the previous frame."""
        self.turns = (self.turns + self.frequency * self.elapsed_s(now)) % 1.0
        self.value = self.offset + self.amplitude * _WAVES[self.shape]((self.turns + self.phase) % 1.0)
