"""`warploom run`, `check`, `trace` and `plan`: patches without a window."""

import math
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from warploom import Patch, ProfilingLevel
from warploom.app.cli.run_result import RunResult
from warploom.app.cli.run_table import print_result
from warploom.app.console import print_diagnostics, progress
from warploom.app.documents.trust.trust import open_patch
from warploom.app.engine_command import ENGINE_COMMAND
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.parameters import parse_text
from warploom.engine.blocktypes.vector_parameters import components_of
from warploom.engine.compiler.inspection import frame_plan, memory_svg, plan_dot, plan_svg, plan_text
from warploom.engine.compiler.plan import Plan
from warploom.engine.diagnostics import DeviceError, Diagnostic, PatchError, WarploomError, printable
from warploom.engine.figures import plural
from warploom.engine.patch.files import patch_digest, write_atomically
from warploom.engine.patch.organise.osc_addresses import osc_settings
from warploom.engine.patch.trust import asks_for_trust
from warploom.engine.profiling.exports import profile_csv, profile_json
from warploom.engine.profiling.trace import chrome_trace
from warploom.engine.protocol.client import Client
from warploom.engine.protocol.culprit import CulpritSearch
from warploom.engine.protocol.engine_state import load_state, save_state
from warploom.engine.protocol.flight_record import record_csv, record_json
from warploom.engine.protocol.messages import FrameReport, Frozen, SetFrameBudget, SetKernelTimeLimit
from warploom.engine.protocol.pacing import Pacer, Pacing
from warploom.engine.runtime.check.check_patch import check_patch, has_errors, plan_patch
from warploom.engine.runtime.check.pins import PinChecks
from warploom.engine.runtime.engine import open_engine
from warploom.engine.runtime.frame.clock import Clock

if TYPE_CHECKING:
    from warploom.app.cli.film_out import FilmOut

_STEP_S = 1 / 60
#: The output of `--profile-out`, by suffix.
_PROFILE_FORMS = {".csv": profile_csv, ".json": profile_json}


def run_headless(
    *,
    patch: Path,
    frames: range | int | None,
    state_file: Path | None,
    device: str,
    engine: str | None,
    settings: Sequence[str],
    profile: str,
    profile_out: Path | None,
    out: Path | None,
    port: str | None,
    step_s: float | None,
    rate: float | None,
    real_time: bool,
    as_json: bool,
    trust: bool,
    fuse: bool,
    checks: bool,
    plain_edges: bool,
    record: Path | None,
    budget_ms: float,
    kernel_time_limit: float | None,
    osc: str | None,
    result: RunResult,
) -> int:
    """Run a patch for some frames into `result`, and print it unless `as_json`. Return the exit status.

    Without a `rate`, frames run without pauses; each is `step_s` after the previous one. With `real_time`, the patch's
    time follows real time, for patches that a person plays: 60 frames per second by default. Of a film, a part of the
    frames or a patch with a timeline, `rate` is the number of frames in a second of the patch's time.
    """
    pacer = _make_pacer(step_s or _STEP_S if step_s != 0 else 0, rate, real_time)
    level = _profiling_level(profile)
    if math.isnan(budget_ms):
        raise click.BadParameter("--budget must be a number of milliseconds, got nan")
    if kernel_time_limit is not None and math.isnan(kernel_time_limit):
        raise click.BadParameter("--kernel-time-limit must be a number of seconds, got nan")
    if record is not None and record.suffix not in (".json", ".csv"):
        raise click.BadParameter(f"--record must be a .json or .csv file, got {record}")
    if profile_out is not None and profile_out.suffix not in _PROFILE_FORMS:
        raise click.BadParameter(f"--profile-out must be a .json or .csv file, got {profile_out}")
    if profile_out is not None and level is ProfilingLevel.NONE:
        raise click.BadParameter("--profile-out needs a level that measures, got none; leave out --profile")
    opened = open_patch(patch, trust=trust)
    apply_settings(opened, settings)
    if opened.timeline is not None or isinstance(frames, range) or _is_film(out):
        pacer = _make_film(opened, step_s, rate, pacer, real_time)
        step_s = None
    if not isinstance(frames, range):
        film = opened.timeline if frames is None else None
        frames = range(frames or 60) if film is None else range(film.first, film.end + 1)
    if osc is not None:
        _listen(opened, osc)
    pins = PinChecks(opened) if checks else PinChecks(opened, ())
    if checks:
        _check_values(opened)
    film_out = None
    if out is not None and _is_film(out):
        from warploom.app.cli.film_out import FilmOut

        film_out, out = FilmOut(opened, out, port), None
    elif port is not None:
        raise click.BadParameter("--port must be given with a film, such as --out film.mp4, got none")
    elif out is not None:
        require_folder(out, "folder, or a film .mp4, .mov, .mkv, .webm or .avi")
    options: dict[str, Any] = {"time_step_s": step_s or _STEP_S, "fuse": fuse, "plain_edges": plain_edges}
    with (
        _folder(out) if out is not None else nullcontext(),
        _naming_the_culprit(opened, device, engine, result, options),
        open_engine(opened, device, engine, profiling=level, **options) as client,
        film_out or nullcontext(),
    ):
        client.post(SetFrameBudget(round(budget_ms * 1e6)))
        client.post(SetKernelTimeLimit(kernel_time_limit))
        try:
            options_of_run: dict[str, Any] = {"profiles": bool(level), "show_progress": not as_json}
            begin = begin_from(client, state_file, frames.start) if state_file is not None else 0
            frames = range(frames.start, max(frames.stop, pins.frames))
            last = _run(client, frames, begin, pacer, real_time, out, film_out, result, pins, **options_of_run)
            if state_file is not None and not has_errors(last.diagnostics):
                save_state(state_file, client.read_state(), patch_digest(opened))
        except DeviceError:
            report = client.take_report()
            if report is not None and report.failed:  # this report names the node that failed
                result.last = report
            raise
        finally:
            if record is not None:
                _write_record(client, record)
    written = [record] if record is not None else []
    if profile_out is not None and result.profile is not None:  # before the output, whose reader may be gone
        _write("profile", profile_out, _PROFILE_FORMS[profile_out.suffix](result.profile))
        written.append(profile_out)
    print_diagnostics(last.diagnostics)
    if not as_json and not has_errors(last.diagnostics):
        print_result(result, last, round(budget_ms * 1e6))
        for path in written:
            click.echo(f"wrote {path}")
    if result.frozen_frame is not None:
        click.echo(f"frame {result.frozen_frame} is frozen, the last of {result.frames}", err=True)
    failed = [pin for pin in result.pins if not pin.passed]
    for pin in failed:
        click.echo(printable(str(pin)), err=True)
    if result.pins and not failed and not as_json:
        click.echo(f"{plural(len(result.pins), 'pin')} passed")
    return 1 if has_errors(last.diagnostics) or result.frozen_frame is not None or failed else 0


def _is_film(path: Path | None) -> bool:
    """True for a path whose suffix is that of a film."""
    if path is None or not path.suffix:
        return False
    from warploom.app.cli.film_out import is_film  # its imports take long, and most runs write no film

    return is_film(path)


def require_folder(out: Path, rule: str = "folder") -> None:
    """Raise BadParameter if `out` has the name of a file, such as table.csv, and is not there yet."""
    if not out.suffix or out.exists():
        return
    from warploom.app.edits.files.dropped_files import is_usable  # as above

    if is_usable(out):
        raise click.BadParameter(f"--out must be a {rule}, got {out}")


@contextmanager
def _naming_the_culprit(
    patch: Patch, device: str, engine: str | None, result: RunResult, options: dict[str, Any]
) -> Iterator[None]:
    """If the engine fails and its report names no node, replay the patch in another process, and print the culprit."""
    try:
        yield
    except DeviceError:
        report = result.last
        if report is not None and report.failed and not has_errors(item for item in report.diagnostics if item.node):
            click.echo("the patch runs again, to find the block that made the engine fail", err=True)
            with suppress(WarploomError):  # the failure itself is raised
                search = CulpritSearch(patch, engine or ENGINE_COMMAND, device, frame=report.frame, **options)
                found = search.run().diagnostic
                print_diagnostics([found])
                result.last = msgspec.structs.replace(report, diagnostics=(*report.diagnostics, found))
        raise


def _run(
    client: Client,
    frames: range,
    begin: int,
    pacer: Pacer,
    real_time: bool,
    out: Path | None,
    film_out: "FilmOut | None",
    result: RunResult,
    pins: PinChecks,
    *,
    profiles: bool,
    show_progress: bool,
) -> FrameReport:
    """Run the frames from `begin` on, save the outputs, and return the last report. Only `frames` are results.

    End early when a block doesn't compile, or a sentinel freezes a frame; the frozen frame's outputs are saved.
    """
    info, path = client.info, client.patch.path
    result.device = info.name
    never = threading.Lock()
    never.acquire()
    title = f"{path.name if path else 'patch'} on {info.title}"
    with progress(title, frames.stop - begin, show=show_progress) as advance:
        for number in range(begin, frames.stop):
            if number == max(begin + 1, frames.start):
                pacer.restart()  # the first frame compiles, so the grid starts after it
            report = client.step(real_time=real_time)
            if number >= frames.start or has_errors(report.diagnostics):
                result.add(report)
            pins.follow(client, number, report.frame_time_ns)
            if has_errors(report.diagnostics):
                result.pins = pins.results("the patch has errors")
                return report
            if (
                number == begin and out is None and film_out is None
            ):  # before the other frames run, since they may take long
                _require_trust([*filter(asks_for_trust, report.diagnostics), *client.refused_outputs()])
            if film_out is not None and number >= frames.start:
                film_out.take(client, report)
            advance()
            frozen = next((event for event in client.take_events() if isinstance(event, Frozen)), None)
            if frozen is not None:
                result.frozen_frame = frozen.frame
                break
            pacer.advance()
            if frames.start <= number < frames.stop - 1:
                pacer.wait(never)
        result.profile = client.profile() if profiles else None
        result.outputs = film_out.saved if film_out is not None else client.save_outputs(out)
    result.pins = pins.results("" if result.frozen_frame is None else f"frame {result.frozen_frame} is frozen")
    return report


def _check_values(patch: Patch) -> None:
    """Let every connection of numbers freeze a frame with NaN or infinity, unless the patch has its own check there."""
    for connection in patch.connections:
        if patch.leaf(connection.source) not in patch.sentinels:
            with suppress(PatchError):  # the output carries no numbers
                patch.set_sentinel(connection, action="freeze")


def _write_record(client: Client, path: Path) -> None:
    record = client.flight_record()
    _write("flight record", path, record_csv(record) if path.suffix == ".csv" else record_json(record).decode())


def _require_trust(diagnostics: Iterable[Diagnostic]) -> None:
    refused = dict.fromkeys(f"{item.node}: {item.message} ({item.remedy})" for item in diagnostics)
    if refused:
        raise PatchError("\n".join(refused))


def trace_headless(*, patch: Path, out: Path, frames: int, device: str, engine: str | None, trust: bool) -> int:
    """Write a trace of some frames; return the exit status."""
    opened = open_patch(patch, trust=trust)
    with open_engine(opened, device, engine, profiling=ProfilingLevel.PER_KERNEL) as client:
        diagnostics = client.step().diagnostics
        print_diagnostics(diagnostics)
        if has_errors(diagnostics):
            return 1
        text = chrome_trace(client.trace(frames))
    _write("trace", out, text)
    click.echo(f"wrote {out}; open it in Perfetto (ui.perfetto.dev) or chrome://tracing")
    return 0


def check_headless(*, patch: Path, as_json: bool, trust: bool, reported: dict[str, Any]) -> int:
    """Report why a patch would not compile, on stderr and in `reported`. Return the exit status."""
    diagnostics = check_patch(open_patch(patch, trust=trust))
    reported["diagnostics"] = msgspec.to_builtins(diagnostics)
    reported["ok"] = not has_errors(diagnostics)
    print_diagnostics(diagnostics)
    if reported["ok"] and not as_json:
        click.echo(printable(f"{patch}: would compile"))
    return 0 if reported["ok"] else 1


def plan_headless(*, patch: Path, form: str, out: Path | None, trust: bool, fuse: bool) -> int:
    """Print a patch's plan, or write it to a file; return the exit status."""
    formats: dict[str, Callable[[Plan], str]]
    formats = {"text": plan_text, "dot": plan_dot, "svg": plan_svg, "memory": memory_svg, "json": _plan_json}
    if form not in formats:
        raise click.BadParameter(f"--format must be one of {', '.join(formats)}, got {form!r}")
    plan, diagnostics = plan_patch(open_patch(patch, trust=trust), fuses=fuse)
    print_diagnostics(diagnostics)
    if plan is None:
        return 1
    text = formats[form](plan)
    if out is None:
        click.echo(printable(text), nl=False)
    else:
        _write("plan", out, text)
        click.echo(f"wrote {out}")
    return 1 if has_errors(diagnostics) else 0


def _plan_json(plan: Plan) -> str:
    return msgspec.json.format(msgspec.json.encode(frame_plan(plan))).decode() + "\n"


def _make_pacer(step_s: float, rate: float | None, real_time: bool) -> Pacer:
    try:
        Clock(step_s)  # raises the error for a wrong step as wrong usage; the engine would refuse it later
        if rate is not None:
            return Pacer(Pacing.fixed(rate))
        return Pacer(Pacing.fixed(60) if real_time else Pacing.free())
    except WarploomError as problem:
        raise click.BadParameter(str(problem)) from problem


def _make_film(patch: Patch, step_s: float | None, rate: float | None, pacer: Pacer, real_time: bool) -> Pacer:
    """Give a patch the rate of a film, if one is asked for, and return when its frames begin."""
    if step_s is not None and rate is not None:
        raise click.BadParameter("--rate or --time-step must be given for a film, got both")
    chosen = 1 / step_s if step_s else rate
    if chosen is not None:
        try:
            patch.set_timeline(rate=chosen)
        except PatchError as problem:
            raise click.BadParameter(str(problem)) from problem
    usual = patch.timeline.rate if patch.timeline is not None else 1 / _STEP_S
    return pacer if real_time and rate is not None else _make_pacer(_STEP_S, usual if real_time else None, real_time)


def begin_from(client: Client, path: Path, first: int) -> int:
    """Go on from the state in a file, and return its frame; 0 if there is no file, or its frame is after `first`."""
    if not path.exists():
        return 0
    state = load_state(path, patch_digest(client.patch))
    if state.frame > first:
        click.echo(f"the state in {path} is that before frame {state.frame}: all frames are run", err=True)
        return 0
    client.put_state(state)
    return state.frame


def _profiling_level(text: str) -> ProfilingLevel:
    name = text.upper().replace("-", "_")
    if name not in ProfilingLevel.__members__:
        known = ", ".join(level.name.lower().replace("_", "-") for level in ProfilingLevel)
        raise click.BadParameter(f"--profile must be one of {known}, got {text!r}")
    return ProfilingLevel[name]


def apply_settings(patch: Patch, settings: Sequence[str]) -> None:
    for setting in settings:
        target, equals, text = setting.partition("=")
        node, dot, parameter = target.partition(".")
        if not equals or not dot:
            raise click.BadParameter(f"--set must be NODE.PARAM=VALUE, got {setting!r}")
        try:
            block_type = patch.block_type(node)
            if block_type is None:
                raise PatchError(f"block type of {node} must be known, got {patch.nodes[node].type!r}")
            patch.set(node, **_parse_setting(block_type, parameter, text))
        except PatchError as problem:
            raise click.BadParameter(f"--set {setting}: {problem}") from problem


def _parse_setting(block_type: type[Block], name: str, text: str) -> dict[str, Any]:
    """Return the values that a person typed for a parameter, or for a vector as `0, 0, 1`, by parameter."""
    parts, texts = components_of(block_type.parameters, name), text.split(",")
    if not parts:
        return {name: parse_text(block_type.parameter(name), text)}
    if len(texts) != len(parts):
        raise PatchError(f"parameter {name} must be {len(parts)} numbers with commas between, got {text!r}")
    return {part.name: parse_text(part, each.strip()) for part, each in zip(parts, texts, strict=True)}


def _listen(patch: Patch, place: str) -> None:
    """Let the patch listen to a "PORT" or "HOST:PORT"; another host needs trust, as in a file."""
    host, _, port = place.rpartition(":")
    try:
        settings = osc_settings(patch)
        patch.annotate(msgspec.structs.replace(settings, port=int(port), host=host or settings.host))
    except (PatchError, ValueError) as problem:
        raise click.BadParameter(f"--osc must be a port such as 9000, or HOST:PORT, got {place!r}") from problem


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make the folder of a run's outputs before its frames, which may take long. Leave no folder without files."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    _make_folder(path)
    try:
        yield
    finally:
        with suppress(OSError):  # it has files
            for folder in made:
                folder.rmdir()


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except FileExistsError as problem:
        raise click.BadParameter(f"--out must be a folder, got the file {path}") from problem
    except (OSError, ValueError) as problem:
        raise PatchError(f"--out must be a folder that can be written, got {path}: {problem}") from problem


def _write(what: str, path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode())
    except OSError as problem:
        raise PatchError(f"{what} must be writable: {path}: {problem.strerror or problem}") from problem
