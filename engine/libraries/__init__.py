"""Library calls: what they compute, and how a CUDA device and the host have it done."""
