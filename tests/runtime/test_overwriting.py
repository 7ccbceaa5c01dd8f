"""A patch overwrites only files that it has written, unless the person allows it."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fuzzing import seeds
from warploom import Engine, Patch
from warploom.engine.diagnostics import Diagnostic, Mend, PatchError
from warploom.engine.patch.files import load_patch, save_patch
from warploom.engine.protocol.messages import Saved, SaveOutputs

NAMES = ["a.png", "b.npy", "new/c.png", "link.png"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a link to a file in it."""
    folder = tmp_path / "patch"
    (folder / "new").mkdir(parents=True)
    (folder / "link.png").symlink_to("real.png")
    return folder


def saving(path: Path, files: list[str], level: float = 1.0) -> Path:
    """Save a patch that saves images to some files."""
    patch = Patch()
    image = patch.add("io.image_array", data=np.full((2, 2, 4), level, np.float32))
    for name in files:
        patch.connect(image["out"], patch.add("io.save_image", node_id=f"save_{Path(name).stem}", file=name)["image"])
    save_patch(patch, path)
    return path


def asked(engine: Any) -> Iterator[Diagnostic | Saved]:
    engine.step()
    return (event for event in engine.take_events() if isinstance(event, (Saved, Diagnostic)))


@pytest.mark.parametrize("seed", seeds(2))
def test_only_what_a_patch_wrote_is_overwritten(place: Path, seed: int) -> None:
    """After random saves, edits by others, renames and restarts, a save replaces exactly a patch's own contents.

    Every other file keeps its contents until the person allows that very file to be overwritten.
    """
    chance = random.Random(seed)
    written: dict[tuple[str, str], bytes] = {}  # by patch and name, the contents that it wrote last
    for _ in range(4):
        patch = chance.choice(["p", "q"])
        path = saving(place / f"{patch}.loom", NAMES, chance.random())
        for name in chance.sample(NAMES, 2):
            match chance.randrange(4):
                case 0:
                    (place / name).write_bytes(chance.randbytes(5))
                case 1:
                    (place / name).resolve().unlink(missing_ok=True)
                case 2 if (place / "a.png").exists():
                    (place / name).write_bytes((place / "a.png").read_bytes())
                case _:
                    (place / name).exists() and (place / name).touch()
        before = {name: (place / name).read_bytes() for name in NAMES if (place / name).exists()}
        foreign = {name for name in before if before[name] != written.get((patch, name))}
        real = {str((place / name).resolve()): name for name in foreign}
        with Engine(load_patch(path), device="host") as engine:
            engine.step()
            assert {real[item.found] for item in engine.refused_outputs()} == foreign
            if chance.random() < 0.5:
                engine.post(SaveOutputs())
                refused = [event for event in asked(engine) if isinstance(event, Diagnostic)]
                assert {real[item.found] for item in refused} == foreign
                assert all(item.mend is Mend.OVERWRITE for item in refused)
            elif foreign:
                with pytest.raises(PatchError, match="must be new, or as this patch wrote it"):
                    engine.save_outputs()
            else:
                engine.save_outputs()
            for name in foreign:
                assert (place / name).read_bytes() == before[name]
            written |= {(patch, name): (place / name).read_bytes() for name in NAMES if name not in foreign}
            allowed = {each for each in real if chance.random() < 0.5}
            engine.post(SaveOutputs(overwrites=tuple(allowed)))
            kept = {f"save_{Path(real[each]).stem}" for each in real.keys() - allowed}
            assert {event.node for event in asked(engine) if isinstance(event, Diagnostic)} == kept
            for each in real:
                assert ((place / real[each]).read_bytes() != before[real[each]]) == (each in allowed)
            written |= {(patch, real[each]): (place / real[each]).read_bytes() for each in allowed}


def test_a_script_overwrites_and_the_editor_asks(place: Path) -> None:
    """A trusted patch overwrites by `save_outputs`, as does a named folder; a request of the editor is refused once."""
    path = saving(place / "p.loom", ["a.png"])
    for trusted in (True, False):
        (place / "a.png").write_bytes(b"theirs")
        with Engine(load_patch(path, trust=trusted), device="host") as engine:
            engine.step()
            engine.post(SaveOutputs())
            (refused,) = asked(engine)
            assert isinstance(refused, Diagnostic)
            assert (place / "a.png").read_bytes() == b"theirs"
            engine.save_outputs(None if trusted else place)
            assert (place / "a.png").read_bytes() != b"theirs"


def test_a_patch_without_a_file_knows_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch that was never saved overwrites what it wrote while the engine runs, and another one does not."""
    monkeypatch.chdir(tmp_path)
    for number in range(2):
        patch = Patch()
        image = patch.add("io.image_array", data=np.ones((2, 2, 4), np.float32))
        patch.connect(image["out"], patch.add("io.save_image", file="a.png")["image"])
        with Engine(patch, device="host") as engine:
            for again in range(2):
                engine.post(SaveOutputs(overwrites=(str(tmp_path / "a.png"),) if number and not again else ()))
                assert isinstance(next(asked(engine)), Saved)
            (tmp_path / "a.png").write_bytes(b"theirs")
            engine.post(SaveOutputs())
            assert isinstance(next(asked(engine)), Diagnostic)
