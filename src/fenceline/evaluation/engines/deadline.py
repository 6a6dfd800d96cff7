"""Calls into a cluster that end when they should, whether it answers or not."""

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def within(
    seconds: float, function: Callable[..., T], *args: Any, late: Callable[[T], Any] | None = None
) -> T:
    """Call a function; raise TimeoutError if it has not returned after so many seconds.

    The call goes on in a thread that the end of the process does not wait for. What it returns
    too late is given to `late`, to be closed, say.
    """
    answers: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
    lock, given_up = threading.Lock(), False

    def call() -> None:
        found: Any
        try:
            good, found = True, function(*args)
        except BaseException as problem:
            good, found = False, problem
        with lock:
            answers.put((good, found))
            tidy = good and given_up
        if tidy and late is not None:
            late(found)

    threading.Thread(target=call, daemon=True, name="fenceline-cluster-call").start()
    try:
        good, found = answers.get(timeout=max(0.0, seconds))
    except queue.Empty:
        with lock:
            given_up = answers.empty()
        if given_up:
            raise TimeoutError(f"no answer for {seconds:.3g} seconds") from None
        good, found = answers.get()
    if not good:
        raise found
    return found  # type: ignore[no-any-return]
