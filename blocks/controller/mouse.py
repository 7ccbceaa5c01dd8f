from warploom.api import Moment, Value, ValueBlock, param, value_port


class Mouse(ValueBlock, id="value.mouse", tags=("pointer", "cursor", "button", "wheel")):
    """Outputs the mouse position over the canvas or a viewer, and which buttons are down.

    `x` goes from 0 at the left to 1 at the right, `y` from 0 at the top to 1 at the bottom. While the mouse is
    elsewhere, the position keeps its last value; the first value is the middle.
    """

    hears = ("mouse",)

    x: Value[float] = value_port(doc="Horizontal position, from left (0) to right (1).")
    y: Value[float] = value_port(doc="Vertical position, from top (0) to bottom (1).")
    left: Value[bool] = value_port(doc="True while the left button is down.")
    middle: Value[bool] = value_port(doc="True while the middle button is down.")
    right: Value[bool] = value_port(doc="True while the right button is down.")
    wheel: Value[float] = value_port(doc="Sum of the wheel's turns; a turn away from you adds.")
    wheel_step: float = param(0.1, min=-1000, max=1000, doc="Amount that one notch of the wheel adds.")

    counted: float | None = None

    def start(self) -> None:
        """Count the wheel from now on."""
        self.counted, self.wheel = None, 0.0

    def update(self, now: Moment) -> None:
        """Read the table of inputs."""
        read = self.controls.get
        self.x, self.y = read("mouse.x", 0.5), read("mouse.y", 0.5)
        self.left, self.right = read("mouse.left", 0.0) > 0, read("mouse.right", 0.0) > 0
        self.middle = read("mouse.middle", 0.0) > 0
        turned = read("mouse.wheel", 0.0)
        if self.counted is not None:
            self.wheel += (turned - self.counted) * self.wheel_step
        self.counted = turned
