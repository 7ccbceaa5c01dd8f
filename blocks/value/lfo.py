import math

from engine.api import Moment, Value, ValueBlock, param, value_port


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
    tags=("oscillator", "wave", "sine", "animate", "modulate"),
):
    """Swing around `offset`, `frequency` times a second: a low-frequency oscillator.

    sine and triangle begin at `offset` and rise; saw rises from offset - amplitude to offset + amplitude and jumps
    back; square is above for the first half. A new `frequency` takes effect from the present position, so the value
    does not jump; `phase` shifts the wave by a part of a turn.
    """

    value: Value[float] = value_port(doc="offset + amplitude * wave, the wave being between -1 and 1.")
    shape: str = param("sine", choices=tuple(_WAVES), doc="Form of the wave.")
    frequency: float = param(0.25, min=-50, max=50, unit="Hz", doc="Turns a second; negative ones run backwards.")
    phase: float = param(0.0, min=-1, max=1, unit="turns", doc="Where in its turn the wave begins.")
    amplitude: float = param(1.0, min=-1e9, max=1e9, doc="How far it swings to either side.")
    offset: float = param(0.0, min=-1e9, max=1e9, doc="The middle of the swing.")

    turns: float = 0.0

    def start(self) -> None:
        """Begin a first turn."""
        self.turns = 0.0

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Swing over the whole range."""
        return {"amplitude": (high - low) / 2, "offset": (low + high) / 2}

    def update(self, now: Moment) -> None:
        """Move on in the turn by what has passed since the frame before."""
        self.turns = (self.turns + self.frequency * self.elapsed_s(now)) % 1.0
        self.value = self.offset + self.amplitude * _WAVES[self.shape]((self.turns + self.phase) % 1.0)
