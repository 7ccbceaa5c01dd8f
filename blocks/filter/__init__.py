"""What a window around each pixel gives: means, weighted sums, smallest and largest values."""
