"""The command line. Each command turns its arguments into one call; `outcome` defines how a command ends.

A command imports its modules itself, so that `warploom --help` imports none of them. Functions with many options take
them under the names declared here.
"""

import sys
from contextlib import AbstractContextManager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from warploom.app.cli.groups import EditByDefault
from warploom.app.cli.options import (
    PATH,
    FrameRange,
    check_device,
    device_option,
    engine_option,
    frames_option,
    fuse_option,
    json_option,
    patch_argument,
    trust_option,
)
from warploom.app.cli.outcome import end, json_object
from warploom.app.logs import log_outputs


def _importing() -> AbstractContextManager[None]:
    """Import modules without collections, which would take a tenth of the start to find that modules are no garbage."""
    from warploom.engine.garbage import without_collections

    return without_collections()


def _print_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        from warploom.engine.version import version

        click.echo(f"warploom, version {version()}")
        ctx.exit()


@click.group(cls=EditByDefault, context_settings={"show_default": True})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def cli() -> None:
    """Warploom: patch GPU pipelines live. With no command, opens the editor."""


@cli.command()
@click.argument(
    "patch",
    type=PATH,
    metavar="[PATCH]",
    required=False,
    help="A .loom file or an example; without it, the gallery opens.",
)
@device_option
@engine_option
@click.option(
    "--in-process",
    is_flag=True,
    help="Run the engine in the editor's own process: a failure of the GPU or a crash then ends both.",
)
@click.option(
    "--screenshot",
    type=PATH,
    metavar="FILE",
    help="Run the patch for a moment, save the window's picture to FILE and exit.",
)
@trust_option
def edit(**options: Any) -> int:
    """Open the editor."""
    from warploom.app.qt.qt_check import require_qt

    require_qt()
    check_device(options["device"])
    if options["in_process"] and options["engine"] is not None:
        raise click.UsageError("either --engine or --in-process must be given, got both")
    with _importing():
        from warploom.app.editor import run_editor

    return run_editor(**options)


@cli.command()
@patch_argument
@click.option(
    "--frames",
    type=FrameRange(),
    metavar="N|A-B",
    help="Number of frames from 0 on, or the frames A to B of the same run: those before A are run without results.",
    show_default="those between in and out of the patch's timeline, or 60",
)
@click.option(
    "--state",
    "state_file",
    type=PATH,
    metavar="FILE",
    help="Go on from the state in FILE, if it is there, instead of from frame 0; write the state after the last frame.",
)
@device_option
@engine_option
@click.option("--set", "settings", multiple=True, metavar="NODE.PARAM=VALUE", help="Set a parameter; may be repeated.")
@click.option(
    "--profile",
    default="per-block",
    metavar="LEVEL",
    help="Measurement: none, summary, per-block, per-kernel, deep-async or deep-sync.",
)
@click.option(
    "--profile-out",
    type=PATH,
    metavar="FILE",
    help="Write the last measurements to FILE.csv or FILE.json.",
)
@click.option(
    "--out",
    type=PATH,
    metavar="DIR|FILM",
    help="Save all outputs in DIR, or the frames as a film with the sound of Audio Out: FILM.mp4, .mov, .mkv, .webm or "
    ".avi.",
)
@click.option("--port", metavar="NODE.PORT", help="Port to film; without it, what the patch's viewer shows.")
@click.option(
    "--time-step",
    "step_s",
    type=float,
    metavar="SECONDS",
    help="Time step of each frame, in the patch's time.",
    show_default="that of the patch's timeline, or 1/60",
)
@click.option(
    "--rate",
    type=float,
    metavar="FPS",
    help="Frames per second of the film, with frames A-B or a patch with a timeline. Of other runs, the highest frame "
    "rate; without it, as fast as possible.",
)
@click.option(
    "--realtime",
    "real_time",
    is_flag=True,
    help="Let the patch's time follow real time; 60 frames per second without --rate.",
)
@click.option(
    "--record",
    type=PATH,
    metavar="FILE",
    help="Write the flight record to FILE.json, or only its frames to FILE.csv.",
)
@click.option(
    "--budget",
    "budget_ms",
    type=click.FloatRange(min=0, max=1e9),
    default=16.6,
    metavar="MS",
    help="Time that a frame may take; the flight record shows where slower frames spent theirs.",
)
@click.option(
    "--kernel-time-limit",
    type=click.FloatRange(min=0, min_open=True, max=1e9),
    metavar="S",
    help="On the CPU, stop a kernel or a loop that runs for longer; without it, there is no limit.",
)
@click.option(
    "--osc",
    metavar="PORT",
    help="Set parameters by OSC messages to this UDP port, or to HOST:PORT, instead of the patch's.",
)
@fuse_option
@click.option(
    "--check",
    "checks",
    is_flag=True,
    help="Check the patch's pins, and stop at the first frame with NaN or infinity in a connection.",
)
@click.option(
    "--plain-edges",
    is_flag=True,
    help="On a GPU, start a kernel only after the kernels that it depends on are complete.",
)
@json_option
@trust_option
def run(**options: Any) -> int:
    """Run a patch with no window, save its outputs and print a table or JSON.

    Frames run without pauses, and each is one time step long, so that every run has the same results.
    """
    from warploom.app.cli.run_result import RunResult

    result = RunResult()
    with json_object(options["as_json"], result.as_json):
        check_device(options["device"])
        with _importing():
            from warploom.app.cli.headless import run_headless

        return run_headless(result=result, **options)


@cli.command()
@patch_argument
@click.option(
    "--grid",
    multiple=True,
    metavar="NODE.PARAM=VALUES",
    help="Values of a parameter: start:stop:step, such as 0:1:0.1, or 1,2,3; may be repeated.",
)
@click.option(
    "--files",
    multiple=True,
    metavar="NODE.PARAM=PATTERN",
    help="Files of a parameter, such as 'shots/*.exr' in quotation marks; may be repeated.",
)
@click.option(
    "--frames",
    type=FrameRange(),
    multiple=True,
    metavar="N|A-B",
    help="Number of frames from 0 on, or the frames A to B; may be repeated. The outputs are those of the last frame.",
    show_default="those between in and out of the patch's timeline, or 60",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of processes.",
    show_default="one for each GPU, or else for each core",
)
@click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, whose scheduler has this address.")
@click.option("--task", metavar="K/N", help="Run slice K of N, for a render farm; the whole command then joins them.")
@device_option
@click.option("--set", "settings", multiple=True, metavar="NODE.PARAM=VALUE", help="Set a parameter; may be repeated.")
@click.option(
    "--out",
    type=PATH,
    required=True,
    metavar="DIR",
    help="Folder of outputs and of the table, results.parquet and .csv. Runs that are done there are not run again.",
)
@json_option
@trust_option
def sweep(**options: Any) -> int:
    """Run a patch over the product of parameters, files and frames, and write a table of the runs.

    The same command goes on with a sweep that was stopped. A run that fails is a row of the table, and the exit status
    is then 1.
    """
    reported: dict[str, Any] = {"runs": 0, "done": 0, "failed": 0, "left": 0, "skipped": 0, "table": None}
    with json_object(options["as_json"], reported.copy):
        check_device(options["device"])
        with _importing():
            from warploom.app.cli.sweeping import sweep_headless

        return sweep_headless(reported=reported, **options)


@cli.command()
@patch_argument
@json_option
@trust_option
def check(**options: Any) -> int:
    """Check whether a patch would compile, and list its problems."""
    reported: dict[str, Any] = {"ok": False, "diagnostics": []}
    with json_object(options["as_json"], reported.copy):
        from warploom.app.cli.headless import check_headless

        return check_headless(reported=reported, **options)


@cli.command()
@patch_argument
@click.option(
    "--format",
    "form",
    default="text",
    metavar="FORMAT",
    help="text, json, dot, svg or memory (an SVG of memory over time).",
)
@click.option("--out", type=PATH, metavar="FILE", help="Write the plan to FILE instead of printing it.")
@fuse_option
@trust_option
def plan(**options: Any) -> int:
    """Show the compiled plan of a patch: operations, their dependencies, and buffers that share memory."""
    from warploom.app.cli.headless import plan_headless

    return plan_headless(**options)


@cli.command()
@patch_argument
@click.option("--out", type=PATH, default=Path("trace.json"), metavar="FILE", help="File to write.")
@frames_option(10)
@device_option
@engine_option
@trust_option
def trace(**options: Any) -> int:
    """Record the time of every kernel in some frames, as a trace for Perfetto and chrome://tracing."""
    check_device(options["device"])
    from warploom.app.cli.headless import trace_headless

    return trace_headless(**options)


@cli.command()
@patch_argument
@click.option("--python", type=PATH, metavar="FILE", help="Write FILE.py, a script that builds the patch and runs it.")
@click.option(
    "--standalone",
    type=PATH,
    metavar="FILE",
    help="Write FILE.py, which runs the graph on a GPU with cuda-python and numpy, without Warploom.",
)
@click.option(
    "--cpp",
    type=PATH,
    metavar="DIR",
    help="Write DIR with kernels, the plan and a C++ program that runs the graph on a GPU; CMake builds it.",
)
@click.option(
    "--architecture",
    metavar="SM",
    help="The GPU that kernels are compiled for, such as sm_90; others compile their PTX.",
    show_default="the first GPU of this machine; without one, only PTX",
)
@trust_option
def export(**options: Any) -> int:
    """Write a patch as a program."""
    from warploom.app.cli.exporting import export_patch

    return export_patch(**options)


@cli.command()
@patch_argument
@click.argument("folder", type=PATH, metavar="DIR", help="A new or empty folder.")
@trust_option
def collect(**options: Any) -> int:
    """Copy a patch and all files that it reads, with the blocks beside it, into a folder."""
    from warploom.app.cli.exporting import collect_patch

    return collect_patch(**options)


@cli.command()
@click.argument("name", required=False, help="Id of a block type, or words to search for.")
@json_option
def blocks(name: str | None, as_json: bool) -> None:
    """List the block types, all or those that a search finds, or one block type's ports, parameters and help."""
    reported: dict[str, Any] = {"blocks": []} if name is None else {"id": name}
    with json_object(as_json, reported.copy):
        from warploom.app.cli.listings import list_blocks

        list_blocks(reported, name, as_json)


@cli.command()
@click.argument("file", type=PATH, metavar="FILE", help="A .cu, .ptx or .py file; a .py file is executed.")
@click.option(
    "--write-json",
    is_flag=True,
    help="Write NAME.json beside the file, or NAME.ENTRY.json for each of several entry points.",
)
def kernel(file: Path, write_json: bool) -> None:
    """Show the entry points of a kernel file, their parameters and directions."""
    from warploom.app.cli.listings import show_kernel

    show_kernel(file, write_json)


@cli.command("engine")
def engine_process() -> None:
    """Run an engine by messages on standard input and output, for --engine COMMAND."""
    with _importing():
        import warploom.api  # noqa: F401 - block files do so; a process that waits for its patch has the time for it
        from warploom.engine.catalogue.catalogue import default_catalogue
        from warploom.engine.runtime.serve import serve_standard_streams

        default_catalogue()
    serve_standard_streams()


@cli.command()
@json_option
def devices(as_json: bool) -> None:
    """List the devices of this machine, with the reason why one can't be used."""
    reported: dict[str, Any] = {"devices": []}
    with json_object(as_json, reported.copy):
        from warploom.app.cli.listings import show_devices

        show_devices(reported, as_json)


def main() -> None:
    """Run the command line. An error is reported on stderr and by the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names can have characters that the terminal can't show
    with log_outputs():
        try:
            sys.exit(cli.main(prog_name="warploom", standalone_mode=False))
        except Exception as problem:  # noqa: BLE001 - the user sees one line, and the log has the details
            sys.exit(end(problem))
