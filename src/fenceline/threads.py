"""One thread for numerical libraries, at the price of a look at what is loaded when that has changed."""

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def _controller(modules: int) -> Any:
    """Return a controller of the libraries that are loaded; `modules` changes when others come."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread(kind: str | None = "blas") -> AbstractContextManager[Any]:
    """Return a context with one thread: by default of BLAS, for the search's own small matrices.

    A few hundred rows leave nothing to share; threads that wait for each other made a search
    three to fifteen times slower on a busy machine.

    Parameters
    ----------
    kind : {"blas", "openmp"} or None
        Whose threads; None for all, as measurements need it.
    """
    controller = _controller(len(sys.modules))
    limited: AbstractContextManager[Any] = controller.limit(limits=1, user_api=kind)
    return limited
