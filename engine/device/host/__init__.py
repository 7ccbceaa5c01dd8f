"""The host device: the same PTX, compiled for the CPU."""

from engine.device.host.device import HostDevice

__all__ = ["HostDevice"]
