"""The software and the machine, as far as they can be read without asking anybody."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("fenceline", "scikit-learn", "numpy", "scipy", "pandas", "skops")
_EXTRAS = ("lightgbm", "xgboost", "catboost")


def environment() -> dict[str, str]:
    """Return versions of what predictions depend on, the operating system and the processor."""
    found = {"python": platform.python_version()}
    for name in (*_PACKAGES, *_EXTRAS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "processors": str(os.cpu_count() or "unknown"),
        "memory": _memory(),
    }


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):  # not on every system
        return "unknown"
    return f"{size / 1e9:.0f} GB"
