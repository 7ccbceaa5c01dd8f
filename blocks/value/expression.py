from warploom.api import Moment, Value, ValueBlock, param, value_port
from warploom.blocks.value.arithmetic import Arithmetic

NAMES = ("a", "b", "c", "d", "t", "dt", "frame")


class Expression(
    ValueBlock, id="value.expression", title="Value Expression", tags=("formula", "math", "calculate", "arithmetic")
):
    """Computes a number by a formula of inputs and the time.

    The formula can use the inputs `a`, `b`, `c` and `d`, the time `t` and the time step `dt` in seconds, the frame
    number `frame`, and the constants pi, tau and e. Write it as in Python: 0.5 + 0.5 * sin(tau * t), a if b > 0.5 else
    c, a ** 2 % 1. A comparison is 1 when it holds, else 0. Functions are sin, cos, tan, asin, acos, atan, atan2, sinh,
    cosh, tanh, exp, log, log2, log10, sqrt, hypot, pow, abs, sign, floor, ceil, round, fract, min, max, clamp(x, low,
    high), mix(a, b, part), step(edge, x), smoothstep(low, high, x), degrees and radians.
    """

    value: Value[float] = value_port(doc="Value of the formula.")
    text: str = param("a * sin(t)", doc="The formula.")
    a: float = param(1.0, min=-1e9, max=1e9, doc="Input a of the formula.")
    b: float = param(0.0, min=-1e9, max=1e9, doc="Input b of the formula.")
    c: float = param(0.0, min=-1e9, max=1e9, doc="Input c of the formula.")
    d: float = param(0.0, min=-1e9, max=1e9, doc="Input d of the formula.")

    arithmetic: Arithmetic | None = None
    derived = ("arithmetic",)

    def check(self) -> None:
        """Compile the formula once."""
        if self.arithmetic is None or self.arithmetic.text != self.text:
            self.arithmetic = None
            self.arithmetic = Arithmetic(self.text, NAMES)

    def update(self, now: Moment) -> None:
        """Compute the formula."""
        arithmetic, values = self.arithmetic, self.values
        assert arithmetic is not None  # `check` was called before
        names = arithmetic.names
        names["a"], names["b"], names["c"], names["d"] = values["a"], values["b"], values["c"], values["d"]
        names["t"], names["dt"], names["frame"] = now.time_s, now.time_step_s, float(now.frame)
        self.value = arithmetic.value()
