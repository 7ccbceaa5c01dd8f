"""The command line. Each command turns its words into one call and its outcome into an exit status.

0: done. 1: the patch or its data is wrong. 2: wrong usage. 3: the device failed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from engine.diagnostics import DeviceError, WarploomError

PATCH_WRONG, USAGE_WRONG, DEVICE_FAILED = 1, 2, 3
_OWN_OPTIONS = {"--help", "--install-completion", "--show-completion"}


class _EditByDefault(TyperGroup):
    """`warploom PATCH` and plain `warploom` mean `warploom edit ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in _OWN_OPTIONS):
            args = ["edit", *args]
        return super().parse_args(ctx, args)


cli = typer.Typer(
    cls=_EditByDefault,
    help="Warploom: patch GPU pipelines live. With no command, opens the editor.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

PatchPath = Annotated[Path, typer.Argument(help="A .loom file.")]
DeviceName = Annotated[str, typer.Option("--device", metavar="auto|host|cuda:0", help="What to run on.")]
Trust = Annotated[bool, typer.Option("--trust", help="Run the block files in `blocks/` beside the patch.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


@cli.command()
def edit(
    patch: Annotated[Path | None, typer.Argument(help="A .loom file; none: the examples.")] = None,
    device: DeviceName = "auto",
    screenshot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run for a moment, save the window's picture, exit.")
    ] = None,
    trust: Trust = False,
) -> None:
    """Open the editor."""
    from app.qt.qt_check import require_qt

    require_qt()
    from app.editor import run_editor

    raise typer.Exit(run_editor(patch, device, screenshot, trust=trust))


@cli.command()
def run(
    patch: PatchPath,
    frames: Annotated[int, typer.Option(min=1, help="How many frames.")] = 60,
    device: DeviceName = "auto",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NODE.PARAM=VALUE", help="Set a parameter; may be repeated.")
    ] = None,
    profile: Annotated[
        str, typer.Option(metavar="LEVEL", help="none, summary, per-block or per-kernel.")
    ] = "per-block",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Save every output there.")] = None,
    time_step: Annotated[
        float, typer.Option(metavar="SECONDS", help="How much of the patch's time each frame is.", show_default="1/60")
    ] = 1 / 60,
    rate: Annotated[
        float | None, typer.Option(metavar="FPS", help="At most so many frames a second; else as fast as they go.")
    ] = None,
    realtime: Annotated[
        bool, typer.Option("--realtime", help="The patch's time follows the wall's; 60 frames a second if no --rate.")
    ] = False,
    json: Json = False,
    trust: Trust = False,
) -> None:
    """Run a patch with no window, save its outputs and print a table or JSON.

    Frames follow each other at once and each is one time step long, so that every run gives the same.
    """
    from app.headless import Timing, run_headless

    timing = Timing(time_step, rate, realtime)
    raise typer.Exit(run_headless(patch, frames, device, settings or [], profile, out, json, timing, trust=trust))


@cli.command()
def check(patch: PatchPath, json: Json = False, trust: Trust = False) -> None:
    """Say whether a patch would compile, and what is wrong if not."""
    from app.headless import check_headless

    raise typer.Exit(check_headless(patch, json, trust=trust))


@cli.command()
def plan(
    patch: PatchPath,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, dot, svg or memory (an SVG of memory over time).")
    ] = "text",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it there instead of printing it.")] = None,
    trust: Trust = False,
) -> None:
    """Show what a patch compiles to: operations, what waits for what, and which buffers share memory."""
    from app.headless import plan_headless

    raise typer.Exit(plan_headless(patch, form, out, trust=trust))


@cli.command()
def trace(
    patch: PatchPath,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the trace.")] = Path("trace.json"),
    frames: Annotated[int, typer.Option(min=1, help="How many frames.")] = 10,
    device: DeviceName = "auto",
    trust: Trust = False,
) -> None:
    """Time every kernel of some frames; Perfetto and chrome://tracing open the result."""
    from app.headless import trace_headless

    raise typer.Exit(trace_headless(patch, out, frames, device, trust=trust))


@cli.command()
def blocks(
    name: Annotated[str | None, typer.Argument(help="One block type's id.")] = None,
    json: Json = False,
) -> None:
    """List the block types, or one block type's ports, parameters and help."""
    from app.listings import list_blocks

    list_blocks(name, json)


@cli.command()
def kernel(
    file: Annotated[Path, typer.Argument(help="A .cu or .ptx file.")],
    write_json: Annotated[bool, typer.Option("--write-json", help="Write NAME.json beside the file.")] = False,
) -> None:
    """Show the entry points of a kernel file, their parameters and directions."""
    from app.listings import show_kernel

    show_kernel(file, write_json)


@cli.command()
def devices(json: Json = False) -> None:
    """List what this machine can run on, and why not the rest."""
    from app.listings import show_devices

    show_devices(json)


def main() -> None:
    """Run the command line; a problem that was foreseen ends in one line on stderr and its exit status."""
    try:
        cli(prog_name="warploom")
    except DeviceError as problem:
        typer.echo(f"error: {problem}", err=True)
        sys.exit(DEVICE_FAILED)
    except WarploomError as problem:
        typer.echo(f"error: {problem}", err=True)
        sys.exit(PATCH_WRONG)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as problem:  # noqa: BLE001 - a person gets one line; the details go to a file
        from platformdirs import user_state_path

        from app.qt.faults import record_fault

        typer.echo(f"error: {record_fault(problem, user_state_path('warploom'))}", err=True)
        sys.exit(PATCH_WRONG)
