from collections.abc import Mapping

from warploom.api import (
    GAMEPAD_AXES,
    GAMEPAD_BUTTONS,
    Moment,
    Value,
    ValueBlock,
    gamepad_name,
    gamepads,
    param,
    value_port,
)


class Gamepad(ValueBlock, id="value.gamepad", tags=("controller", "joystick", "xbox", "stick", "button")):
    """Outputs a stick, a trigger or a button of a gamepad.

    Sticks go from -1 to 1, with y upwards, and rest at 0; triggers go from 0 to 1. A button is 1 while it is down.
    Buttons have the names of an Xbox pad on all pads. The pad can be plugged in later. The library pygame-ce must be
    installed.
    """

    value: Value[float] = value_port(doc="The place of the stick or trigger; 1 while the button is down, else 0.")
    presses: Value[int] = value_port(doc="Number of times the button was pressed.")
    control: str = param(
        "left stick x", choices=(*GAMEPAD_AXES, *GAMEPAD_BUTTONS), doc="The stick, trigger or button to read."
    )
    dead_zone: float = param(0.1, min=0, max=0.9, doc="How far from its rest a stick or trigger counts as 0.")
    device: str = param("", offers=True, doc="Part of the pad's name; empty takes the first one.")

    @classmethod
    def offered(cls, parameter: str) -> Mapping[str, str]:
        """Return the pads that are connected."""
        return {name: name for name in gamepads()}

    def source(self) -> str:
        """Return the name of the pad to listen to."""
        return f"gamepad:{self.device.strip()}"

    def check(self) -> None:
        """Compute the names of the inputs once."""
        self.name = gamepad_name(self.control, self.source())

    def update(self, now: Moment) -> None:
        """Read the table of inputs."""
        value = self.controls.get(self.name, 0.0)
        if self.control in GAMEPAD_AXES:
            beyond = max(abs(value) - self.dead_zone, 0.0) / (1 - self.dead_zone)
            value = beyond if value > 0 else -beyond
        self.value = value
        self.presses = round(self.controls.get(f"{self.name}#", 0.0))
