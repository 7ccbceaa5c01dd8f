"""`Variables`: the buffers of a network's variables on a device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from warploom.engine.descriptions.checks import shown
from warploom.engine.tensor_ir.errors import ExecutionFailed, InvalidOperation, ShapeMismatch
from warploom.engine.tensor_ir.networks.functions import NetworkVariable, Role
from warploom.engine.tensor_runtime.tensors import TensorBuffer, Tensors
from warploom.engine.types import Array, bf16, from_bf16, s32, to_bf16


class Variables:
    """A buffer for each variable, created at first use.

    Batched buffers have room for the largest batch so far, and hold the current batch.
    """

    def __init__(self, tensors: Tensors, variables: Mapping[str, NetworkVariable]) -> None:
        self._tensors = tensors
        self._variables = dict(variables)
        self._buffers: dict[str, TensorBuffer] = {}
        self._views: dict[str, TensorBuffer] = {}
        #: Inputs that were set for the current batch.
        self._given: set[str] = set()
        #: The number of examples in the current batch, and in the largest so far.
        self.batch = self.largest = 0

    def set_inputs(self, inputs: Mapping[str, npt.ArrayLike]) -> None:
        """Set inputs, and with them the number of examples. If one is wrong, nothing changes.

        Buffers are replaced only for a batch that is larger than all before.
        """
        batch, checked = self.checked(inputs)
        self.resize(batch)
        for name, array in checked.items():
            if name not in self._buffers:
                self._buffers[name] = self._tensors.buffer(self.variable(name).leaf.type, self.largest)
            self._given.add(name)
            self._put(self.buffer(name), array)

    def checked(self, inputs: Mapping[str, npt.ArrayLike]) -> tuple[int, dict[str, Array]]:
        """Return the number of examples, by default that of the current batch, and the inputs as arrays.

        Raise InvalidOperation or ShapeMismatch if an input is wrong.
        """
        if not isinstance(inputs, Mapping):
            raise InvalidOperation(f"inputs must be arrays by their names, got {shown(inputs)}")
        there = [name for name, variable in self._variables.items() if variable.role is Role.INPUT]
        for name in inputs:
            if name not in there:
                raise InvalidOperation(f"input must be one of {', '.join(there)}, got {name!r}")
        arrays = {name: as_numbers(name, value) for name, value in inputs.items()}
        batched = [name for name in arrays if self.variable(name).leaf.type.batched]
        sizes = {name: len(arrays[name]) if arrays[name].ndim else 0 for name in batched}
        if len(set(sizes.values())) > 1:
            found = ", ".join(f"{size} of {name!r}" for name, size in sizes.items())
            raise ShapeMismatch(f"inputs must have equally many examples, got {found}")
        batch = next(iter(sizes.values()), self.batch)
        if sizes and batch < 1:
            raise ShapeMismatch(f"batch must have 1 example or more, got {batch}")
        return batch, {name: self._checked(name, array, batch) for name, array in arrays.items()}

    def resize(self, batch: int) -> None:
        """Set the number of examples; the inputs for it must then be set."""
        if batch == self.batch:
            return
        if batch < 1:
            raise ShapeMismatch(f"batch must have 1 example or more, got {batch}")
        self.batch = batch
        self._given = {name for name in self._given if not self.variable(name).leaf.type.batched}
        for name in [name for name, view in self._views.items() if view.type.batched]:
            del self._views[name]
        if batch > self.largest:
            self.largest = batch
            self._tensors.synchronize()
            for name in [name for name, buffer in self._buffers.items() if buffer.type.batched]:
                self._buffers.pop(name).free()

    def buffer(self, name: str) -> TensorBuffer:
        """Return the buffer of a variable, with the number of examples in the current batch.

        Raise ExecutionFailed for an input that wasn't set for this batch.
        """
        if self.variable(name).role is Role.INPUT and name not in self._given:
            batch = f" for a batch of {self.batch}" if self.batch else ""
            raise ExecutionFailed(f"input {name!r} must be given{batch}, got none")
        view = self._views.get(name)
        if view is None:
            buffer = self._buffers.get(name) or self._made(name)
            type_ = buffer.type
            shape = (self.batch, *type_.stored_shape) if type_.batched else buffer.shape
            view = self._views[name] = TensorBuffer(self._tensors, type_, shape, buffer.memory, is_adopted=True)
        return view

    def _made(self, name: str) -> TensorBuffer:
        variable = self.variable(name)
        type_ = variable.leaf.type
        if type_.batched and not self.batch:
            raise ExecutionFailed(f"inputs must be given before {name!r} is used")
        made = self._buffers[name] = self._tensors.buffer(type_, self.largest)
        first = variable.first()
        if first is not None and first.any():
            leading = (self.largest,) if type_.batched else ()
            self._put(made, np.broadcast_to(first, (*leading, *type_.shape)))
        return made

    def write(self, name: str, value: npt.ArrayLike) -> None:
        """Set the contents of a variable that is not an input; a single number sets all elements.

        Raise ShapeMismatch for another shape.
        """
        array = self._checked(name, as_numbers(name, value), self.batch)
        self._put(self.buffer(name), array)

    def read(self, name: str) -> Array:
        """Return a copy of a variable in its shape, after a batch axis if it is batched; bf16 as f32."""
        found = self.buffer(name).read()
        return from_bf16(found) if self.variable(name).leaf.type.stored_dtype == bf16 else found

    def replace(self, variables: Mapping[str, NetworkVariable], changed: Iterable[str]) -> None:
        """Replace the variables; new or changed ones are created when they are used."""
        self._variables.update(variables)
        self._tensors.synchronize()
        for name in changed:
            self._views.pop(name, None)
            if name in self._buffers:
                self._buffers.pop(name).free()

    def variable(self, name: str) -> NetworkVariable:
        """Return a variable. Raise InvalidOperation when the name is unknown."""
        if not isinstance(name, str) or name not in self._variables:
            raise InvalidOperation(f"variable must be one of {', '.join(self._variables)}, got {shown(name)}")
        return self._variables[name]

    def close(self) -> None:
        """Free all buffers."""
        self._views.clear()
        for buffer in self._buffers.values():
            buffer.free()
        self._buffers.clear()

    def _checked(self, name: str, array: Array, batch: int) -> Array:
        """Return an array of the variable's shape. Raise ShapeMismatch or InvalidOperation if it has another."""
        type_ = self.variable(name).leaf.type
        leading = (batch,) if type_.batched else ()
        shape = (*leading, *(type_.shape if type_.nnz is None else type_.stored_shape))
        if array.shape == () and type_.nnz is None:
            array = np.broadcast_to(array, shape)
        if array.shape not in (shape, (*leading, *type_.stored_shape)):
            raise ShapeMismatch(f"{name!r} must have the shape {list(shape)}, got {list(array.shape)}")
        if type_.nnz is not None:
            if array.dtype.kind not in "iu":
                raise InvalidOperation(f"rows of sparse {name!r} must be whole numbers, got {array.dtype}")
            if array.size and not (array.min() >= -1 and array.max() < type_.shape[0]):
                last, found = type_.shape[0] - 1, f"{array.min()} to {array.max()}"
                raise InvalidOperation(f"rows of sparse {name!r} must be from 0 to {last}, or -1, got {found}")
            return array.astype(s32.numpy, copy=False)
        return array.reshape(shape)

    def _put(self, buffer: TensorBuffer, array: Array) -> None:
        buffer.write(to_bf16(array.astype(np.float32)) if buffer.type.stored_dtype == bf16 else array)


def as_numbers(name: str, value: npt.ArrayLike) -> Array:
    """Return a value as an array of real numbers.

    For anything else, raise InvalidOperation with the variable's name.
    """
    array = np.asarray(value)
    if array.dtype.kind in "OSUMmc":
        raise InvalidOperation(f"{name!r} must have real numbers, got {array.dtype}")
    return array
