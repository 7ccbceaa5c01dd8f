"""`SharedContents`: how other libraries read a tensor's contents in place."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from warploom.engine.device.lending import LentArray
from warploom.engine.tensor_ir.types import TensorType
from warploom.engine.tensor_runtime.lazy.devices import lazy_device
from warploom.engine.tensor_runtime.tensors import Storage
from warploom.engine.types import Array, bf16


class SharedContents:
    """The array interfaces of numpy and CUDA, and DLPack's, of a tensor. Using one computes the tensor."""

    __slots__ = ("_exported", "_is_changed")

    type: TensorType
    #: Whether contents were replaced: arrays that share the earlier ones through an interface would lose their memory.
    _is_changed: bool
    _exported: LentArray

    @property
    def device(self) -> str:
        """The name of the device that has the contents."""
        raise NotImplementedError

    def _computed(self) -> Storage:
        """Compute the tensor, and return where its contents are."""
        raise NotImplementedError

    def _lent(self) -> LentArray:
        """Return the computed contents for other libraries, which must not change them."""
        storage, where = self._computed(), lazy_device(self.device)
        memory, shared = storage.buffer.memory, where.tensors
        with where.lock:
            return LentArray(
                shared.device,
                memory,
                self.type.dtype.numpy,
                self.type.shape,
                shared.stream,
                read_only=True,
                is_bf16=self.type.dtype == bf16,
                keep=storage,
            )

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self.device != "host":
            raise AttributeError(f"tensor on {self.device} can't be used by the processor")
        self._require_unchanged()
        self._exported = self._lent()
        return self._exported.host_interface()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self._lent().array(dtype, copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device == "host":
            raise AttributeError("tensor on the host has no memory on a GPU")
        self._require_unchanged()
        self._exported = self._lent()
        return self._exported.cuda_interface()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._lent().dlpack_device()

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        return self._lent().dlpack(stream, max_version, dl_device, copy)

    def _require_unchanged(self) -> None:
        """Raise AttributeError if arrays that share earlier contents may exist: they would lose their memory."""
        if self._is_changed:
            raise AttributeError("tensor that was changed in place shares its contents by DLPack or __array__")
