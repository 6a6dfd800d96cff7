"""One BLAS thread for the search's own small matrices, whatever the user's measurements use."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Return a context with one BLAS thread.

    A few hundred rows leave nothing to share; threads that wait for each other made a search
    three to fifteen times slower on a busy machine.
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
