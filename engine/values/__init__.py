"""Values: the numbers that drive parameters, computed on the engine's thread before each launch."""
