"""Random patches run in engines that must agree: fused with shared memory, plain, and started anew."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pytest

from tests.random_patches.materials import Lent, Materials
from tests.random_patches.oracles import FACTORS, ORACLES, badly_factored
from tests.random_patches.oracles import wrong as wrong_output
from tests.random_patches.patches import RandomPatch
from tests.runtime.update.update_support import copy_of, outputs
from warploom import Engine, Patch, ProfilingLevel
from warploom.engine.compiler.buffers import Lifetime
from warploom.engine.compiler.inlining.inline import Inlined
from warploom.engine.compiler.operations import RegionEntry
from warploom.engine.compiler.planning import PartialPlan, plan_what_can_run
from warploom.engine.descriptions.description import BlockDescription
from warploom.engine.device.device import Device
from warploom.engine.device.protocol import Module
from warploom.engine.diagnostics import Diagnostic, PatchError, Severity, WarploomError
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.sources import KernelSource
from warploom.engine.patch.changes import PortRef
from warploom.engine.patch.files import dump_patch
from warploom.engine.patch.regions import region_of
from warploom.engine.profiling.profile import BufferStatistics
from warploom.engine.protocol.messages import FrameReport, Message, ObserveProfile, Reset, SetFusing, SetProfiling
from warploom.engine.protocol.sampling import ObservePorts, picture_of
from warploom.engine.runtime.model import describe_patch
from warploom.engine.runtime.model.describe_patch import PlacedNode
from warploom.engine.runtime.model.module_cache import LoadedModule, ModuleCache
from warploom.engine.runtime.update import prepare
from warploom.engine.user_code.runner import CodeRunner

#: The contents of ports: an array, or the reason why it can't be read.
Contents = dict[PortRef, "np.ndarray[Any, Any] | str"]
#: Diagnostics about one engine's way to run a patch, or about times.
_OWN_WAY = ("shared memory",)
#: Messages to the engine under test that must not change results.
_SWITCHES = (SetFusing(False), SetFusing(True), *map(SetProfiling, ProfilingLevel))
#: Levels of profiling, mostly none, since measuring builds another copy of the graph.
_LEVELS = (*[ProfilingLevel.NONE] * 8, *ProfilingLevel)


@dataclass
class Outcome:
    """The outcome of one random patch."""

    seed: int
    #: Block types that ran without an error in some frame, and differences.
    ran: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: Blocks that were compared with numpy.
    checked: Counter[str] = field(default_factory=Counter)
    frames: int = 0
    reads: int = 0
    #: Pictures that both engines made, and buffers whose statistics were compared with their contents.
    pictures: int = 0
    surveyed: int = 0
    patch: str = ""
    #: The final patch and the contents of its ports, for a comparison with another device.
    made: Patch | None = None
    last: Contents = field(default_factory=dict)
    #: Element types of ports.
    types: dict[PortRef, str] = field(default_factory=dict)


class _KeptModule:
    """A module that stays loaded for the next engine."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def unload(self, *, is_replaced: bool = False) -> None:
        """Do nothing: the owner of the kernels unloads it."""


def _plan_apart(inlined: Inlined, *problems: Any, fuses: bool, shares: bool, **options: Any) -> PartialPlan:
    """Plan separate memory for each buffer unless kernels are fused, so that the plain engine shares none."""
    return plan_what_can_run(inlined, *problems, fuses=fuses, shares=shares and fuses, **options)


class KeptKernels:
    """Compiled and loaded kernels, kept from patch to patch, since making them takes most of a short run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: dict[tuple[int, KernelSource], tuple[KernelImage, Module]] = {}
        #: The descriptions of one patch's blocks, which are made once for all of its engines.
        self._descriptions: dict[object, tuple[BlockDescription | Diagnostic, PlacedNode]] = {}
        self._load_once, self._describe = ModuleCache._load_once, describe_patch._description

    @contextmanager
    def used(self) -> Iterator[None]:
        """Let all engines take kernels from here."""
        kept = self

        def load_once(cache: ModuleCache, source: KernelSource) -> LoadedModule:
            key = id(cache._device), source
            with kept._lock:
                found = kept._loaded.get(key)
            if found is None:
                loaded = kept._load_once(cache, source)
                found = loaded.image, loaded.module
                with kept._lock:
                    kept._loaded[key] = found
            return LoadedModule(found[0], cast(Module, _KeptModule(found[1])))

        def described(node: PlacedNode) -> BlockDescription | Diagnostic:
            key = describe_patch._asked(node)
            found, _ = kept._descriptions.get(key, (None, node))
            if found is None:
                found = kept._describe(node)
                kept._descriptions[key] = found, node  # the node keeps alive what the key compares by identity
            return found

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ModuleCache, "_load_once", load_once)
            patch.setattr(ModuleCache, "find", staticmethod(lru_cache(4096)(ModuleCache.find)))
            # Blocks of the library always return, so they run without a thread that could be abandoned.
            run = CodeRunner.run
            patch.setattr(CodeRunner, "run", lambda runner, call, failed, **_: run(runner, call, failed, ours=True))
            patch.setattr(describe_patch, "_description", described)
            patch.setattr(prepare, "plan_what_can_run", _plan_apart)
            try:
                yield
            finally:
                self.shrink(0)

    def shrink(self, most: int = 1000) -> None:
        """Drop a patch's descriptions, and unload everything if there are more modules than this."""
        self._descriptions.clear()
        if len(self._loaded) > most:
            for _, module in self._loaded.values():
                module.unload()
            self._loaded.clear()


class Side:
    """One engine with its own contents of lent memory, since shared memory would mix the engines' results."""

    def __init__(self, patch: Patch, device: Device, **options: Any) -> None:
        self.engine = Engine(patch, device=device, **options)
        self._lent: dict[int, np.ndarray[Any, Any]] = {}
        self._viewers: list[str] = []
        self.engine.post(ObserveProfile(True))

    @contextmanager
    def lent(self, lent: list[Lent], *, keep: bool = True) -> Iterator[None]:
        """Restore this engine's last contents of lent memory, and save its new ones, unless `keep` is false."""
        for index, one in enumerate(lent):
            one.restore(self._lent.get(index, one.first))
        yield
        if keep:
            self._lent = {index: one.save() for index, one in enumerate(lent)}

    def step(self, lent: list[Lent]) -> FrameReport:
        """Run a frame."""
        viewers = [node.id for node in self.engine.patch.nodes.values() if node.type == "io.viewer"]
        if viewers != self._viewers:
            self._viewers = viewers
            self.engine.post(ObservePorts({viewer: picture_of(viewer) for viewer in viewers}))
        with self.lent(lent):
            return self.engine.step()

    def show(self) -> None:
        """Run frames as the engine's thread does until all edits are followed; a paused engine shows them."""
        self.engine.core.frame(free_running=True)
        while self.engine.core.updates.pending:
            self.engine.core.frame(free_running=True)

    def pictures(self) -> Contents:
        """Return the viewers' pictures that are new since the last call."""
        taken = {viewer: self.engine.take_sample(viewer) for viewer in self._viewers}
        return {PortRef(viewer, "picture"): each.data.copy() for viewer, each in taken.items() if each is not None}

    def surveyed(self, report: FrameReport, found: Contents) -> tuple[int, list[str]]:
        """Compare the statistics of this frame, if it was measured deeply, with the contents of ports.

        Return the number of comparisons, and the differences.
        """
        profile = self.engine.take_profile()
        if profile is None or profile.frame != report.frame:
            return 0, []
        wrong, compared = [], 0
        for port, held in found.items():
            told = profile.buffers.get(str(port))
            is_plain = isinstance(held, np.ndarray) and str(port) not in report.counts and self._is_left_as_made(port)
            numbers = _numbers(held) if is_plain else None
            if told is None or numbers is None:
                continue
            compared += 1
            if told != (wanted := statistics_of(numbers)):
                wrong.append(f"statistics of {port}: {told}, should be {wanted}")
        return compared, wrong

    def _is_left_as_made(self, port: PortRef) -> bool:
        """Return whether statistics are comparable: numpy has the type, and no other block changes the port."""
        compiled = self.engine.core.updates.compiled
        if compiled is None:
            return False
        plan = compiled.plan.before_fusing
        inner = plan.inlined.output(port)
        owner = plan.buffers.places[inner].owner
        made = [each for each in plan.operations if each.place >= 0 and not isinstance(each.entry, RegionEntry)]
        writers = {each.node for each in made if owner in each.writes}
        return writers <= {owner.node} and plan.layouts[inner].dtype.__name__ != "bf16"

    def forget(self) -> None:
        """Reset the engine, and restore the first contents of lent memory."""
        self.engine.post(Reset())
        self._lent.clear()

    def read(self, ports: Iterable[PortRef]) -> Contents:
        """Return the contents of ports in the last frame; ports that are not in the running graph are left out."""
        found: Contents = {}
        for port in ports:
            try:
                found[port] = self.engine.read(port)
            except PatchError:
                continue
            except WarploomError as problem:
                found[port] = f"{type(problem).__name__}: {problem}"
        return found


def _numbers(held: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Return the components of all elements; None for structs whose components have several types."""
    if held.dtype.kind == "b":  # numpy knows only two booleans, whatever their bytes are
        return held.reshape(-1).view(np.uint8)
    if held.dtype.kind in "fiu":
        return held.reshape(-1)
    if held.dtype.kind == "c":
        return held.reshape(-1).view(held.real.dtype)
    kinds = {kind[0].base for kind in held.dtype.fields.values()} if held.dtype.fields else set()
    return np.ascontiguousarray(held).reshape(-1).view(kinds.pop()) if len(kinds) == 1 else None


def statistics_of(numbers: np.ndarray[Any, Any]) -> BufferStatistics:
    """Return the statistics that deep profiling must report for these numbers."""
    finite = numbers[np.isfinite(numbers)]
    least, most = (finite.min().item(), finite.max().item()) if finite.size else (None, None)
    nans = int(np.isnan(numbers).sum())
    return BufferStatistics(numbers.size, least, most, nans, numbers.size - nans - finite.size)


def errors(report: FrameReport) -> set[tuple[str, str | None, str | None, str]]:
    """Return the diagnostics that any engine must report."""
    return {(item.severity.name, item.node, item.port, item.message) for item in report.diagnostics if _is_shared(item)}


def serious(report: FrameReport) -> set[tuple[str, str | None, str | None, str]]:
    """Return the errors that keep blocks from running."""
    return {told for told in errors(report) if told[0] == Severity.ERROR.name}


def _is_shared(item: Diagnostic) -> bool:
    return item.severity is Severity.ERROR or not any(text in item.message for text in _OWN_WAY)


def differences(one: Contents, other: Contents) -> list[str]:
    """Return the ports whose contents differ between two engines, in words."""
    found = [f"{port} is there only in one" for port in sorted(one.keys() ^ other.keys(), key=str)]
    for port in sorted(one.keys() & other.keys(), key=str):
        a, b = one[port], other[port]
        if isinstance(a, str) or isinstance(b, str):
            if not (isinstance(a, str) and isinstance(b, str)):
                found.append(f"{port}: {_told(a)} against {_told(b)}")
        elif a.dtype != b.dtype or a.shape != b.shape or not same_bits(a, b):
            found.append(f"{port}: {_told(a)} against {_told(b)}{_where(a, b)}")
    return found


def _told(held: np.ndarray[Any, Any] | str) -> str:
    return held if isinstance(held, str) else f"{held.dtype}{list(held.shape)} {held.reshape(-1)[:4].tolist()}"


def _where(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return ""
    one, other = (np.frombuffer(x.tobytes(), np.uint8).reshape(-1, x.itemsize) for x in (a, b))
    wrong = np.flatnonzero((one != other).any(1))
    if not wrong.size:
        return ""
    first = int(wrong[0])
    return f"; {wrong.size} differ, first {first}: {a.reshape(-1)[first]} against {b.reshape(-1)[first]}"


def same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Return whether two arrays have equal bits; all NaN count as equal, since their bits have no meaning."""
    if a.tobytes() == b.tobytes():
        return True
    return a.dtype.kind in "fc" and bool(np.array_equal(a, b, equal_nan=True) and _signs(a) == _signs(b))


def _signs(array: np.ndarray[Any, Any]) -> bytes:
    parts = np.nan_to_num(array.view(array.real.dtype), nan=0.0)
    return np.signbit(parts).tobytes()


def filled(patch: Patch, found: Contents) -> Contents:
    """Return contents with each append buffer cut to its count and sorted.

    Append buffers are unordered. Of a full buffer only the count is kept, since which elements it stores isn't
    determined.
    """
    kept = dict(found)
    for port, held in found.items():
        block_type = patch.block_type(port.node)
        spec = block_type.ports.get(port.port) if block_type is not None else None
        if spec is None or not spec.append or isinstance(held, str):
            continue
        count = found.get(PortRef(port.node, f"{port.port}_count"))
        if count is None or isinstance(count, str) or int(count[0]) >= len(held):
            del kept[port]
        else:
            rows = sorted(element.tobytes() for element in held[: int(count[0])])
            kept[port] = np.frombuffer(b"".join(rows), np.uint8)
    return kept


def run_patch(
    seed: int,
    materials: Materials,
    device: Device,
    *,
    frames: int = 4,
    wanted: Iterable[str] = (),
) -> Outcome:
    """Make a random patch, run it with edits in between, and compare the contents of ports."""
    made = RandomPatch(seed, materials, wanted=wanted)
    patch, outcome = made.patch, Outcome(seed)
    edits: list[str] = ["first build"]
    try:
        with ExitStack() as closing:
            closing.callback(made.close)
            levels = [made.any_of(_LEVELS) for _ in range(2)]
            sides = [Side(patch, device, profiling=levels[0]), Side(patch, device, profiling=levels[1], share=False)]
            for side in sides:
                closing.callback(side.engine.close)
            said: list[Message] = []
            heard: list[Message] = []
            for number in range(frames):
                if number:
                    edits, said = [], []
                    for _ in range(made.any_of((0, 1, 1, 2))):
                        name, messages = made.edit()
                        edits.append(name)
                        said += messages
                    heard += said
                where = f"frame {number} after {', '.join(edits) or 'nothing'}"
                ports = sorted(outputs(patch), key=str)
                chosen = ports if number == frames - 1 else made.chance.sample(ports, min(4, len(ports)))
                made.chance.shuffle(chosen)
                reports, found, pictures = [], [], list[Contents]()
                if number and made.maybe(0.15):
                    sides[0].engine.post(made.any_of(_SWITCHES))
                for side in sides:
                    for message in said:
                        side.engine.post(message)
                    reports.append(side.step(materials.lent))
                    found.append(side.read(chosen))
                    compared, wrong_ones = side.surveyed(reports[-1], found[-1])
                    outcome.surveyed += compared
                    outcome.differences += [f"{where}: {text}" for text in wrong_ones]
                    pictures.append(side.pictures())
                seen = pictures[0].keys() & pictures[1].keys()  # a frame that repeats the previous one makes no picture
                outcome.pictures += len(seen)
                outcome.differences += [
                    f"{where}: {text}" for text in differences(*({v: each[v] for v in seen} for each in pictures))
                ]
                outcome.frames += 1
                outcome.reads += len(chosen)
                told, plain = map(errors, reports)
                if told != plain:
                    outcome.differences.append(
                        f"{where}: diagnostics {sorted(told - plain)} against {sorted(plain - told)}"
                    )
                outcome.differences += [
                    f"{where}: {text}" for text in differences(*(filled(patch, each) for each in found))
                ]
                wrong = {item.node for item in reports[0].diagnostics if item.severity is Severity.ERROR}
                outcome.ran.update(patch.nodes[node].type for node in patch.nodes.keys() - wrong)
                if outcome.differences:
                    break
            else:
                outcome.made, outcome.last = patch, found[0]
                outcome.types = {port: layout.dtype.__name__ for port, layout in made.layouts.items()}
                if not wrong:  # otherwise blocks may keep running in an older version
                    outcome.differences += _against_oracles(made, sides[1], outcome)
                    outcome.differences += _anew(made, sides[0], materials, chosen, heard)
    finally:
        outcome.refused = made.refused
        if outcome.differences:
            outcome.patch = json.dumps(json.loads(dump_patch(patch)))
        materials.take_back()
    return outcome


def _against_oracles(made: RandomPatch, side: Side, outcome: Outcome) -> list[str]:
    """Compare blocks with numpy. The engine without shared memory still has the blocks' inputs."""
    patch, compiled = made.patch, side.engine.core.updates.compiled
    if compiled is None:
        return []
    plan, found = compiled.plan, []
    writers = {(owner, operation.nodes) for operation in plan.operations for owner in operation.writes}
    written = Counter(owner for owner, _ in writers)

    def held(port: PortRef) -> np.ndarray[Any, Any] | None:
        place = plan.buffers.places.get(plan.inlined.output(port))
        if place is None or port not in made.layouts:
            return None
        lasts = plan.buffers.allocations[place.owner].lifetime in (Lifetime.STATE, Lifetime.EXTERNAL)
        if written[place.owner] > (0 if lasts else 1):
            return None  # a block changes the buffer in place, perhaps after a read
        return next(iter(side.read([port]).values()), None)  # type: ignore[return-value]

    for node, block_type in ((node, patch.block_type(node.id)) for node in patch.nodes.values()):
        sources = {c.target.port: c.source for c in patch.connections_of(node.id) if c.target.node == node.id}
        if block_type is None or block_type.id not in ORACLES.keys() | FACTORS or not _has_run(patch, node.region):
            continue
        if sources.keys() & block_type.parameters.keys():
            continue  # a value block drives a parameter to an unknown number
        inputs = {name: held(source) for name, source in sources.items()}
        made_by = {spec.name: PortRef(node.id, spec.name) for spec in block_type.outputs()}
        outs = {name: held(port) for name, port in made_by.items()}
        if not all(isinstance(array, np.ndarray) for array in (*inputs.values(), *outs.values())):
            continue
        values = {name: patch.value(node.id, name) for name in block_type.parameters}
        outcome.checked[node.type] += 1
        if node.type in FACTORS:
            told = badly_factored(node.type, inputs, values, outs)  # type: ignore[arg-type]
        else:
            main = "out" if "out" in outs else next(iter(outs))
            types = {name: made.layouts[source].dtype.__name__ for name, source in sources.items()}
            dtype = made.layouts[made_by[main]].dtype.__name__
            told = wrong_output(node.type, inputs, types, values, outs[main], dtype)  # type: ignore[arg-type]
        if told is not None:
            found.append(f"oracle: {node.id} ({node.type}): {told}")
    return found


def _has_run(patch: Patch, scope: str) -> bool:
    """Return whether a scope runs in each frame for sure: it is the top, or inside of loops of at least one turn."""
    while scope:
        region = patch.nodes[region_of(scope)]
        is_driven = any(c.target.node == region.id for c in patch.connections_of(region.id))
        if region.type != "control.for" or is_driven or patch.value(region.id, "count") < 1:
            return False
        scope = region.region
    return True


def _anew(made: RandomPatch, side: Side, materials: Materials, ports: list[PortRef], heard: list[Message]) -> list[str]:
    """Compare the edited engine after a reset with a new engine of the same patch."""
    side.forget()
    # Earlier findings of single frames are still reported for a while.
    one = serious(side.step(materials.lent)), side.read(ports)
    fresh = Side(copy_of(made.patch), side.engine.device, profiling=ProfilingLevel.NONE)
    for message in heard:  # the last keys and mouse position still apply
        fresh.engine.post(message)
    try:
        other = serious(fresh.step(materials.lent)), fresh.read([PortRef(p.node, p.port) for p in ports])
    finally:
        fresh.engine.close()
    found = [] if one[0] == other[0] else [f"anew: diagnostics {one[0] - other[0]} against {other[0] - one[0]}"]
    return found + [f"anew: {text}" for text in differences(*(filled(made.patch, each) for each in (one[1], other[1])))]
