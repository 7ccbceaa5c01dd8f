"""Tables and arrays in files."""
