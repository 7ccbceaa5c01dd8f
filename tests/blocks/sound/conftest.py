"""Fixtures of the tests of sound."""

from tests.blocks.sound.fake_devices import sounds

__all__ = ["sounds"]
