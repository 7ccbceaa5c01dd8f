"""`Contents`: the initial contents of one block's outputs and states."""

from typing import Any

import numpy as np

from warploom.engine.descriptions import checks
from warploom.engine.descriptions.ports import PortSpec
from warploom.engine.device.external import ExternalArray, describe_external
from warploom.engine.types import DType
from warploom.engine.types.arrays import is_masked


class Contents:
    """Collects arrays by port or internal buffer: uploaded contents, initial states, and the user's own memory."""

    def __init__(self, type_id: str) -> None:
        self._id = type_id
        self.provided: dict[str, np.ndarray[Any, Any]] = {}
        self.initials: dict[str, np.ndarray[Any, Any]] = {}
        self.adopted: dict[str, ExternalArray] = {}

    @property
    def is_any(self) -> bool:
        """True once an array was given."""
        return bool(self.provided or self.initials or self.adopted)

    def provide(self, port: PortSpec, array: np.ndarray[Any, Any]) -> None:
        """Set the contents of an output; for a state, these are the initial contents."""
        contents = np.asarray(array, order="C")
        if contents.dtype.hasobject or not contents.size:
            raise checks.refuse(self._id, "contents", "be an array of numbers, not empty", array)
        if is_masked(array):
            raise checks.refuse(self._id, "contents", "have no masked elements", array)
        if port.state:
            self.begin(port.name, port.dtype, contents)
        else:
            self.provided[port.name] = contents

    def begin(self, name: str, dtype: DType, initial: object) -> None:
        """Set the initial contents of a state."""
        if not isinstance(initial, np.ndarray) or initial.dtype != dtype.numpy:
            raise checks.refuse(self._id, f"initial contents of {name}", f"be an array of {dtype}", initial)
        if is_masked(initial):
            raise checks.refuse(self._id, f"initial contents of {name}", "have no masked elements", initial)
        self.initials[name] = np.array(initial, order="C")

    def adopt(self, name: str, array: object) -> None:
        """Let an output be the user's own memory. Raise DeviceError when the memory can't be used."""
        self.adopted[name] = array if isinstance(array, ExternalArray) else describe_external(array)
