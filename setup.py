"""The packages of an installation: `warploom`, whose parts are links in a checkout, and its old name `engine`."""

from setuptools import find_namespace_packages, setup

setup(packages=[*find_namespace_packages(include=["warploom*"]), "engine"], package_dir={"engine": "warploom/alias"})
