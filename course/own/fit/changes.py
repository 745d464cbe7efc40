"""On a rank: changes to a script that would save memory, made while it runs."""


def install(requested: dict) -> None:
    """Make the changes that are requested, from now on."""
