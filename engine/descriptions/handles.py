"""Handles that `describe` gets for buffers and live parameters, whose contents and values are not known yet."""

from dataclasses import dataclass
from typing import Any

import msgspec

from warploom.engine.descriptions.checks import whole
from warploom.engine.descriptions.shapes.extents import Extent

#: A limit that no buffer's number of axes reaches.
MOST_AXES = 64


class BufferHandle(msgspec.Struct, frozen=True):
    """A buffer in `describe`: a name, and extents whose values are known once shapes are."""

    name: str

    @property
    def size(self) -> Extent:
        """The number of elements."""
        return Extent(f"{self.name}.size")

    def dim(self, axis: int) -> Extent:
        """Return the size of one dimension."""
        return Extent(f"{self.name}.dim{whole(self.name, 'axis', axis, 0, MOST_AXES)}")

    def stride(self, axis: int) -> Extent:
        """Return the distance between neighbours along one dimension, in elements."""
        return Extent(f"{self.name}.stride{whole(self.name, 'axis', axis, 0, MOST_AXES)}")

    def last(self, axis: int) -> Extent:
        """Return the size of a dimension, numbered from the last one backwards; 1 if it is missing."""
        return Extent(f"{self.name}.last{whole(self.name, 'axis', axis, 0, MOST_AXES)}")

    def last_stride(self, axis: int) -> Extent:
        """Return the distance between neighbours along such a dimension, in elements; 0 if it is missing."""
        return Extent(f"{self.name}.laststride{whole(self.name, 'axis', axis, 0, MOST_AXES)}")


@dataclass(frozen=True, eq=False)
class ParameterHandle:
    """A live parameter in `describe`: it can be passed to a kernel, but its value is not known yet."""

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


@dataclass(frozen=True, eq=False, repr=False)
class VectorHandle(ParameterHandle):
    """A live vector in `describe`; `components` are the parameters that it consists of, and `dtype` names its type."""

    components: tuple[str, ...]
    dtype: str
