"""Library calls on CUDA, by NVIDIA's libraries."""
