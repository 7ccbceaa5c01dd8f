"""Commands that take `--verbose`, in a group whose first command may be left out."""

import difflib
import logging
import re
import sys
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from warploom.app.logs import choose_levels

_log = logging.getLogger(__name__)
_VERBOSITY = re.compile("-v+|--verbose")


class LoggedCommand(click.Command):
    """A command that takes `--verbose`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        text = "Log each action to standard error; -vv logs everything."
        self.params.append(click.Option(["-v", "--verbose"], count=True, show_default=False, help=text))

    def invoke(self, ctx: click.Context) -> Any:
        import platform

        from warploom.engine.version import version

        is_engine = self.name == "engine"  # the engine's client prints and writes the engine's records
        traceless = is_engine or ctx.params.get("screenshot") is not None
        choose_levels(ctx.params.pop("verbose"), prints=not is_engine, writes=not traceless)
        system = f"{platform.system()} {platform.release()} {platform.machine()}"
        _log.info(
            "warploom %s (%s, Python %s, %s)", " ".join(sys.argv[1:]), version(), platform.python_version(), system
        )
        return super().invoke(ctx)


class EditByDefault(click.Group):
    """`warploom PATCH` and `warploom` without arguments mean `warploom edit ...`."""

    command_class = LoggedCommand

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of this file

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        flags = list(takewhile(_VERBOSITY.fullmatch, args))  # these flags may also precede the command
        args = args[len(flags) :]
        if not args or args[0] not in (*self.commands, "--help", "--version"):
            if args and args[0].isidentifier() and _means_nothing(args[0]):
                near = difflib.get_close_matches(args[0], self.commands)
                hint = f"; did you mean {' or '.join(near)}?" if near else ""
                ctx.fail(f"a command, a patch's file or an example's name must come first, got {args[0]!r}{hint}")
            args = ["edit", *args]
        if args[0] in self.commands:
            args = [args[0], *flags, *args[1:]]
        return super().parse_args(ctx, args)


def _means_nothing(word: str) -> bool:
    from warploom.app.documents.gallery import find_patch

    try:
        return not find_patch(Path(word)).exists()
    except OSError:
        return True
