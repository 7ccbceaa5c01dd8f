from engine.api import Moment, Value, ValueBlock, param, value_port

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h")


class Switch(ValueBlock, id="value.switch", tags=("select", "choose", "pick", "index")):
    """Output one of the numbers `a` to `h`: `index` says which, 0 being `a`.

    An index beyond `inputs_used` begins at `a` again, or with `wrap` off stays at the last one.
    """

    value: Value[float] = value_port(doc="The number that was picked.")
    index: int = param(0, min=-(2**31), max=2**31 - 1, doc="Which number: 0 is a, 1 is b, and so on.")
    inputs_used: int = param(2, min=1, max=8, doc="How many of the numbers take part.")
    wrap: bool = param(True, doc="Count on from a beyond the last one; otherwise stay at it.")
    a: float = param(0.0, min=-1e9, max=1e9, doc="Picked by index 0.")
    b: float = param(1.0, min=-1e9, max=1e9, doc="Picked by index 1.")
    c: float = param(0.0, min=-1e9, max=1e9, doc="Picked by index 2.")
    d: float = param(0.0, min=-1e9, max=1e9, doc="Picked by index 3.")
    e: float = param(0.0, min=-1e9, max=1e9, doc="Picked by index 4.")
    f: float = param(0.0, min=-1e9, max=1e9, doc="Picked by index 5.")
    g: float = param(0.0, min=-1e9, max=1e9, doc="Picked by index 6.")
    h: float = param(0.0, min=-1e9, max=1e9, doc="Picked by index 7.")

    def update(self, now: Moment) -> None:
        """Pick."""
        index, used = self.index, self.inputs_used
        index = index % used if self.wrap else min(max(index, 0), used - 1)
        self.value = self.values[NAMES[index]]
