"""The command line. Each command turns its words into one call and its outcome into an exit status.

0: done. 1: the patch or its data is wrong. 2: wrong usage. 3: the device failed.

A command imports what it needs itself, so that `warploom --help` loads none of it. A function of many options takes
them by the names that are declared here.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from engine.diagnostics import DeviceError, WarploomError

PATCH_WRONG, USAGE_WRONG, DEVICE_FAILED = 1, 2, 3
INTERRUPTED = 130


class _EditByDefault(click.Group):
    """`warploom PATCH` and plain `warploom` mean `warploom edit ...`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of this file

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, "--help", "--version"):
            if args and args[0].isidentifier() and not _find_patch(args[0]).exists():
                near = difflib.get_close_matches(args[0], self.commands)
                hint = f"; did you mean {' or '.join(near)}?" if near else ""
                ctx.fail(f"a command, a patch's file or an example's name must come first, got {args[0]!r}{hint}")
            args = ["edit", *args]
        return super().parse_args(ctx, args)


def _find_patch(text: str) -> Path:
    """Return the file that `text` means: that path or, when nothing is there, the example of that name."""
    path = Path(text)
    if text.isidentifier() and not path.exists():
        from engine.patch.files import EXAMPLES_FOLDER, SUFFIX

        example = EXAMPLES_FOLDER / f"{text}{SUFFIX}"
        return example if example.is_file() else path
    return path


class _PatchFile(click.ParamType[Path]):
    name = "patch"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return value if isinstance(value, Path) else _find_patch(value)


_Command = Callable[..., Any]
_PATH = click.Path(path_type=Path)
_patch = click.argument("patch", type=_PatchFile(), metavar="PATCH", help="A .loom file, or an example: particles.")
_device = click.option("--device", default="auto", metavar="auto|host|cuda:0", help="What to run on.")
_engine = click.option("--engine", metavar="COMMAND", help="Run in another process: `warploom engine`, also by ssh.")
_trust = click.option(
    "--trust", is_flag=True, help="Run the block files beside the patch; let it write and listen anywhere."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def _frames(default: int) -> Callable[[_Command], _Command]:
    return click.option("--frames", type=click.IntRange(min=1), default=default, metavar="N", help="How many frames.")


@click.group(cls=_EditByDefault, context_settings={"show_default": True})
@click.version_option(package_name="warploom")
def cli() -> None:
    """Warploom: patch GPU pipelines live. With no command, opens the editor."""


@cli.command()
@click.argument(
    "patch", type=_PatchFile(), metavar="[PATCH]", required=False, help="A .loom file; none: a choice of examples."
)
@_device
@_engine
@click.option("--screenshot", type=_PATH, metavar="FILE", help="Run for a moment, save the window's picture, exit.")
@_trust
def edit(**options: Any) -> int:
    """Open the editor."""
    from app.qt.qt_check import require_qt

    require_qt()
    from app.editor import run_editor

    return run_editor(**options)


@cli.command()
@_patch
@_frames(60)
@_device
@_engine
@click.option("--set", "settings", multiple=True, metavar="NODE.PARAM=VALUE", help="Set a parameter; may be repeated.")
@click.option("--profile", default="per-block", metavar="LEVEL", help="none, summary, per-block or per-kernel.")
@click.option("--out", type=_PATH, metavar="DIR", help="Save every output there.")
@click.option(
    "--time-step",
    "step_s",
    type=float,
    default=1 / 60,
    metavar="SECONDS",
    help="How much of the patch's time each frame is.",
    show_default="1/60",
)
@click.option("--rate", type=float, metavar="FPS", help="At most so many frames a second; else as fast as they go.")
@click.option(
    "--realtime",
    "real_time",
    is_flag=True,
    help="The patch's time follows the wall's; 60 frames a second if no --rate.",
)
@_json
@_trust
def run(**options: Any) -> int:
    """Run a patch with no window, save its outputs and print a table or JSON.

    Frames follow each other at once and each is one time step long, so that every run gives the same.
    """
    from app.headless import run_headless

    return run_headless(**options)


@cli.command()
@_patch
@_json
@_trust
def check(**options: Any) -> int:
    """Say whether a patch would compile, and what is wrong if not."""
    from app.headless import check_headless

    return check_headless(**options)


@cli.command()
@_patch
@click.option(
    "--format", "form", default="text", metavar="FORMAT", help="text, dot, svg or memory (an SVG of memory over time)."
)
@click.option("--out", type=_PATH, metavar="FILE", help="Write it there instead of printing it.")
@_trust
def plan(**options: Any) -> int:
    """Show what a patch compiles to: operations, what waits for what, and which buffers share memory."""
    from app.headless import plan_headless

    return plan_headless(**options)


@cli.command()
@_patch
@click.option("--out", type=_PATH, default=Path("trace.json"), metavar="FILE", help="Where to write the trace.")
@_frames(10)
@_device
@_engine
@_trust
def trace(**options: Any) -> int:
    """Time every kernel of some frames; Perfetto and chrome://tracing open the result."""
    from app.headless import trace_headless

    return trace_headless(**options)


@cli.command()
@click.argument("name", required=False, help="One block type's id.")
@_json
def blocks(name: str | None, as_json: bool) -> None:
    """List the block types, or one block type's ports, parameters and help."""
    from app.listings import list_blocks

    list_blocks(name, as_json)


@cli.command()
@click.argument("file", type=_PATH, metavar="FILE", help="A .cu or .ptx file.")
@click.option("--write-json", is_flag=True, help="Write NAME.json beside the file.")
def kernel(file: Path, write_json: bool) -> None:
    """Show the entry points of a kernel file, their parameters and directions."""
    from app.listings import show_kernel

    show_kernel(file, write_json)


@cli.command("engine")
def engine_process() -> None:
    """Run an engine by messages on standard input and output, for --engine COMMAND."""
    from engine.runtime.serve import serve_standard_streams

    serve_standard_streams()


@cli.command()
@_json
def devices(as_json: bool) -> None:
    """List what this machine can run on, and why not the rest."""
    from app.listings import show_devices

    show_devices(as_json)


def main() -> None:
    """Run the command line; a problem that was foreseen ends in one line on stderr and its exit status."""
    try:
        sys.exit(cli.main(prog_name="warploom", standalone_mode=False))
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except DeviceError as problem:
        click.echo(f"error: {problem}", err=True)
        sys.exit(DEVICE_FAILED)
    except WarploomError as problem:
        click.echo(f"error: {problem}", err=True)
        sys.exit(PATCH_WRONG)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(INTERRUPTED)
    except Exception as problem:  # noqa: BLE001 - a person gets one line; the details go to a file
        from platformdirs import user_state_path

        from app.qt.faults import record_fault

        click.echo(f"error: {record_fault(problem, user_state_path('warploom'))}", err=True)
        sys.exit(PATCH_WRONG)
