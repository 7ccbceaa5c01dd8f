"""The block library: one block type in each file."""

if __name__ == "blocks":  # in a checkout, by its old name
    from warploom.alias import alias

    alias(__name__)
