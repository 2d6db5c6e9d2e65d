"""How many calls a file can make at most is told beforehand where its stages say it."""

from parley_lab.design import load
from parley_lab.design.most_calls import MostCalls, most_calls

SURVEYS = """
parley: 1
name: Surveys
seed: 0
personas:
  - {id: ada, model: {max_attempts: 3}}
  - {id: bob, player: script}
stages:
  - {id: hello, kind: info, lines: [Hello.]}
  - {id: page, kind: survey, questions: [{id: a, kind: check, title: A}, {id: b, kind: check, title: B}]}
  - {id: singly, kind: survey, ask: sequential, questions: [
      {id: c, kind: check, title: C}, {id: d, kind: check, title: D}]}
cohorts:
  - {seats: [{persona: ada, count: 2}, {persona: bob}, {open: true}], count: 5}
"""


def test_pages_are_one_reply_and_questions_one_each() -> None:
    assert most_calls(load(SURVEYS, "a.yaml")) == MostCalls(replies=30, calls=90)


def test_a_conversation_is_open_ended() -> None:
    talk = SURVEYS.replace("{id: hello, kind: info, lines: [Hello.]}", "{id: hello, kind: group_chat}")

    assert most_calls(load(talk, "a.yaml")) == MostCalls(replies=30, calls=90, open_ended=("hello",))


def test_a_cohort_whose_arm_is_drawn_counts_with_the_arm_that_asks_most() -> None:
    arms = "treatments: [{id: short, leave_out: [singly]}, {id: long}]\n"

    assert most_calls(load(SURVEYS + arms, "a.yaml")).replies == 30
    assert most_calls(load(SURVEYS.replace("count: 5", "count: 5, treatment: short") + arms, "a.yaml")).replies == 10


GAME = """
parley: 1
name: A game
seed: 0
personas: [{id: ada}, {id: bob, player: script, script: {matrix_game: {policy: TFT}}}]
stages: [{id: game, kind: matrix_game, chat: true, horizon: HORIZON}]
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""


def test_a_game_of_so_many_rounds_takes_a_message_and_a_move_in_each() -> None:
    fixed = GAME.replace("HORIZON", "{type: fixed, rounds: 7}")
    drawn = GAME.replace("HORIZON", "{type: geometric, stop_probability: 0.1}")

    assert most_calls(load(fixed, "a.yaml")).replies == 14
    assert most_calls(load(drawn, "a.yaml")).open_ended == ("game",)
