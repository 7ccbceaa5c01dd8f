"""Handles: what `describe` gets for buffers and live parameters, whose contents and values come later."""

from dataclasses import dataclass
from typing import Any

from engine.descriptions.checks import whole
from engine.descriptions.extents import Extent

#: More axes than any buffer has.
MOST_AXES = 64


@dataclass(frozen=True)
class BufferHandle:
    """A buffer as `describe` sees it: a name, and extents that are known once shapes are."""

    name: str

    @property
    def size(self) -> Extent:
        """Number of elements."""
        return Extent(f"{self.name}.size")

    def dim(self, axis: int) -> Extent:
        """Size of one dimension."""
        return Extent(f"{self.name}.dim{whole(self.name, 'axis', axis, 0, MOST_AXES)}")

    def stride(self, axis: int) -> Extent:
        """Distance between neighbours along one dimension, in elements."""
        return Extent(f"{self.name}.stride{whole(self.name, 'axis', axis, 0, MOST_AXES)}")

    def last(self, axis: int) -> Extent:
        """Size of a dimension that is counted from the last one backwards; 1 when there is none."""
        return Extent(f"{self.name}.last{whole(self.name, 'axis', axis, 0, MOST_AXES)}")

    def last_stride(self, axis: int) -> Extent:
        """Distance between neighbours along such a dimension, in elements; 0 when there is none."""
        return Extent(f"{self.name}.laststride{whole(self.name, 'axis', axis, 0, MOST_AXES)}")


@dataclass(frozen=True, eq=False)
class ParameterHandle:
    """A live parameter as `describe` sees it: it can be passed to a kernel, but its value is not known yet."""

    name: str

    def __repr__(self) -> str:
        return f"the live parameter {self.name} (declare it with structural=True to compute with its value)"

    def _refuse(self, *_: object) -> Any:
        raise TypeError(
            f"parameter {self.name} is live and must only be passed to a kernel; declare it with structural=True to "
            "compute with its value in describe"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = _refuse
    __bool__ = __int__ = __float__ = __index__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse
    __hash__ = object.__hash__
