"""`Contents`: what outputs and states of one block hold before anything runs."""

from typing import Any

import numpy as np

from engine.descriptions import checks
from engine.descriptions.ports import PortSpec
from engine.device.external import ExternalArray, describe_external
from engine.types import DType


class Contents:
    """Collects arrays by the names of ports and internal buffers: what is uploaded, begun with, or the user's own."""

    def __init__(self, type_id: str) -> None:
        self._id = type_id
        self.provided: dict[str, np.ndarray[Any, Any]] = {}
        self.initials: dict[str, np.ndarray[Any, Any]] = {}
        self.adopted: dict[str, ExternalArray] = {}

    @property
    def is_any(self) -> bool:
        """True once there is an array."""
        return bool(self.provided or self.initials or self.adopted)

    def provide(self, port: PortSpec, array: np.ndarray[Any, Any]) -> None:
        """Give an output contents; those of a state are what it begins with."""
        contents = np.asarray(array, order="C")
        if contents.dtype.hasobject or not contents.size:
            raise checks.refuse(self._id, "contents", "be an array of numbers, not empty", array)
        if np.ma.is_masked(array):
            raise checks.refuse(self._id, "contents", "have no masked elements", array)
        if port.state:
            self.begin(port.name, port.dtype, contents)
        else:
            self.provided[port.name] = contents

    def begin(self, name: str, dtype: DType, initial: object) -> None:
        """Set the initial contents of a state."""
        if not isinstance(initial, np.ndarray) or initial.dtype != dtype.numpy:
            raise checks.refuse(self._id, f"initial contents of {name}", f"be an array of {dtype}", initial)
        if np.ma.is_masked(initial):
            raise checks.refuse(self._id, f"initial contents of {name}", "have no masked elements", initial)
        self.initials[name] = np.array(initial, order="C")

    def adopt(self, name: str, array: object) -> None:
        """Make an output the user's own memory; DeviceError when that can't be used."""
        self.adopted[name] = array if isinstance(array, ExternalArray) else describe_external(array)
