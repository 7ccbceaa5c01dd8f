"""A CUDA device, on the driver API. `engine.device.open` imports this package only to open one."""
