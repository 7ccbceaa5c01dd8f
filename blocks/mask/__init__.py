"""What images show: parts, outlines, distances, and levels that fit them."""
