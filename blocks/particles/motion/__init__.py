"""What moves particles: forces, neighbours and solids."""
