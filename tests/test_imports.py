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
    # Beside what it cannot do without, for a busy machine takes longer for both: 1.7 times as long.
    code = "import time; {}; print(time.process_time())"
    needs = "import scipy.optimize, scipy.special, scipy.linalg"
    ours, theirs = (
        min(float(fresh(code.format(what))[0]) for _ in range(2))
        for what in ("import fenceline", needs)
    )
    assert ours < 2.5 * theirs
