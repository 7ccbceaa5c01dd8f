"""What lenses and film do to an image."""
