"""Networks as tensor graphs: layers, losses, optimisers and functions. Nothing here is on a device."""
