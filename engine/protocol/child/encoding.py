"""How messages, questions and answers become bytes: msgpack, with one extension for each type that it lacks.

Extensions contain their type, so a parameter's value of any type is decoded to an equal value.
"""

import os
from ast import literal_eval
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np

from warploom.engine.blocktypes.parameters import UserArray
from warploom.engine.catalogue.admission import TriedFile
from warploom.engine.decoding import decoder_of
from warploom.engine.diagnostics import Diagnostic, WarploomError
from warploom.engine.logs import Logged
from warploom.engine.patch.changes import ParameterChanged
from warploom.engine.platforms.paths import path_of
from warploom.engine.profiling.profile import Profile
from warploom.engine.protocol.child.report_changes import ReportChange
from warploom.engine.protocol.child.shared_pictures import PlacedArray, SharedPictures
from warploom.engine.protocol.elsewhere.messages import CodedPicture, Content, Files, Got, Lacks, Packed, Part, Written
from warploom.engine.protocol.messages import Frozen, Message, Offered, Saved, StateCopy, UpdateRecord
from warploom.engine.protocol.questions import AnyQuestion
from warploom.engine.protocol.sampling import Sample

PATH_CODE, _ARRAY, _DTYPE, _USER_ARRAY, _PLACED = range(5)  # codes of the extensions


# Frames of a pipe other than messages.


class Asked(msgspec.Struct, frozen=True, tag=True):
    """A question that waits for the `Answered` or the `Refused` of the same number."""

    number: int
    question: AnyQuestion


class Hello(msgspec.Struct, frozen=True, tag=True):
    """The first message of an engine's process: its versions, and a text for the place of its files."""

    warploom: str
    protocol: str
    place: str


class UseFiles(msgspec.Struct, frozen=True, tag=True):
    """The place of the patch's file, if there is one, and the folders whose block files the person trusts.

    The engine runs only the texts of `tried`; with None, it runs all.
    """

    patch: Path | None
    blocks: tuple[Path, ...] = ()
    tried: tuple[TriedFile, ...] | None = None


class SetLogLevel(msgspec.Struct, frozen=True, tag=True):
    """Log records of at least this level are wanted; a level of `logging`."""

    level: int


class Records(msgspec.Struct, frozen=True, tag=True):
    """Log records, oldest first, and the number of older ones that were dropped because the reader was slow."""

    records: tuple[Logged, ...]
    dropped: int


class Answered(msgspec.Struct, frozen=True, tag=True):
    """The answer to a question, encoded for itself: its type is the question's."""

    number: int
    answer: msgspec.Raw


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Why a question has no answer; `kind` names the exception."""

    number: int
    kind: str
    message: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A request failed."""

    diagnostic: Diagnostic


class Alive(msgspec.Struct, frozen=True, tag=True):
    """Nothing is new, but the process still runs."""


ToEngine = Message | Asked | UseFiles | SetLogLevel | Alive | Files | Content | Got | Packed | Part
FromEngine = (
    Hello
    | ReportChange
    | Profile
    | Sample
    | Saved
    | UpdateRecord
    | Offered
    | Frozen
    | StateCopy
    | Failed
    | Records
    | Answered
    | Refused
    | Alive
    | Lacks
    | CodedPicture
    | Written
    | Got
    | Packed
    | Part
)


class ElsewhereArray:
    """Stands for the user's memory in another process; an attempt to read the memory raises an error."""

    @property
    def __array_interface__(self) -> NoReturn:
        """Raise TypeError, since the memory is in another process."""
        raise TypeError("one in another process than the engine; use io.array for a copy of it")


def encode(message: object) -> bytes:
    """Return a message, a question or an answer as bytes. Raise WarploomError if a value in it can't be encoded."""
    try:
        return _encoder.encode(message)
    except (TypeError, OverflowError, NotImplementedError) as problem:
        where = f"{message.parameter} of {message.node}" if isinstance(message, ParameterChanged) else "message"
        raise WarploomError(f"{where} must be encodable for an engine in another process, got {problem}") from problem


def make_decoder(expected: Any, pictures: SharedPictures | None = None) -> msgspec.msgpack.Decoder[Any]:
    """Return a decoder of one type, such as `ToEngine`; it raises msgspec.DecodeError for anything else.

    Placed arrays are in the memory of `pictures`.
    """
    return decoder_of(expected, ext_hook=partial(_decode_extension, pictures), dec_hook=_check)


def _encode_extension(value: object) -> msgspec.msgpack.Ext:
    match value:
        case Path():
            return msgspec.msgpack.Ext(PATH_CODE, os.fsencode(value))
        case PlacedArray():
            number, at = value.place
            where = number.to_bytes(4, "big") + at.to_bytes(8, "big")
            return msgspec.msgpack.Ext(_PLACED, where + _layout_text(value.dtype, value.shape))
        case np.ndarray():
            header = _layout_text(value.dtype, value.shape)
            elements = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            return msgspec.msgpack.Ext(_ARRAY, b"".join((len(header).to_bytes(4, "big"), header, elements.data)))
        case np.dtype():
            return msgspec.msgpack.Ext(_DTYPE, repr(np.lib.format.dtype_to_descr(value)).encode())
        case UserArray():
            return msgspec.msgpack.Ext(_USER_ARRAY, b"" if value.array is None else b"elsewhere")
    raise NotImplementedError(type(value).__name__)


def _decode_extension(pictures: SharedPictures | None, code: int, data: memoryview) -> object:
    if code == PATH_CODE:
        return path_of(os.fsdecode(bytes(data)))
    if code == _ARRAY:
        start = 4 + int.from_bytes(data[:4], "big")
        dtype, shape = _read_layout(bytes(data[4:start]))
        # A copy: in the message the elements lie at any address, and can't be written.
        return np.frombuffer(data[start:], dtype).reshape(shape).copy()
    if code == _PLACED and pictures is not None:
        place = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:12], "big")
        return pictures.take(place, *_read_layout(bytes(data[12:])))
    if code == _DTYPE:
        return np.lib.format.descr_to_dtype(literal_eval(bytes(data).decode()))
    if code == _USER_ARRAY:
        return UserArray(ElsewhereArray() if data else None)
    raise ValueError(f"extension must be a known one, got {code}")


def _layout_text(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    return repr((np.lib.format.dtype_to_descr(dtype), shape)).encode()


@lru_cache(64)
def _read_layout(text: bytes) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the element type and shape in a text of `_layout_text`; the pictures of a viewer have the same one."""
    descr, shape = literal_eval(text.decode())
    return np.lib.format.descr_to_dtype(descr), shape


def _check(expected: type, value: object) -> object:
    """Return the value of an extension for a field of its type; msgspec refuses another type."""
    return value


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_extension)
