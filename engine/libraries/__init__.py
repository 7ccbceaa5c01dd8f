"""Library calls: computations as plain data, and how a CUDA device and the host run them."""
