"""Images, sound and films: what a file may name, and how their content becomes a stored file."""

import json
from typing import Any
from uuid import UUID

import pytest

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.media import as_stored
from parley_lab.design import Reading, draft_of, read
from parley_lab.design.media import with_media
from parley_lab.kinds import PAGE, Ask, Member, OwnView
from parley_lab.kinds.stages import kind_of

ANA = Member(UUID(int=1), "c1/m1", "participant", "person", Profile(name="Ana"))
PNG = b"\x89PNG\r\n\x1a\nimage"
MP3 = b"ID3sound"
WEBM = b"\x1aE\xdf\xa3film"
BESIDE = {
    "bus.png": PNG,
    "deep/bell.MP3": MP3,
    "night.webm": WEBM,
    "photo.png": b"\xff\xd8\xffphoto",
    "page.png": b"<html>",
}


def read_medium(name: str) -> bytes:
    if name not in BESIDE:
        raise InvalidInput("No.", [Problem(name, repr(name), "one of bus.png")])
    return BESIDE[name]


def reading_of(stage: dict[str, Any]) -> Reading:
    seats = [{"open": True}]
    value = {"parley": 1, "name": "Media", "stages": [{"id": "look", **stage}], "cohorts": [{"seats": seats}]}
    return read(json.dumps(value), "study.json", read_medium=read_medium)


def reading(*media: Any) -> Reading:
    return reading_of({"kind": "info", "lines": ["Look."], "media": [*media]})


def complaints(*media: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        reading(*media).experiment()
    return [(one.where, one.expected) for one in refused.value.problems]


def test_files_are_named_by_the_digest_of_their_content_from_then_on() -> None:
    found = reading(
        {"file": "bus.png", "alt": "A bus"},
        {"file": "deep/bell.MP3", "alt": "A bell"},
        {"file": "night.webm", "alt": "The night", "caption": "At ten"},
        {"file": "bus.png", "alt": "The same bus"},
        {"link": "https://example.org", "alt": "More"},
    )
    stage: Any = found.experiment().stages[0]

    assert {one.name.partition(".")[2]: one.media_type for one in found.files} == {
        "png": "image/png",
        "mp3": "audio/mpeg",
        "webm": "video/webm",
    }
    assert [one.shown.type for one in stage.media] == ["image", "sound", "film", "image", "link"]
    assert stage.media[0].file == stage.media[3].file == found.files[0].name
    assert [place for place, _ in draft_of(found.experiment()).files] == [
        f"stages[0].media[{number}].file" for number in range(4)
    ]


def test_an_agent_reads_what_there_is_in_words() -> None:
    stage = reading({"file": "night.webm", "alt": "The night", "caption": "At ten"}).experiment().stages[0]

    (block,) = kind_of(stage).prompt(stage, OwnView(me=ANA))

    assert block.text == "Look.\n[film: The night] At ten"


ENDINGS = ".png, .jpg, .gif, .webp, .mp3, .ogg, .wav, .mp4, .webm or .jpeg"
AT = "stages[0].media[0]"


WEB = "http:// or https://, without spaces"


@pytest.mark.parametrize(
    ("medium", "where", "expected"),
    [
        ({"file": "boss.png", "alt": "x"}, f"{AT}.file", "one of bus.png"),
        ({"file": "photo.png", "alt": "x"}, f"{AT}.file", "the ending .jpg: that is what the file holds"),
        ({"file": "page.png", "alt": "x"}, f"{AT}.file", "a file of the type that its ending says"),
        ({"file": "a.txt", "alt": "x"}, f"{AT}.file", f"a file that ends in {ENDINGS}"),
        (
            {"file": "a.svg", "alt": "x"},
            f"{AT}.file",
            f"a drawing as an image, since svg may hold programs: a file that ends in {ENDINGS}",
        ),
        ({"file": "bus.png"}, f"{AT}.alt", "this field: `alt: text`"),
        ({"file": "bus.png", "alt": ""}, f"{AT}.alt", "text of at least 1 characters"),
        ({"alt": "x"}, AT, "one of the two: a `file`, or a `link` to a page elsewhere"),
        (
            {"link": "javascript:alert(1)", "alt": "x"},
            f"{AT}.link",
            "an address that begins with http:// or https://, without spaces",
        ),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_at_its_place(medium: Any, where: str, expected: str) -> None:
    assert complaints(medium) == [(where, expected)]


def survey(file: str) -> Reading:
    options = [{"id": "bus", "text": "Bus", "image": {"file": file, "alt": "At night"}}, {"id": "tram", "text": "Tram"}]
    return reading_of(
        {"kind": "survey", "questions": [{"id": "a", "kind": "choice", "title": "A?", "options": options}]}
    )


def test_options_have_images() -> None:
    found = survey("bus.png")
    stage: Any = found.experiment().stages[0]

    assert stage.questions[0].field_schema()["oneOf"] == [
        {"const": "bus", "title": "Bus", "x-image": {"address": f"/v1/files/{found.files[0].name}", "alt": "At night"}},
        {"const": "tram", "title": "Tram"},
    ]
    (block,) = kind_of(stage).prompt(stage, OwnView(me=ANA), Ask(ANA.id, PAGE, ""))
    assert "one of: bus (Bus [image: At night]), tram (Tram)" in block.text


BEN = Member(UUID(int=2), "c1/m2", "participant", "person", Profile(name="Ben"))
VIEW = OwnView(me=ANA, members=(ANA, BEN), draws={"tags": {str(ANA.id): "p1", str(BEN.id): "p2"}})


@pytest.mark.parametrize(
    ("kind", "key", "field"),
    [("survey", PAGE, "a"), ("comprehension", "attempt:1", "a"), ("survey_per_participant", PAGE, "p2_a")],
)
def test_questions_show_media_above_them(kind: str, key: str, field: str) -> None:
    def ask_with(**of_question: Any) -> tuple[Any, dict[str, Any], str]:
        asked = {"id": "a", "kind": "number", "title": "How many?", "correct": 3, **of_question}
        if kind != "comprehension":
            del asked["correct"]
        stage: Any = reading_of({"kind": kind, "questions": [asked]}).experiment().stages[0]
        ask, known = Ask(ANA.id, key, ""), kind_of(stage)
        questions = known.parts(stage).questions
        assert questions is not None
        question = questions.question(VIEW, ask)
        assert question is not None
        text = "\n".join(block.text for block in known.prompt(stage, VIEW, ask))
        return stage, question.form().json_schema()["properties"][field], text

    stage, shown, told = ask_with(media=[{"file": "night.webm", "alt": "The night", "caption": "At ten"}])
    _, plain, plainly = ask_with()

    address = f"/v1/files/{stage.questions[0].media[0].file}"
    medium = {"type": "film", "address": address, "alt": "The night", "caption": "At ten"}
    assert shown == {**plain, "x-media": [medium]}
    assert told == plainly.replace("How many?", "[film: The night] At ten How many?")


def test_options_have_no_films() -> None:
    with pytest.raises(InvalidInput) as refused:
        survey("night.webm").experiment()

    expected = "an image that ends in .png, .jpg, .gif, .webp or .jpeg"
    assert [one.expected for one in refused.value.problems] == [expected]


def test_treatments_may_show_other_files() -> None:
    value: Any = {"treatments": [{"id": "a", "stages": {"look": {"media": [{"file": "bus.png", "alt": "x"}]}}}]}

    whole: Any
    whole, files, problems = with_media(value, read_medium)

    assert whole["treatments"][0]["stages"]["look"]["media"][0]["file"] == files[0].name
    assert not problems
    assert value["treatments"][0]["stages"]["look"]["media"][0]["file"] == "bus.png"


def test_the_first_bytes_tell_the_type() -> None:
    wav = b"RIFF\x00\x00\x00\x00WAVEfmt "
    contents = (PNG, MP3, WEBM, wav, b"\x00\x00\x00\x20ftypisom")
    kinds = {found.media_type for one in contents if (found := as_stored(one)) is not None}

    assert kinds == {"image/png", "audio/mpeg", "video/webm", "audio/wav", "video/mp4"}
    assert as_stored(b"<svg xmlns='http://www.w3.org/2000/svg'/>") is None
    assert as_stored(b"") is None
