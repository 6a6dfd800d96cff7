"""Settings of the whole test run."""

import contextlib
import signal

import pytest

# A shell that starts a run in the background makes it ignore Ctrl-C, and every process that it
# starts as well; the tests of Ctrl-C are then about nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What a property is worth does not depend on how busy the machine is.
with contextlib.suppress(ImportError):  # the pages are tested without it
    from hypothesis import settings

    settings.register_profile("any machine", deadline=None)
    settings.load_profile("any machine")

LONG = ("test_examples.py", "test_ray.py", "test_dask.py")
"""Files with the longest tests."""


@pytest.hookimpl(trylast=True)  # after the random order is drawn
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest: one that comes last leaves the other processor idle for its length."""
    items.sort(key=lambda item: item.path.name not in LONG)
