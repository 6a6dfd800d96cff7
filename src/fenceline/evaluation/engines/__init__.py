"""Where measurements run: in this process, in guarded children, on a cluster."""

from importlib import import_module
from typing import TYPE_CHECKING

from fenceline.errors import DefinitionError
from fenceline.evaluation.engines.engine import Engine, Outcome
from fenceline.evaluation.engines.local import Local
from fenceline.evaluation.engines.serial import Serial
from fenceline.evaluation.limits import Limits

if TYPE_CHECKING:
    from fenceline.evaluation.engines.dask import Dask
    from fenceline.evaluation.engines.ray import Ray

__all__ = ["Dask", "Engine", "Limits", "Local", "Outcome", "Ray", "Serial", "open_engine"]

_FORMS = "None, 'local', 'dask://host:port', 'ray', 'ray://host:port' or an engine object"
_METHODS = ("put", "submit", "next", "cancel", "close")


def open_engine(
    engine: str | Engine | None = None,
    workers: int = 1,
    limits: Limits | None = None,
    seconds: float | None = None,
) -> Engine:
    """Open the engine a run was asked to use.

    Parameters
    ----------
    engine : str or Engine, optional
        None runs on this machine: in this very process for one worker without limits, in
        guarded child processes otherwise. ``"local"`` always uses guarded processes,
        ``"dask://host:port"`` a Dask scheduler, ``"ray://host:port"`` a Ray cluster and
        ``"ray"`` one started for the run. An engine object is returned as it is.
    workers : int
        How many measurements run at once on this machine; a cluster uses all it has.
    limits : Limits
        What one measurement may use; an engine object has its own.
    seconds : float, optional
        The budget of the run; to connect to a cluster takes no longer.

    Raises
    ------
    DefinitionError
        The engine is none of these, or the other arguments do not go with it.
    MissingDependencyError
        Dask or Ray is not installed; the message names the extra.
    EngineError
        Nobody answers at the address.
    """
    if limits is not None and not isinstance(limits, Limits):
        raise DefinitionError(
            f"limits must be Limits(seconds=..., megabytes=...) or None. Got {limits!r}."
        )
    if engine is None or engine == "local":
        if engine is None and workers == 1 and workers is not True and limits is None:
            return Serial()
        return Local(workers, limits)
    if isinstance(engine, str):
        return _open_cluster(engine, limits, seconds)
    if isinstance(engine, type) or not all(
        callable(getattr(engine, name, None)) for name in _METHODS
    ):
        raise DefinitionError(f"engine must be {_FORMS}. Got {engine!r}.")
    if limits is not None:
        raise DefinitionError(
            f"limits={limits!r} cannot be given to an engine that is open already; open it with "
            f"them, as in {type(engine).__name__}(..., limits=...)."
        )
    return engine


def _open_cluster(engine: str, limits: Limits | None, seconds: float | None) -> Engine:
    scheme, _, place = engine.partition("://")
    if scheme == "dask" and place:
        return __getattr__("Dask")(f"tcp://{place}", limits, seconds=seconds)  # type: ignore[no-any-return]
    if engine == "ray" or (scheme == "ray" and place):
        return __getattr__("Ray")(engine if place else None, limits)  # type: ignore[no-any-return]
    raise DefinitionError(f"engine must be {_FORMS}. Got {engine!r}.")


def __getattr__(name: str) -> type:
    """Import an engine whose packages are optional when it is first asked for."""
    if name in ("Dask", "Ray"):
        found: type = getattr(import_module(f"{__name__}.{name.lower()}"), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
