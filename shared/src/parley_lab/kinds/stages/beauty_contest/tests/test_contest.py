"""The contest as a stage: questions, winners, what stays hidden, and missing guesses."""

from random import Random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import Ask, Blocked, Done, Json, LabView, Member, OwnView, Question, UnusableReply
from parley_lab.kinds.stages.beauty_contest.config import BeautyContestStage
from parley_lab.kinds.stages.beauty_contest.contest import LEFT, Round, contest_of, key_of
from parley_lab.kinds.stages.beauty_contest.questions import ContestQuestions, guess_reply
from parley_lab.kinds.stages.beauty_contest.rules import KIND, ContestDraws
from parley_lab.kinds.stages.beauty_contest.telling import ContestNarration, factor_in_words
from parley_lab.testing.views import as_seen_by, lab
from parley_lab.views.builder import stated

ANA, BEN, CID = UUID(int=1), UUID(int=2), UUID(int=3)


def member(member_id: UUID, player: Any = "agent", **fields: Any) -> Member:
    name = {ANA: "Ana", BEN: "Ben", CID: "Cid"}[member_id]
    return Member(member_id, f"c1/m{member_id.int}", "participant", player, Profile(name=name), **fields)


MEMBERS = (member(ANA), member(BEN), member(CID))


def stage(**fields: Any) -> BeautyContestStage:
    return BeautyContestStage.model_validate({"id": "contest", "rounds": 2, **fields})


def view(of: BeautyContestStage, *rounds: str, said: int = 0, members: tuple[Member, ...] = MEMBERS) -> LabView:
    """After these guesses, such as `30 20 -`: a guess of Ana, one of Ben, none of Cid; `x` is an unusable one, `l` that
    of a player who had left.

    All have sent messages before as many rounds as `said`.
    """
    answers: dict[tuple[UUID, str], Json] = {}
    for number, line in enumerate(rounds, start=1):
        for owner, guess in zip((ANA, BEN, CID), line.split(), strict=True):
            if guess != "-":
                left = {LEFT: True} if guess == "l" else {}
                answers[owner, key_of(number, "guess")] = {"guess": None if guess in "xl" else float(guess), **left}
    for number in range(1, said + 1):
        answers |= {(one.id, key_of(number, "message")): {"message": f"{one.name} {number}"} for one in members}
    return stated(of, lab(*members, given=answers, draws=ContestDraws().draw(MEMBERS, {}, Random(1))))


def asked(of: BeautyContestStage, seen: LabView) -> dict[str, str]:
    """What each agent or person who is there is asked now, by name."""
    here = [one for one in seen.members if one.present and one.player != "script"]
    due = [ask for one in here for ask in ContestQuestions(of).due(as_seen_by(one.id, seen))]
    return {next(one.name for one in seen.members if one.id == ask.member_id): ask.key for ask in due}


def question(of: BeautyContestStage, seen: OwnView, what: str = "guess") -> Question:
    found = ContestQuestions(of).question(seen, Ask(seen.me.id, key_of(1, what), what))
    assert found is not None
    return found


def page(of: BeautyContestStage, seen: LabView, reader: UUID = ANA) -> dict[str, Json]:
    return KIND.page(of, as_seen_by(reader, seen)).model_dump(mode="json")


def prompt(of: BeautyContestStage, seen: LabView, ask: Ask | None, reader: UUID = ANA) -> str:
    (block,) = KIND.prompt(of, as_seen_by(reader, seen), ask)
    return block.text


def test_the_guess_closest_to_two_thirds_of_the_mean_wins() -> None:
    of = stage()
    (one, *_) = contest_of(of, view(of, "30 60 90")).rounds

    assert (one.mean, one.target, one.winners) == (60, 40, (ANA,))
    assert [one.prize(player) for player in (ANA, BEN, CID)] == [20, 0, 0]


def test_winners_who_are_equally_close_share_the_prize() -> None:
    of = stage(factor=0.7, prize=10)
    (one, *_) = contest_of(of, view(of, "20.1 21.9 48")).rounds

    assert one.target == pytest.approx(21)
    assert one.winners == (ANA, BEN)
    assert [one.prize(player) for player in (ANA, BEN, CID)] == [5, 5, 0]


@given(
    st.dictionaries(st.uuids(), st.floats(0, 100, allow_subnormal=False), min_size=2),
    st.floats(0.1, 2),
    st.floats(0, 1000),
)
def test_someone_wins_and_the_prize_is_paid_once(guesses: dict[UUID, float], factor: float, prize: float) -> None:
    one = Round(stage(factor=factor, prize=prize), 1, guesses)

    assert sum(one.prize(player) for player in guesses) == pytest.approx(prize)
    closest = min(one.distance(player) or 0 for player in guesses)
    assert all((one.distance(player) or 0) == pytest.approx(closest, abs=1e-8) for player in one.winners)


def test_everybody_is_asked_for_the_same_round_until_all_have_guessed() -> None:
    of = stage()

    assert asked(of, view(of)) == dict.fromkeys(("Ana", "Ben", "Cid"), "round:1/guess")
    assert asked(of, view(of, "30 - 10")) == {"Ben": "round:1/guess"}
    assert asked(of, view(of, "30 20 10")) == dict.fromkeys(("Ana", "Ben", "Cid"), "round:2/guess")
    assert asked(of, view(of, "30 20 10", "30 20 10")) == {}


def test_with_chat_all_say_something_before_anybody_guesses() -> None:
    of = stage(chat=True)

    assert asked(of, view(of)) == dict.fromkeys(("Ana", "Ben", "Cid"), "round:1/message")
    assert asked(of, view(of, said=1)) == dict.fromkeys(("Ana", "Ben", "Cid"), "round:1/guess")
    assert asked(of, view(of, "3 2 1", said=1)) == dict.fromkeys(("Ana", "Ben", "Cid"), "round:2/message")
    assert page(of, view(of))["wants"] == "message"


def test_scripts_are_asked_nothing_and_no_one_waits_for_their_words() -> None:
    of = stage(chat=True)
    members = (member(ANA), member(BEN, "script"), member(CID, "script"))
    answers: dict[tuple[UUID, str], Json] = {(ANA, "round:1/message"): {"message": "Hello"}}
    draws = ContestDraws().draw(members, {}, Random(1))

    seen = stated(of, lab(*members, given=answers, draws=draws))

    assert asked(of, seen) == {"Ana": "round:1/guess"}


def test_a_guess_in_an_open_round_is_in_no_page_and_no_prompt_of_another() -> None:
    of = stage()
    before, after = view(of, "30 20 10"), view(of, "30 20 10", "- 17 -")

    assert page(of, before) == page(of, after)
    for ask in (Ask(ANA, key_of(2, "guess"), "guess"), None):
        assert prompt(of, before, ask) == prompt(of, after, ask)


def test_words_before_a_round_are_read_once_all_have_said_theirs() -> None:
    of, ask = stage(chat=True), Ask(ANA, key_of(1, "guess"), "guess")

    assert "Ben 1" not in prompt(of, view(of), ask)
    assert 'Round 1: You: "Ana 1" Ben: "Ben 1" Cid: "Cid 1"' in prompt(of, view(of, said=1), ask)
    assert [(one["name"], one["is_you"]) for one in page(of, view(of, said=1))["messages"]] == [
        ("Ana", True),
        ("Ben", False),
        ("Cid", False),
    ]


def test_a_prompt_says_the_rules_the_round_and_what_came_of_the_rounds_before() -> None:
    of = stage()

    assert prompt(of, view(of, "30 60 90"), Ask(ANA, key_of(2, "guess"), "guess")).split("\n\n") == [
        "You play a guessing game with Ben, Cid.",
        "In each round everybody guesses a number from 0 to 100, all at the same time. Whose guess is closest to 2/3 "
        "times the mean of all guesses wins a prize of 20; those who are equally close share it.",
        "This is round 2 of 2.",
        "ROUNDS:\nRound 1: mean 60, target 40; you guessed 30; closest: you with 30; your prize is 20.",
        "You have won 20 in all.",
    ]


def test_a_player_who_leaves_has_no_guess_and_the_others_go_on() -> None:
    of = stage()
    gone = (member(ANA), member(BEN), member(CID, present=False))

    seen = view(of, "30 60 l", members=gone)

    assert asked(of, seen) == dict.fromkeys(("Ana", "Ben"), "round:2/guess")
    assert contest_of(of, seen).rounds[0].mean == 45


def test_a_guess_counts_when_its_player_leaves_later() -> None:
    of = stage()

    assert contest_of(of, view(of, "30 60 90", "- - l")).rounds[0].mean == 60


def test_who_comes_back_guesses_in_the_next_round_and_what_passed_stays_passed() -> None:
    of = stage()

    seen = view(of, "30 60 l")

    assert asked(of, seen)["Cid"] == "round:2/guess"
    assert [sorted(one.guesses) for one in contest_of(of, view(of, "30 60 l", "10 20 30")).rounds] == [
        [ANA, BEN],
        [ANA, BEN, CID],
    ]


def test_a_player_who_left_before_the_guess_and_is_back_counts_among_those_left() -> None:
    of = stage(chat=True)
    left = {LEFT: True}
    said: dict[tuple[UUID, str], Json] = {(one, "round:1/message"): {"message": "Hello"} for one in (ANA, BEN)}
    back = {**said, (CID, "round:1/message"): {"message": "", **left}, (CID, "round:1/guess"): {"guess": 20.0}}
    drawn = ContestDraws().draw(MEMBERS, {}, Random(1))

    seen = stated(of, lab(*MEMBERS, given={**back, (BEN, "round:1/guess"): {"guess": None, **left}}, draws=drawn))

    assert seen.state["status"] == "playing"


def test_a_player_without_a_usable_guess_is_asked_again_in_the_next_round() -> None:
    of = stage()
    seen = view(of, "30 60 x")

    assert asked(of, seen) == dict.fromkeys(("Ana", "Ben", "Cid"), "round:2/guess")
    assert contest_of(of, seen).rounds[0].mean == 45
    assert "you gave no guess" in prompt(of, seen, None, CID)
    assert page(of, seen, CID)["rounds"][0]["your_guess"] is None


def test_a_round_with_one_guess_does_not_count() -> None:
    of = stage()
    seen = view(of, "30 x x", "40 20 x")

    first, second = contest_of(of, seen).rounds
    assert (first.mean, first.target, first.winners, first.prize(ANA)) == (None, None, (), 0)
    assert second.winners == (BEN,)
    assert "Round 1: did not count" in prompt(of, seen, None)


def test_with_one_player_left_the_contest_is_over() -> None:
    of = stage()
    seen = view(of, "30 60 90", "- l l")

    assert asked(of, seen) == {}
    completion = KIND.completion(of, as_seen_by(ANA, seen))
    assert isinstance(completion, Done)
    assert isinstance(completion.page, dict)
    assert (completion.page["status"], completion.page["prize"]) == ("abandoned", 20)


def test_players_go_on_when_it_is_over_and_who_came_later_at_once() -> None:
    of = stage()
    late = Member(UUID(int=4), "c1/m4", "participant", "person", Profile(name="Dan"))
    draws = ContestDraws().draw(MEMBERS, {}, Random(1))
    seen = stated(of, lab(*MEMBERS, late, draws=ContestDraws().draw((*MEMBERS, late), draws, Random(2))))

    assert isinstance(KIND.completion(of, as_seen_by(ANA, seen)), Blocked)
    assert KIND.completion(of, as_seen_by(late.id, seen)) == Done(None)
    assert asked(of, seen) == dict.fromkeys(("Ana", "Ben", "Cid"), "round:1/guess")
    assert page(of, seen, late.id)["is_player"] is False


def test_what_it_came_to_for_a_player() -> None:
    of = stage()
    completion = KIND.completion(of, as_seen_by(BEN, view(of, "30 60 90", "10 20 30")))

    assert completion == Done(
        {
            "status": "over",
            "rounds": 2,
            "guesses": 2,
            "first_guess": 60,
            "mean_distance": pytest.approx((20 + 20 / 3) / 2, abs=1e-6),
            "wins": 0,
            "prize": 0,
        }
    )


@pytest.mark.parametrize(
    ("answer", "where"),
    [
        ({"guess": 101}, "guess"),
        ({"guess": "33"}, "guess"),
        ({"guess": True}, "guess"),
        ({}, "guess"),
        ({"guess": 33, "why": "so"}, "why"),
        (33, ""),
    ],
)
def test_what_is_no_guess_is_refused_at_its_field(answer: Json, where: str) -> None:
    of = stage()

    with pytest.raises(InvalidInput) as refused:
        question(of, as_seen_by(ANA, view(of))).check(answer)

    assert [problem.where for problem in refused.value.problems] == [where]


def test_reasons_of_a_model_are_kept_and_a_person_gives_none() -> None:
    of = stage()
    asked_for = question(of, as_seen_by(ANA, view(of)))
    reply = asked_for.reply_model().model_validate({"guess": 33, "reasoning": "Half of the middle."})

    kept = asked_for.check(asked_for.answer_from_reply(reply))
    assert kept == {"guess": 33, "reasoning": "Half of the middle."}
    assert asked_for.check({"guess": 33}) == {"guess": 33}
    assert [field.name for field in asked_for.form().fields] == ["guess"]


def test_without_a_usable_reply_the_round_has_no_guess_of_the_player() -> None:
    of = stage(chat=True)
    seen = as_seen_by(ANA, view(of))

    without = [question(of, seen, what).without_answer([UnusableReply("?", None, "")]) for what in ("guess", "message")]

    assert [one.value for one in without if one != "drop"] == [{"guess": None}, {"message": ""}]


def test_what_is_new_since_the_last_answer_is_all_that_has_to_be_read() -> None:
    of = stage(chat=True)

    def news(seen: LabView, what: str) -> str | None:
        return question(of, as_seen_by(ANA, seen), what).news()

    assert news(view(of), "message") is None
    assert news(view(of, said=1), "guess") == 'Round 1: You: "Ana 1" Ben: "Ben 1" Cid: "Cid 1"'
    assert news(view(of, "30 60 90", said=1), "message") == (
        "Round 1: mean 60, target 40; you guessed 30; closest: you with 30; your prize is 20."
    )
    assert question(of, as_seen_by(ANA, view(of))).written({"guess": 33}) == "33"


def test_who_looks_on_is_told_each_round_once() -> None:
    of = stage(chat=True)
    narration = ContestNarration(of)

    talked = [*narration.steps(view(of, said=1))]
    assert talked == [f'round 1: {name} says "{name} 1"' for name in ("Ana", "Ben", "Cid")]
    after = view(of, "30 60 90", said=1)
    assert [*narration.steps(after)] == [*talked, "round 1: mean 60, target 40, closest Ana with 30"]
    assert narration.outcome(after) is None
    over = view(of, "30 60 90", "40 40 40", said=2)
    assert narration.outcome(over) == "Ana 26.67, Ben 6.67, Cid 6.67 after 2 rounds"


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"lower": 50, "upper": 50}, "upper"),
        ({"progress": {"wait_for_all": False}}, "progress.min_participants"),
        ({"progress": {"wait_for_all": False, "min_participants": 2}}, None),
    ],
)
def test_what_the_types_cannot_say(fields: dict[str, Any], where: str | None) -> None:
    problems = KIND.problems(stage(**fields), [])

    assert [problem.where for problem in problems] == ([] if where is None else [where])


@pytest.mark.parametrize(
    ("factor", "words"), [(2 / 3, "2/3"), (0.7, "0.7"), (0.5, "0.5"), (4 / 3, "4/3"), (0.6667, "0.6667")]
)
def test_a_factor_is_written_as_one_would(factor: float, words: str) -> None:
    assert factor_in_words(factor) == words


def test_a_guess_is_asked_for_between_the_bounds_of_the_file() -> None:
    asked = str(guess_reply(0.5, 1234567).model_json_schema()["properties"]["guess"]["description"])

    assert asked == "Your guess, from 0.5 to 1234567."


def test_the_page_says_which_of_the_players_reads_it_also_of_two_with_one_name() -> None:
    twins = tuple(Member(one.id, one.path, one.kind, one.player, Profile(name="Fox")) for one in MEMBERS)
    seen = view(stage(), members=twins)
    late = Member(UUID(int=9), "c1/m9", "participant", "agent", Profile(name="Fox"))
    with_late = view(stage(), members=(*twins, late))

    pages = [KIND.page(stage(), as_seen_by(one, seen)).model_dump() for one in (ANA, BEN, CID)]
    of_late = KIND.page(stage(), as_seen_by(late.id, with_late)).model_dump()

    assert [page["players"] for page in pages] == [["Fox", "Fox", "Fox"]] * 3
    assert [page["own_place"] for page in pages] == [0, 1, 2]
    assert of_late["own_place"] is None
