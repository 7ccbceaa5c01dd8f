"""Devices that run graphs of kernels: `open.open_device` opens one, `device.Device` says what it can do."""
