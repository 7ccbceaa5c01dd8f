"""A CUDA device, on the driver API; `engine.device.open` imports this room only when one is opened."""
