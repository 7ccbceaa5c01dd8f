"""The program: the command line and the editor's window."""

if __name__ == "app":  # in a checkout, by its old name
    from warploom.alias import alias

    alias(__name__)
