"""Block types: how they are declared, what they describe, and the catalogue of all of them."""
