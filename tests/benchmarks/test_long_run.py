import pytest

from benchmarks import long_run


def test_a_short_run_tells_its_memory_and_whether_it_is_within_the_target(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert long_run.run(20, full=False, every=10) > 10
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["10", "20"]
    monkeypatch.setattr(long_run, "run", lambda evaluations, full: 500.5)
    assert long_run.main(["--evaluations", "20"]) == 1
    monkeypatch.setattr(long_run, "run", lambda evaluations, full: 499.5)
    assert long_run.main([]) == 0
