"""Small widgets that several parts of the editor share."""
