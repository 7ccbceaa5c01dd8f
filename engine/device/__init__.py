"""Devices that run graphs of kernels: `open.open_device` opens one, `protocol` says what it can do."""
