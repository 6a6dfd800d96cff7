"""Versions that must be the same wherever a run measures."""

from collections.abc import Callable, Mapping


def asking() -> Callable[[], dict[str, str]]:
    """Return a function that tells the versions of its place, and that needs nothing of ours there."""

    def ask() -> dict[str, str]:
        import platform
        from importlib.metadata import PackageNotFoundError, version

        found = {"Python": platform.python_version()}
        for name in ("fenceline", "scikit-learn"):
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = "absent"
        return found

    return ask


def versions() -> dict[str, str]:
    """Return the versions that must be the same wherever a run measures."""
    return asking()()


def differing(found: Mapping[str, str], wanted: Mapping[str, str] | None = None) -> str:
    """Say which versions differ; of Python and scikit-learn only the first two numbers count."""
    here = versions() if wanted is None else wanted
    return ", ".join(
        f"{name} {found.get(name, 'absent')} (the run has {version})"
        for name, version in here.items()
        if _counted(name, found.get(name, "absent")) != _counted(name, version)
    )


def _counted(name: str, version: str) -> str:
    return version if name == "fenceline" else ".".join(version.split(".")[:2])
