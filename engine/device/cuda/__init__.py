"""A CUDA device, on the driver API; import `engine.device.open` to get one, which loads this room only when needed."""
