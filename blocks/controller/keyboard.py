from warploom.api import Moment, Value, ValueBlock, param, value_port


class Keyboard(ValueBlock, id="value.keyboard", tags=("key", "button", "toggle", "input", "press")):
    """Outputs whether a key is down or was just pressed, with a toggle and a count.

    A key's name is in lower case: a, 7, left, f5. Keys are noticed while the main window or a viewer's window is active
    and no text is being typed. The editor's shortcuts still work: space pauses.
    """

    hears = ("key",)

    down: Value[bool] = value_port(doc="True while the key is held.")
    pressed: Value[bool] = value_port(doc="True in the frame in which the key goes down.")
    toggle: Value[bool] = value_port(doc="Switches with every press; false at first.")
    presses: Value[int] = value_port(doc="Number of presses.")
    key: str = param("a", doc="Name of the key, in lower case.")

    name: str = ""
    count_name: str = ""
    counted: float | None = None

    def start(self) -> None:
        """Count presses from now on."""
        self.counted, self.presses, self.toggle = None, 0, False

    def check(self) -> None:
        """Compute the key's names once; earlier presses do not count."""
        key = self.key.strip().lower()
        name = f"key.{key}" if key else "no key"
        if name != self.name:
            self.name, self.count_name, self.counted = name, f"{name}#", None

    def update(self, now: Moment) -> None:
        """Compare the number of presses with that of the previous frame, so that no short tap is missed."""
        count = self.controls.get(self.count_name, 0.0)
        new = 0 if self.counted is None else round(count - self.counted)
        self.counted = count
        self.down = self.controls.get(self.name, 0.0) > 0
        self.pressed = new > 0
        self.presses += new
        self.toggle = self.presses % 2 == 1
