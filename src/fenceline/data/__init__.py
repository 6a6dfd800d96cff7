"""Data that comes with the package; ``CREDIT.md`` beside this file says where it is from."""

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["credit"]


def credit() -> "pd.DataFrame":
    """Return 4,454 loan applicants: `Status` (good or bad) and 13 features, some missing.

    Examples
    --------
    >>> credit().shape
    (4454, 14)
    """
    # pandas takes half a second to import, and most users of the package bring their own data.
    import pandas as pd

    with (files(__name__) / "credit.csv.gz").open("rb") as file:
        return pd.read_csv(file, compression="gzip")
