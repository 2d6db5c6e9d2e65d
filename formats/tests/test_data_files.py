"""How values are written in data files."""

from datetime import UTC, datetime

import orjson
import pytest

from parley_lab.formats.data_files import as_json, cell


@pytest.mark.parametrize("microsecond", [0, 20, 123_456])
def test_all_times_have_one_format(microsecond: int) -> None:
    moment = datetime(2026, 1, 1, 12, 0, 0, microsecond, tzinfo=UTC)

    written = {cell(moment), orjson.loads(as_json(moment)), orjson.loads(cell([moment]))[0]}

    assert written == {f"2026-01-01T12:00:00.{microsecond:06d}Z"}
