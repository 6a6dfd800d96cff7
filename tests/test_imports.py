import subprocess
import sys


def fresh(code):
    """Run code in a fresh interpreter and return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout.split()


def test_importing_fenceline_loads_nothing_heavy():
    heavy = ("pandas", "sklearn", "matplotlib", "torch", "pytest", "optuna")
    code = f"import sys, fenceline; print(*[m for m in {heavy} if m in sys.modules])"
    assert fresh(code) == []


def test_importing_fenceline_is_quick():
    # Processor time, so that a busy machine does not fail it; the best of two, so that a cold
    # disk does not either.
    code = "import time; import fenceline; print(time.process_time())"
    assert min(float(fresh(code)[0]) for _ in range(2)) < 1.0
