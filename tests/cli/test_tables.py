import pandas as pd
import pytest

from fenceline.cli.tables import read_table, write_table
from fenceline.errors import DefinitionError

TABLE = pd.DataFrame({"a": [1.5, None, 3.0], "name": ["x, y", "ü", "z"]})


@pytest.mark.parametrize(
    "name",
    ["t.csv", "T.CSV", "t.csv.gz", "t.tsv", "t.tsv.gz", "t.parquet", "t.feather", "t.arrow"],
)
def test_what_was_written_is_read(tmp_path, name):
    write_table(TABLE, tmp_path / name)
    found = read_table(tmp_path / name)
    pd.testing.assert_frame_equal(found, TABLE, check_dtype=False)


def test_arrow_streams_are_read_as_well(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "t.arrow"
    stored = pyarrow.Table.from_pandas(TABLE)
    with (
        pyarrow.OSFile(str(path), "wb") as sink,
        pyarrow.ipc.new_stream(sink, stored.schema) as out,
    ):
        out.write_table(stored)
    pd.testing.assert_frame_equal(read_table(path), TABLE, check_dtype=False)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separator_is_told_by_the_header(tmp_path, separator):
    path = tmp_path / "t.csv"
    path.write_text(separator.join("abc") + "\n" + separator.join("123") + "\n")
    assert list(read_table(path).columns) == ["a", "b", "c"]


def test_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert list(read_table(path).columns) == ["a", "b"]


def test_two_columns_of_one_name_are_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    twice = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"])
    path = tmp_path / "t.arrow"
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, twice.schema) as out:
        out.write_table(twice)
    with pytest.raises(DefinitionError, match="two columns 'a'; rename one"):
        read_table(path)
