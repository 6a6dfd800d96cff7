import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from fenceline.store.meta import plain

DENSE = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_a_sparse_table_is_described_by_its_content_whatever_its_format(kind: str) -> None:
    described = plain(sparse.csr_array(DENSE))
    assert plain(sparse.csr_array(DENSE).asformat(kind)) == described
    assert described["shape"] == [2, 3]


def test_entries_in_another_order_or_in_parts_are_the_same_content() -> None:
    places = [1, 0, 1, 1], [2, 1, 0, 2]
    scattered = sparse.coo_array(([1.0, 2.0, 1.0, 2.0], places), shape=(2, 3))
    assert plain(scattered) == plain(sparse.csr_array(DENSE))
    assert scattered.nnz == 4, "describing must not change what is described"


@pytest.mark.parametrize(
    "other",
    [
        sparse.csr_array(DENSE * 2),
        sparse.csr_array(DENSE[:, ::-1]),
        sparse.csr_array(DENSE[::-1]),
        sparse.csr_array(DENSE.astype(np.float32)),
        sparse.csr_array(np.column_stack([DENSE, [0.0, 0.0]])),
        DENSE,
    ],
    ids=["values", "columns", "rows", "type", "shape", "dense"],
)
def test_other_content_has_another_description(other: Any) -> None:
    assert plain(other) != plain(sparse.csr_array(DENSE))


def test_fields_that_do_not_make_two_things_unequal_are_no_part_of_a_run() -> None:
    @dataclasses.dataclass(frozen=True)
    class Measure:
        folds: int
        cache: float = dataclasses.field(default=1.0, compare=False)

    assert plain(Measure(3, cache=2.0)) == plain(Measure(3)) == {"type": "Measure", "folds": 3}
