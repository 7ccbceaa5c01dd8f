"""The state of an engine between two frames, which another engine of the same patch can go on with; its file."""

import io
import json
from pathlib import Path
from zipfile import BadZipFile

import msgspec
import numpy as np

from warploom.engine.decoding import convert
from warploom.engine.diagnostics import PatchError
from warploom.engine.patch.files import write_atomically
from warploom.engine.types import Array

#: The version of the file's contents.
VERSION = 1


class EngineState(msgspec.Struct, frozen=True, tag=True):
    """Everything that frames leave for later ones: `frame` is the next one.

    `buffers` has the bytes of state by "node.port", and `layouts` their types and shapes, except in a file. `phase` and
    `is_launched` tell which of a delay's buffers is shown, and `values` has the attributes of value blocks, by node, as
    `engine.values.plain_data` writes them.
    """

    frame: int
    phase: int
    is_launched: bool
    buffers: dict[str, Array]
    values: dict[str, str]
    layouts: dict[str, str] = {}

    @property
    def size_bytes(self) -> int:
        """The bytes of all buffers."""
        return sum(contents.nbytes for contents in self.buffers.values())


def save_state(path: Path, state: EngineState, patch: str) -> None:
    """Write a state; `patch` is a digest of the patch. Raise PatchError if that is impossible."""
    facts = {name: getattr(state, name) for name in ("frame", "phase", "is_launched", "values")}
    text = json.dumps({"version": VERSION, "patch": patch, **facts, "buffers": list(state.buffers)})
    file = io.BytesIO()
    arrays = {f"buffer{index}": contents for index, contents in enumerate(state.buffers.values())}
    np.savez(file, facts=np.frombuffer(text.encode(), np.uint8), **arrays)  # type: ignore[arg-type]  # no option
    try:
        write_atomically(path, file.getvalue())
    except OSError as problem:
        raise PatchError(f"state must be writable: {path}: {problem.strerror or problem}") from problem


def load_state(path: Path, patch: str) -> EngineState:
    """Read a state of the patch with this digest. Raise PatchError for any other file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            facts = json.loads(file["facts"].tobytes())
            if facts.pop("version") != VERSION:
                raise PatchError(f"{path} must be a state of this version of Warploom, got another one; remove it")
            if facts.pop("patch") != patch:
                raise PatchError(
                    f"{path} must be a state of this patch as it is now, got that of another one; "
                    "remove it to begin at frame 0"
                )
            facts["buffers"] = {name: file[f"buffer{index}"] for index, name in enumerate(facts["buffers"])}
            return convert(facts, EngineState)
    except OSError as problem:
        raise PatchError(f"state must be readable: {path}: {problem.strerror or problem}") from problem
    except (BadZipFile, KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as problem:
        raise PatchError(f"{path} must be a state that `warploom run --state` has written, got other data") from problem
