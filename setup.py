"""The packages of an installation: `warploom`, whose parts are links in a checkout, and its old name `engine`."""

import sys
from pathlib import Path

from setuptools import find_namespace_packages, setup

# Git for Windows writes links as small files unless it may make links. Only editable installations work without them.
if not Path("warploom/app").is_dir() and {"bdist_wheel", "sdist"} & set(sys.argv):
    sys.exit("the links in warploom/ must be links, got files; clone with: git clone -c core.symlinks=true URL")

setup(packages=[*find_namespace_packages(include=["warploom*"]), "engine"], package_dir={"engine": "warploom/alias"})
