"""The runtime in C: its LLVM text is up to date, and its structs and constants match the translator's."""

import re
import subprocess

import llvmlite.binding as llvm
import pytest

from tools import make_host_runtime
from warploom.engine.device.host import team
from warploom.engine.device.host.graph import stepper
from warploom.engine.device.host.modules import native
from warploom.engine.host_compiler import abi
from warploom.engine.host_compiler.analysis import suspension_points
from warploom.engine.host_compiler.runtime import library, scheduler

HEADER = (library.PATH.parent / "runtime.h").read_text()
SCHEDULER = (library.PATH.parent / "scheduler.c").read_text()


def fields(name: str, text: str) -> list[tuple[str, str, int]]:
    """Return the type, name and count of each field of a C struct."""
    (body,) = re.findall(rf"^struct {name} {{(.*?)^}};", re.sub(r"/\*.*?\*/", "", text, flags=re.S), re.M | re.S)
    found = []
    for kind, names in re.findall(r"^\s*(.+?[ *])(\w+(?:\[[^;]*\])?(?:, \w+)*);", body, re.M):
        for item in names.split(", "):
            count = re.search(r"\[(\d+)\]", item)
            found.append((kind.strip(), item.split("[")[0], int(count[1]) if count else 1))
    return found


def constants(text: str) -> dict[str, int]:
    """Return the constants of C enums that have explicit values."""
    found = {}
    for body in re.findall(r"enum(?: \w+)? {(.*?)}", text):
        for item in body.split(", "):
            match = re.fullmatch(r"\s*(\w+) = (-?\d+)(?: << (\d+))?\s*", item)
            if match:
                found[match[1]] = int(match[2]) << int(match[3] or 0)
    return found


def test_the_text_is_what_clang_makes_of_the_c_files() -> None:
    """The LLVM text equals clang's output for the C files; `make host-runtime` updates it."""
    wanted = re.search(r"with clang (\S+):", library.PATH.read_text())
    assert wanted is not None
    try:
        found = make_host_runtime.version()
    except (OSError, subprocess.CalledProcessError):
        found = ""
    if found != wanted[1]:
        pytest.skip(f"{make_host_runtime.CLANG} must be {wanted[1]} to make the same text, got {found or 'none'}")
    assert make_host_runtime.compiled() == library.PATH.read_text()


@pytest.mark.parametrize("record", ["launch", "worker"])
def test_records_of_the_launcher(record: str) -> None:
    """Each 64-bit field of the launcher's records is where abi.py says."""
    place = 0
    for kind, name, count in fields(record, HEADER):
        assert "64" in kind or kind.endswith("*")
        known = getattr(abi, name.upper())
        assert known == (place if count == 1 else tuple(range(place, place + count))), name
        place += count
    assert place == getattr(abi, f"{record.upper()}_FIELDS")


def test_scratch_memory() -> None:
    """The scratch memory's arrays of one 32-bit element per thread follow each other as in abi.py."""
    assert [name for _, name, _ in fields("scratch", HEADER)] == ["state", "given", "results", "arrived"]
    assert abi.exchange(0) == 4 * abi.MAX_THREADS
    assert abi.result(0) == abi.exchange(abi.EXCHANGES)
    assert abi.result(abi.RESULTS) == abi.ARRIVED
    assert abi.ARRIVED + 4 * 32 == abi.SCRATCH_START


def test_constants() -> None:
    """Constants that both C and Python define are equal."""
    known = constants(HEADER) | constants(SCHEDULER)
    shared = {name: value for name, value in known.items() if hasattr(abi, name)}
    assert len(shared) >= 11
    assert shared == {name: getattr(abi, name) for name in shared}
    (kinds,) = re.findall(r"enum kind {START, (.*?)}", SCHEDULER.replace("{ ", "{").replace(" }", "}"))
    for number, name in enumerate(kinds.split(", "), 1):
        assert getattr(suspension_points, name) == number


def test_tables_of_the_scheduler() -> None:
    """The translator's records for the scheduler have the fields of the C structs."""
    for name, record in (("phase", scheduler.PHASE_RECORD), ("kernel", scheduler.KERNEL_RECORD)):
        kinds = ["ptr" if kind.endswith("*") else "i32" for kind, _, _ in fields(name, SCHEDULER)]
        assert record == "{" + ", ".join(kinds) + "}"
    names = [name for _, name, _ in fields("frame", SCHEDULER)]
    assert names[: scheduler.FRAME_RECORD.count(", ") + 1] == [
        *("launch", "params", "worker", "s", "block_x", "block_y", "block_z")
    ]


def test_instructions_of_graphs() -> None:
    """Operations and reasons of graph instructions have the same numbers in C and in Python."""
    text = (library.PATH.parent / "graph.h").read_text() + (library.PATH.parent / "graph.c").read_text()
    for enum, first, last in (("operation", "PYTHON", "SECTION"), ("reason", "AT_PYTHON", "PAUSE")):
        (names,) = re.findall(rf"enum {enum} {{ (.*?) }}", text)
        known = {name: getattr(stepper, name) for name in names.split(", ")}
        assert list(known.values()) == list(range(len(known)))
        assert (next(iter(known)), list(known)[-1]) == (first, last)
    state = [name for _, name, _ in fields("state", text)]
    assert [getattr(stepper, name.upper()) for name in state] == list(range(stepper.STATE_FIELDS))
    assert re.search(r"struct instruction {\s*int64_t operation, a, b, c, d, e;", text)
    assert stepper.FIELDS == 6


def test_records_of_sections() -> None:
    """The fields of nodes, sections and the team are where team.py says."""
    text = (library.PATH.parent / "team.c").read_text()
    sizes = {"sem_t": 4}  # size in 64-bit numbers
    for name, size in (("node", team.NODE_FIELDS), ("section", team.SECTION_FIELDS), ("seat", 8), ("team", 16)):
        found = [item for item in fields(name, text) if item[0] != "struct seat"]
        places = [field for kind, field, count in found for _ in range(sizes.get(kind, count))]
        assert len(places) == size
        for field in set(places) - {"padding"} if name in ("node", "section") else ():
            assert getattr(team, field.upper(), places.index(field)) == places.index(field)


def test_a_module_gets_only_what_it_needs() -> None:
    """A module with a vote gets no scheduler, and a module with the scheduler gets no vote."""
    vote, schedule = library.needed("call void @wl.vote_any("), library.needed("call void @wl.run_thread_block(")
    assert re.findall(r"^define .*?@(\S+?)\(", vote, re.M) == ["wl.vote_any"]
    assert "@wl.vote" not in schedule
    assert "@wl.fault(" in schedule
    native.verified(schedule)


def test_the_text_names_no_target() -> None:
    """The LLVM text names no target, since it is linked into modules for every processor."""
    text = re.sub(r"^;.*", "", library.PATH.read_text(), flags=re.M)
    assert not re.search(r'target[- ]|x86|"|^attributes|^!', text, re.M)


def test_the_text_compiles_for_another_processor() -> None:
    """LLVM compiles the text for 64-bit ARM."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "aarch64-linux-gnu"
    rounded = "".join(f"declare double @wl.rounded.fma.{mode}(double, double, double)\n" for mode in ("rz", "rm", "rp"))
    text = library.PATH.read_text().replace("define internal", "define")
    module = llvm.parse_assembly(f'target triple = "{triple}"\n{text}{rounded}', llvm.create_context())
    code = llvm.Target.from_triple(triple).create_target_machine().emit_object(module)
    assert b"wl.run_thread_block" in code
