"""Library calls on the host, by numpy and scipy."""
