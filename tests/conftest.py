"""What holds for all tests in Python."""

LONG = 200


def pytest_make_parametrize_id(val, argname):
    """The name of a test is in its environment, of which Linux takes 128 KiB for a variable."""
    return f"{argname} of {len(val)}" if isinstance(val, (str, bytes)) and len(val) > LONG else None
