"""The function and its data, pickled once into a file that every child maps into its memory."""

import pickle
import tempfile
from collections.abc import Callable
from typing import IO, Any

import cloudpickle

from fenceline.errors import DefinitionError, EngineError
from fenceline.evaluation.sandbox.guard import LENGTH

_ALIGNMENT = 64


class Parcel:
    """A file without a name, so that nothing is left behind however the process ends.

    Arrays are kept outside the pickle (protocol 5): children read them through the same pages
    of memory, and cannot change them.
    """

    def __init__(self, *chunks: Any) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the parcel
        try:
            for chunk in chunks:
                self._file.write(b"\0" * (-self._file.tell() % _ALIGNMENT))
                self._file.write(chunk)
            self._file.flush()
        except OSError as problem:
            self._file.close()
            raise EngineError(
                f"The data of the measurement cannot be written to {tempfile.gettempdir()} "
                f"({problem}); make room there, or let TMPDIR name another directory."
            ) from problem

    @classmethod
    def pack(cls, function: Callable[[Any], Any]) -> "Parcel":
        """Pickle a function with everything it refers to."""
        buffers: list[pickle.PickleBuffer] = []
        body = dumps(function, buffers.append)
        chunks = [memoryview(body), *(buffer.raw() for buffer in buffers)]
        head, at = LENGTH.pack(len(chunks)), LENGTH.size + 16 * len(chunks)
        for chunk in chunks:
            at += -at % _ALIGNMENT
            head += LENGTH.pack(at) + LENGTH.pack(chunk.nbytes)
            at += chunk.nbytes
        return cls(head, *chunks)

    def fileno(self) -> int:
        """Return the open file, to be handed to a child."""
        return self._file.fileno()

    def read(self) -> bytes:
        """Return everything, to be sent to another machine and made a `Parcel` there."""
        self._file.seek(0)
        return self._file.read()

    def close(self) -> None:
        """Give the space back, once the last child is gone."""
        self._file.close()


def dumps(thing: Any, buffer_callback: Callable[[pickle.PickleBuffer], Any] | None = None) -> bytes:
    """Pickle something for a worker, or say what cannot be pickled and what to do."""
    try:
        return bytes(cloudpickle.dumps(thing, protocol=5, buffer_callback=buffer_callback))
    except Exception as problem:
        raise DefinitionError(
            f"{_shortened(repr(thing))} cannot be sent to a worker process ({type(problem).__name__}: {problem}). "
            "Let it hold plain data, and open files, locks and connections inside the call."
        ) from problem


def _shortened(text: str, most: int = 500) -> str:
    """Return a text whose middle is left out if it is long: its ends tell what it is."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} ... {text[-half:]}"
