"""Pictures and levels from other programs and machines, and to them."""
