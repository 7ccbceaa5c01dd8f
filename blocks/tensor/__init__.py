"""Networks that learn, and the data that they learn from."""
