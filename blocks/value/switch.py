from warploom.api import Moment, Value, ValueBlock, param, value_port

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")


class Switch(ValueBlock, id="value.switch", tags=("select", "choose", "pick", "index")):
    """Outputs one of the numbers `a` to `h`, chosen by `index`: 0 is `a`.

    After the last of the `inputs_used` numbers, the index starts again at `a`, or stays at the last number if `wrap` is
    off.
    """

    value: Value[float] = value_port(doc="The chosen number.")
    index: int = param(0, min=-(2**31), max=2**31 - 1, doc="Index of the number: 0 is a, 1 is b, and so on.")
    inputs_used: int = param(2, min=1, max=8, doc="How many of the numbers are used.")
    wrap: bool = param(True, doc="Start again at a after the last number; otherwise stay at the last.")
    a: float = param(0.0, min=-1e9, max=1e9, doc="Output at index 0.")
    b: float = param(1.0, min=-1e9, max=1e9, doc="Output at index 1.")
    c: float = param(0.0, min=-1e9, max=1e9, doc="Output at index 2.")
    d: float = param(0.0, min=-1e9, max=1e9, doc="Output at index 3.")
    e: float = param(0.0, min=-1e9, max=1e9, doc="Output at index 4.")
    f: float = param(0.0, min=-1e9, max=1e9, doc="Output at index 5.")
    g: float = param(0.0, min=-1e9, max=1e9, doc="Output at index 6.")
    h: float = param(0.0, min=-1e9, max=1e9, doc="Output at index 7.")

    def update(self, now: Moment) -> None:
        """Output the chosen number."""
        index, used = self.index, self.inputs_used
        index = index % used if self.wrap else min(max(index, 0), used - 1)
        self.value = self.values[NAMES[index]]
