"""Devices that run graphs of kernels: `open.open_device` opens one, `device.Device` declares its methods."""
