"""Networks that learn, and their data."""
