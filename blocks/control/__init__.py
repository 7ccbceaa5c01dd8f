"""Regions: parts of a patch that run when something holds, or again and again; and what steers them."""
