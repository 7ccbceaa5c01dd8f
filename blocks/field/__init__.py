"""Values on a grid of points: heat, waves, drops, fluids, slime mould."""
