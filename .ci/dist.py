"""Build the sdist and, from it, the wheel; install the wheel alone with each Python there is, and use it.

Run by ``make dist``. Standard library only, apart from ``build``.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PACKAGE = ROOT / "src" / "fenceline"
VERSIONS = ("3.11", "3.12", "3.13")

USE = """
import subprocess, sys, time
import fenceline as fl
from importlib.metadata import version
from pathlib import Path
from fenceline import data
from fenceline.problems import artificial
assert Path(fl.__file__).is_relative_to(sys.prefix), fl.__file__
assert data.credit().shape == (4454, 14), data.credit().shape
result = fl.minimize(artificial(0), evaluations=20)
assert len(result.evaluations) == 20 and result.status == "feasible", result.message
command = Path(sys.prefix, "bin", "fenceline")
printed = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
assert version("fenceline") in printed, printed
clock = "import time; t = time.perf_counter(); import fenceline; print(time.perf_counter() - t)"
times = [float(subprocess.check_output([sys.executable, "-I", "-c", clock])) for _ in range(3)]
print(f"Python {sys.version.split()[0]}: '{printed.strip()}' imports in {min(times):.2f} s and searches")
"""


def main() -> None:
    """Build, look inside, install and use; any failure ends with its reason."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    (wheel,) = DIST.glob("*.whl")
    compare(wheel)
    found = {version: interpreter(version) for version in VERSIONS}
    with tempfile.TemporaryDirectory() as place:
        for python in filter(None, found.values()):
            print(use(wheel, python, Path(place)), flush=True)
    for built in sorted(DIST.iterdir()):
        print(f"dist/{built.name}: {built.stat().st_size / 1024:.0f} kB")
    missing = [version for version, python in found.items() if python is None]
    if missing:
        print(f"Not checked, for want of an interpreter: Python {', '.join(missing)}")
    if len(missing) == len(VERSIONS):
        sys.exit(1)


def compare(wheel: Path) -> None:
    """Check that the wheel holds every file of the package: types, data, templates and all."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("fenceline/")}
    there = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    if packed != there:
        sys.exit(f"The wheel differs from src/fenceline in {sorted(packed ^ there)}.")
    if "fenceline/py.typed" not in packed:
        sys.exit("The wheel has no py.typed.")


def use(wheel: Path, python: str, place: Path) -> str:
    """Install the wheel with nothing but what it asks for, use it away from the sources, report."""
    run(python, "-m", "venv", "--clear", place)
    fresh = place / "bin" / "python"
    run(fresh, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    return run(fresh, "-I", "-c", USE, cwd=place)


def interpreter(version: str) -> str | None:
    """Return a Python of this version, from the path or from pyenv."""
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    candidates = [shutil.which(f"python{version}"), *sorted(homes.glob(f"{version}.*/bin/python"))]
    for candidate in filter(None, candidates):
        # A shim of pyenv may be there for a version that is not switched on.
        asked = [str(candidate), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(asked, capture_output=True, text=True)
        if answer.stdout.strip() == version:
            return str(candidate)
    return None


def run(*command: object, cwd: Path = ROOT) -> str:
    """Run a command and return what it prints; end with all of it if it fails."""
    words = list(map(str, command))
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"Failed: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
