"""Warploom's version: the installed one, or that of the checkout from which it runs."""

import tomllib
from importlib import metadata
from pathlib import Path


def version() -> str:
    """Return the version, such as "0.2.0"."""
    try:
        return metadata.version("warploom")
    except metadata.PackageNotFoundError:
        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
        return str(project["project"]["version"])
