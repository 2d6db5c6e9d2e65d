"""The pages' own words: the same keys in each language, and words for whatever a kind says."""

import ast
import json
import re
from pathlib import Path

import pytest

import parley_lab.kinds.stages
from parley_lab.base import errors
from parley_lab.contracts import lives
from parley_lab.kinds import page_words

WORDS = page_words.FOLDER
SHARED = Path(parley_lab.kinds.stages.__file__).parents[2]
ALL_ERRORS = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.ParleyError)]


def words(language: str) -> dict[str, object]:
    """Those of the pages, and those that kinds have beside theirs."""
    files = [WORDS / f"{language}.json", *(SHARED / "kinds" / "stages").glob(f"*/words/{language}.json")]
    return {key: said for file in files for key, said in json.loads(file.read_text()).items()}


LANGUAGES = {"ar", "de", "en", "es"}


def test_all_languages_have_the_same_words() -> None:
    folders = [WORDS, *(SHARED / "kinds" / "stages").glob("*/words")]
    found = {
        folder: {file.stem: set(json.loads(file.read_text())) for file in folder.glob("*.json")} for folder in folders
    }

    assert len(found) > 5
    assert [folder for folder, languages in found.items() if set(languages) != LANGUAGES] == []
    assert [
        folder for folder, languages in found.items() if any(one != languages["en"] for one in languages.values())
    ] == []


@pytest.mark.parametrize("language", sorted(LANGUAGES - {"en"}))
def test_the_same_is_filled_into_the_words_of_each_language(language: str) -> None:
    english, other = page_words.words_in("en"), page_words.words_in(language)

    different = {name for name in english if page_words.places_in(english[name]) != page_words.places_in(other[name])}

    assert different == set()
    assert {name for name in english if isinstance(english[name], str) != isinstance(other[name], str)} == set()


def test_words_that_kinds_have_are_their_own() -> None:
    """Where two kinds have words under one key, they are the same: the one that is loaded later would win."""
    for language in LANGUAGES:
        said: dict[str, set[str]] = {}
        for file in (WORDS / f"{language}.json", *(SHARED / "kinds" / "stages").glob(f"*/words/{language}.json")):
            for key, one in json.loads(file.read_text()).items():
                said.setdefault(key, set()).add(json.dumps(one))

        assert {key for key, found in said.items() if len(found) > 1} == set()


def sources(folder: Path) -> list[Path]:
    """The modules below a folder, without tests."""
    return [file for file in folder.rglob("*.py") if "tests" not in file.relative_to(folder).parts]


def test_there_are_words_for_every_reason_of_our_kinds() -> None:
    source = "\n".join(
        file.read_text() for folder in ("kinds/stages", "kinds/chat") for file in (SHARED / folder).rglob("*.py")
    )

    codes = {f"why_{code}" for code in re.findall(r'Reason\(\s*(?:"[^"]*"|\w+),\s*"(\w+)"', source)}

    assert "why_goes_on" in codes
    assert codes - set(words("en")) == set()


@pytest.mark.parametrize(
    ("sentence", "prefix", "known"),
    [("LabLine", "line", {"line_has_left", "line_was_skipped"}), ("Label", "label", {"label_guess", "label_share"})],
)
def test_there_are_words_for_every_sentence_of_the_lab(sentence: str, prefix: str, known: set[str]) -> None:
    source = "\n".join(file.read_text() for file in sources(SHARED))

    codes = {f"{prefix}_{code}" for code in re.findall(rf'\b{sentence}\(\s*(?:f?"[^"]*"|\w+),\s*"(\w+)"', source)}

    assert codes >= known
    assert codes == {key for key in words("en") if key.startswith(f"{prefix}_")}


GATEWAY = Path(__file__).parents[2] / "services" / "gateway" / "src"
TO_EXPERIMENTERS = {
    "awaiting_reply",
    "calls_spent",
    "cannot_advance",
    "cohort_ended",
    "cohort_held",
    "ended",
    "in_a_game",
    "kinds_missing",
    "made_at_a_stage",
    "no_conversation",
    "no_limits",
    "no_open_seats",
    "no_such_stage",
    "not_a_draft",
    "not_a_participant",
    "not_a_person",
    "not_joined",
    "not_started",
    "not_valid",
    "real_models_refused",
    "alone",
    "same_cohort",
    "started_meanwhile",
}
"""Why something is refused that only experimenters do."""
IN_OTHER_WORDS = {"blocked"}
"""Whose `params` have the reasons of the stage, with a code each."""
IN_OTHER_CODES = {
    "changed_meanwhile",
    "error",
    "conflict",
    "too_soon",
    "too_many_requests",
    "settings_invalid",
    "half_done",
}
"""Said by their reason or by the seconds to wait, or said to no one but experimenters."""


def reasons_of_conflicts() -> set[str]:
    """The reasons of all refusals, as the code of shared and of the gateway names them."""
    found = {reason for reason, _ in lives.REFUSALS.values()}
    for file in (*sources(SHARED), *sources(GATEWAY)):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Conflict", "super().__init__"):
                found |= {
                    one.value.value
                    for one in node.keywords
                    if one.arg == "reason" and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
                }
    return found


def codes_of_problems() -> set[str]:
    """The codes of what is wrong with an answer."""
    source = "\n".join(file.read_text() for file in (SHARED / "kinds" / "questions").rglob("*.py"))
    return set(re.findall(r'Unfit\([^\n]*?, "(\w+)"', source))


def test_there_are_words_for_every_refusal_that_a_participant_can_get() -> None:
    reasons = reasons_of_conflicts()
    codes = {kind.code for kind in ALL_ERRORS} - IN_OTHER_CODES

    assert reasons >= TO_EXPERIMENTERS | IN_OTHER_WORDS | {"paused", "full", "thread_ended", "attention_check"}
    expected = {*(reasons - TO_EXPERIMENTERS - IN_OTHER_WORDS), *codes, "unexpected"}
    assert {f"refused_{one}" for one in expected} - set(words("de")) == set()


def test_there_are_words_for_every_problem_of_an_answer() -> None:
    assert codes_of_problems() >= {"write_more", "at_least", "choose_more"}
    assert codes_of_problems() - set(words("de")) == set()
