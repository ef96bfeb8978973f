"""The one error type that users meet: what is wrong, where, what was got and expected, what to do."""


class ParkfError(Exception):
    """Bad input or an outcome that must stop the chain; the command line prints it and exits with 1."""
