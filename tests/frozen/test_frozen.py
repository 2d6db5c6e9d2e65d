"""What is frozen is compared file by file, and contains what it is about."""

from pathlib import Path

import pytest

from parley_lab.testing.quick import quick_first
from tests.frozen.__main__ import compare
from tests.frozen.parts import PARTS


def folder(place: Path, **files: str) -> Path:
    place.mkdir()
    for name, content in files.items():
        (place / name).write_text(content)
    return place


def test_folders_with_the_same_files_do_not_differ(tmp_path: Path) -> None:
    assert compare(folder(tmp_path / "a", one="x"), folder(tmp_path / "b", one="x")) == 0


def test_a_file_that_is_gone_new_or_changed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = folder(tmp_path / "a", gone="x", changed="old\nsame\n")

    assert compare(before, folder(tmp_path / "b", new="x", changed="now\nsame\n")) == 1

    told = capsys.readouterr().out
    assert "gone is gone" in told
    assert "new is new" in told
    assert "changed differs\n  @@ -1 +1 @@\n  -old\n  +now\n" in told


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("helps", b"Run an experiment to its end"),
        ("schemas", b'"title": "Parley experiment"'),
        ("metrics", b"parley_claims counter outcome"),
        ("log_events", b"info 'reply.claimed'"),
        ("settings", b"PARLEY_DATABASE_POOL_SIZE in ProcessSettings"),
    ],
)
def test_a_part_has_what_it_is_about(part: str, told: bytes) -> None:
    files = dict(PARTS[part]())

    assert any(told in content for content in files.values())


@pytest.mark.parametrize("part", quick_first(["metrics", "settings", "helps", "log_events", "schemas"], 2))
def test_a_part_is_the_same_twice(part: str) -> None:
    assert dict(PARTS[part]()) == dict(PARTS[part]())
