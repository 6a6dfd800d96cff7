import contextlib
import sys
from typing import Any

import pytest

from fenceline.errors import DefinitionError, MissingDependencyError
from fenceline.evaluation import Limits, Local, Serial, open_engine


def test_one_worker_without_limits_needs_no_process() -> None:
    assert isinstance(open_engine(), Serial)


@pytest.mark.parametrize(
    ("engine", "workers", "limits"),
    [(None, 2, None), (None, 1, Limits(seconds=1)), ("local", 1, None)],
)
def test_several_workers_or_limits_get_guarded_processes(
    engine: str | None, workers: int, limits: Limits | None
) -> None:
    with contextlib.closing(open_engine(engine, workers, limits)) as opened:
        assert isinstance(opened, Local)
        assert opened.workers == workers
        assert opened.limits == (limits or Limits())


def test_an_engine_object_is_used_as_it_is() -> None:
    with contextlib.closing(Local(2)) as engine:
        assert open_engine(engine) is engine
        with pytest.raises(DefinitionError, match=r"open it with them, as in Local\(.*limits="):
            open_engine(engine, limits=Limits(seconds=1))


@pytest.mark.parametrize(
    "engine", ["", "dask", "dask://", "spark://here", "ray://", "Local", 3, Local]
)
def test_what_is_no_engine_is_refused_with_what_is(engine: Any) -> None:
    with pytest.raises(DefinitionError, match=r"engine must be None, 'local', 'dask://host:port'"):
        open_engine(engine)


def test_what_are_no_limits_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"Limits\(seconds=\.\.\..* Got 60"):
        open_engine(limits=60)  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [0, 2.5])
def test_a_senseless_number_of_workers_is_refused(workers: Any) -> None:
    with pytest.raises(DefinitionError, match="workers must be a whole number"):
        open_engine(workers=workers)


@pytest.mark.parametrize(
    ("engine", "module", "extra"),
    [("dask://127.0.0.1:9", "distributed", "dask"), ("ray", "ray", "ray")],
)
def test_without_the_package_the_error_names_the_extra(
    engine: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"fenceline.evaluation.engines.{extra}", raising=False)
    with pytest.raises(MissingDependencyError, match=rf"pip install fenceline\[{extra}\]"):
        open_engine(engine)
