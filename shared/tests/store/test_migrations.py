"""The migrations lead exactly to what `parley_lab.store.tables` says."""

import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text

from parley_lab.base.errors import SettingsInvalid
from parley_lab.store import databases, migrate, schema
from parley_lab.store.databases import as_sqlalchemy_url
from parley_lab.store.session import Database
from parley_lab.testing.services import Server


@pytest.fixture
def empty_url(postgres_server: Server) -> Iterator[str]:
    name = f"parley_empty_{uuid.uuid4().hex[:16]}"
    yield databases.create_database(postgres_server.url, name)
    databases.drop_database(postgres_server.url, name)


def _execute(url: str, statement: str) -> None:
    engine = create_engine(as_sqlalchemy_url(url))
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_migrations_lead_to_the_tables_of_the_code(database_url: str) -> None:
    assert migrate.differences(database_url) == []


def test_each_difference_to_the_tables_of_the_code_is_found(database_url: str) -> None:
    changes = {
        "ALTER TABLE lab ADD COLUMN colour text": "- lab.colour text",
        "ALTER TABLE members ALTER COLUMN status DROP NOT NULL": "+ members.status text not null",
        "ALTER TABLE messages DROP CONSTRAINT ck_messages_author": "+ messages constraint ck_messages_author CHECK",
        "DROP INDEX uq_asks_open": "+ CREATE UNIQUE INDEX uq_asks_open ON asks",
        "ALTER TABLE threads ALTER COLUMN held SET DEFAULT true": "- threads.held boolean not null default true",
    }
    _execute(database_url, "; ".join(changes))

    found = migrate.differences(database_url)

    for difference in changes.values():
        assert any(line.startswith(difference) for line in found), difference


def test_looking_for_differences_leaves_nothing_behind(database_url: str) -> None:
    migrate.differences(database_url)

    assert migrate.differences(database_url) == []


def test_upgrading_twice_is_upgrading_once(empty_url: str) -> None:
    first = migrate.upgrade(empty_url)
    second = migrate.upgrade(empty_url)

    assert (first.before, first.after) == (None, migrate.HEAD)
    assert (second.before, second.after) == (migrate.HEAD, migrate.HEAD)


@pytest.mark.race
def test_of_several_that_upgrade_at_once_one_does_the_work(empty_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(migrate.upgrade, [empty_url] * 4))

    assert sorted(outcome.before or "" for outcome in outcomes) == ["", *[migrate.HEAD] * 3]


def test_revision_of_an_empty_database_is_none(empty_url: str) -> None:
    assert migrate.current_revision(empty_url) is None


def test_who_waits_goes_on_once_someone_has_migrated(empty_url: str) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(migrate.wait_until_migrated, empty_url, look_seconds=0.01)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)

        migrate.upgrade(empty_url)

        assert waiting.result(timeout=30) == migrate.HEAD


async def test_revision_can_be_read_in_a_transaction(database: Database) -> None:
    async with database.transaction() as session:
        assert await schema.read_revision(session) == migrate.HEAD


def test_a_database_of_the_same_revision_with_other_tables_is_refused_and_left_as_it_is(database_url: str) -> None:
    _execute(database_url, "ALTER TABLE notices DROP COLUMN read_at")
    _execute(database_url, "COMMENT ON TABLE alembic_version IS NULL")

    with pytest.raises(migrate.OtherTables, match="Nothing is lost"):
        migrate.upgrade(database_url)
    with pytest.raises(migrate.OtherTables):
        migrate.upgrade(database_url)

    assert migrate.differences(database_url) == ["+ notices.read_at timestamp with time zone"]


def test_a_database_that_does_not_say_who_made_it_is_taken_when_its_tables_are_the_same(database_url: str) -> None:
    _execute(database_url, "COMMENT ON TABLE alembic_version IS 'an earlier way of writing the same'")

    assert migrate.upgrade(database_url).before == migrate.HEAD
    assert migrate.upgrade(database_url).before == migrate.HEAD


def test_a_database_newer_than_the_code_is_refused(database_url: str) -> None:
    _execute(database_url, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(SettingsInvalid, match="revision 9999"):
        migrate.upgrade(database_url)


def test_the_command_says_what_it_did(
    empty_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PARLEY_DATABASE_URL", empty_url)

    assert migrate.main(["--check"]) == 1
    assert migrate.main([]) == 0
    assert migrate.main(["--check"]) == 0
    _execute(empty_url, "DROP TABLE alerts")
    assert migrate.main(["--check"]) == 1

    assert capsys.readouterr().out.splitlines()[:3] == [
        f"The database is at no revision; the newest is {migrate.HEAD}. Migrate it first.",
        f"The database went from no tables to revision {migrate.HEAD}.",
        f"The database is at revision {migrate.HEAD} and matches parley_lab.store.tables.",
    ]


def test_the_command_without_a_database_says_which_variable_is_missing() -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "parley_lab.store.migrate"], env={}, capture_output=True, text=True, check=False
    )

    assert outcome.returncode == 2
    assert "PARLEY_DATABASE_URL" in outcome.stderr


KEPT = {
    "r0001_first_tables.py": "eee385de57540d84deba88a4aa66347a5deafe2239bf683d53b60cba328e4396",
    "r0002_prompts_in_pieces.py": "32d8e69c7238ea3aedc5d3e94dc67f205431434e111e4a630df5709200951e2d",
    "r0003_arms_of_members.py": "06950ce87baa293011a596974361eea66897f44ce20afec690ca37ed22c0d263",
    "r0004_experiments_that_go_on.py": "e8a5e4e21d7155e330b45367cdfca3bee1dd54068c224a036df2dee6e254c272",
    "r0005_lines_of_the_lab.py": "750fee55e707c27c5fc230ec32d0881955c7a3987e0fca3b8053fea1d7e8b45b",
    "r0006_parameters_of_links.py": "245ef9533ae6ba0c4dbe856016c0b39766390bb924add69a262d69cc1a8077be",
    "r0007_moves_in_place.py": "b915d9469874eec07706ccce3c2e22984313b1d8853156c8610a29c196e81412",
    "r0008_details_of_calls.py": "b4f28ad8be81e1ff6f417f52332ce284b18849bae1a54de9a018f53774bbe4ea",
    "r0009_secrets_of_experiments.py": "07828ab903512d42a081cdce6c78c1b503d2370aca2d779d009a7f0f5dda4bba",
    "r0010_what_was_read.py": "ce0a84d6f18b6e9314958774c36d6e2b1abd5c2683f6755aa01c935020f0c9f9",
    "r0011_what_servers_lack.py": "672e897164b1cb0ae0093fad6c3a588ef11e8c78386f6c340b1eecae090c792b",
    "r0012_sign_ins.py": "237dcc089a5b509a0d31e84fbfe8b78fa3d314a0bed111c39f5a4f145634c470",
    "r0013_own_names.py": "0de16208b4614e965b0215f1547b0c5cff99ecb3c32e25727f6064708e78fe3d",
    "r0014_archived_experiments.py": "bef7a1f48e446e497f10e3f80314adeca3c822c7c06793820e50418c9dddfb50",
    "r0015_unsent_answers.py": "a4fd64ad79327fe7039ec86e15fe7888396814cdabc67f8573703a228f17714e",
    "r0016_groups_of_those_who_are_there.py": "000b313396e1663a3ead03e10cca0eb47b045dcccd1d47c495efcde26cd7abae",
    "r0017_calls_that_kill.py": "6c1cbc77b7ef40597284fb2ca65503cd0db73aaba0ef18ed693326a46a01c81b",
    "r0018_reasons_of_deeds.py": "a5796034d3de0bf8ad2c34dfe4a590b4e0999ca11f21f2c0002142e1565bdfe7",
    "r0019_texts_of_files.py": "61b6839e7aa64426f5336ae936928c99dde7fd0158b8e5215e176b0edb8c7a52",
    "r0020_how_answers_came_about.py": "4b623f84f534faaf9bf1d40e3914d7909b8e3eba1b3cb0c20dc18e96a599a29d",
    "r0021_guest_lists.py": "15bf72f8ea1b70b17a123e253b7ffc51d0e104abdd59c119eea7a141077a42a2",
    "r0022_kinds_of_groups.py": "e3a57a60d528f5a92aa1d4d4ab0597dcfdf48396c79019b69b977e5eda0470f1",
    "r0023_compared_ids.py": "4945c2749042757c5103cf9b3ce1b2b53d1fef8e7add64fcd058ae886725fd51",
    "r0024_ids_of_members_compared.py": "5bc278f70312dac11e12b7a44bb4de337e36bd64088c47668c3a5bb2b896a02a",
    "r0025_files_beside_a_text.py": "cf1e68613506095f8628cdb4c91c9ef14bd27791b47107cb53adea355196f6c7",
    "r0026_compared_ids_amiss.py": "1a5f3f87fe9d8f2545c187fa91fd2e74f89fa18c0722681e3df4d458b582bb2c",
    "r0027_when_members_went_on.py": "66023f82475500aaee7ccacbc4c41674fe8f0b33f4214b9e3fffa1ccf4ab3928",
    "r0028_empty_guest_lists.py": "500a8e22cd32ecf65f3557636820d3a54b86215d53350ee0604895ce0378b897",
    "r0029_languages_of_drafts.py": "095417729b40038daad427b9211f47e690efd7b3b63c31c8ba89aeab145d7518",
    "r0030_codes_in_any_case.py": "92d4d623694d722af0244e02d630f0c2cf40034cabab5971df96e5de07921ded",
}
"""The SHA-256 of each migration. A new one brings its own; the others are not changed, since databases have them."""


def test_a_draft_gets_the_language_of_its_document_and_what_has_begun_keeps_its_own(
    empty_url: str, tmp_path: Path
) -> None:
    migrate.upgrade(empty_url, migrations=_up_to("0028", tmp_path))
    _execute(
        empty_url,
        """
        INSERT INTO experimenters (id, name, created_at) VALUES (gen_random_uuid(), 'Ellen', now());
        INSERT INTO experiments (id, owner_id, study, name, seed, pace, model_mode, language, document, document_hash,
            join_code, created_at, status)
        SELECT gen_random_uuid(), o.id, 's', e.name, 1, 'live', 'mock', 'en', e.document, '', e.name, now(), e.status
        FROM experimenters o, (VALUES
            ('edited', 'draft', CAST('{"language": "de"}' AS jsonb)), ('none', 'draft', '{"language": null}'),
            ('begun', 'running', '{"language": "de"}')
        ) AS e (name, status, document)
        """,
    )

    migrate.upgrade(empty_url)

    with create_engine(as_sqlalchemy_url(empty_url), poolclass=NullPool).connect() as connection:
        found = {row.name: row.language for row in connection.execute(text("SELECT name, language FROM experiments"))}
    assert found == {"edited": "de", "none": None, "begun": "en"}


def _up_to(revision: str, folder: Path) -> migrate.Migrations:
    """The migrations up to this one, copied into the folder."""
    copied = shutil.copytree(schema.MIGRATIONS, folder / "earlier", ignore=shutil.ignore_patterns("__pycache__"))
    for one in schema.files_of(copied):
        if one.name[1:5] > revision:
            one.unlink()
    return migrate.Migrations(copied)


def test_no_migration_is_written_anew() -> None:
    found = {path.name: sha256(path.read_bytes()).hexdigest() for path in schema.files_of(schema.MIGRATIONS)}

    assert found == KEPT
