"""Measures of one game: the worked examples, the edges, and what holds for every game."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.kinds.stages.matrix_game.arena import measures
from parley_lab.kinds.stages.matrix_game.arena.measures import Play, Recovery

EXAMPLE = Play("CDDC", "CCDD")
"""Payoffs 9 and 9 at 5/3/1/0."""

OUTCOMES = st.lists(st.sampled_from(["CC", "CD", "DC", "DD", "--"]), max_size=40)


def play_of(*outcomes: str) -> Play:
    return Play("".join(one[0] for one in outcomes), "".join(one[1] for one in outcomes))


PLAYS = OUTCOMES.map(lambda outcomes: play_of(*outcomes))


def test_worked_example() -> None:
    other = EXAMPLE.mirrored

    assert (measures.cooperation_rate(EXAMPLE), measures.cooperation_rate(other)) == (0.5, 0.5)
    assert measures.outcome_rate(EXAMPLE, "CC") == 0.25
    assert measures.outcome_rate(EXAMPLE, "DD") == 0.25
    assert measures.exploitation_rate(EXAMPLE) == 0.5
    assert (measures.retaliation(EXAMPLE), measures.retaliation(other)) == (0.0, 1.0)
    assert measures.forgiveness_after_mutual_defection(EXAMPLE) == 1.0
    assert measures.forgiveness_after_mutual_defection(other) == 0.0


def test_what_never_happened_has_no_rate() -> None:
    peace = Play("C" * 10, "C" * 10)

    assert measures.retaliation(peace) is None
    assert measures.forgiveness_after_defection(peace) is None
    assert measures.forgiveness_after_mutual_defection(peace) is None
    assert measures.trust_recovery(peace) == Recovery(None, 0, 0)


def test_a_game_without_a_round_that_counts_has_no_rates() -> None:
    for play in (Play("", ""), Play("--", "--")):
        assert measures.cooperation_rate(play) is None
        assert measures.exploitation_rate(play) is None
        assert measures.exploitation_window(play) is None
        assert measures.is_nice(play) is None
        assert measures.time_to_collapse(play) is None


def test_the_last_round_is_in_no_denominator_of_what_follows() -> None:
    tit_for_tat = Play("C" + "D" * 49, "D" * 50)

    assert measures.retaliation(tit_for_tat) == 1.0
    assert measures.retaliation(tit_for_tat.mirrored) == 1.0
    assert measures.forgiveness_after_mutual_defection(tit_for_tat) == 0.0


def test_the_two_kinds_of_forgiveness_differ() -> None:
    # Forgives being exploited, but never mutual defection.
    play = play_of("CD", "CD", "DD", "DD")

    assert measures.forgiveness_after_defection(play) == pytest.approx(1 / 3)
    assert measures.forgiveness_after_mutual_defection(play) == 0.0


def test_a_round_that_does_not_count_breaks_the_transitions_around_it() -> None:
    play = play_of("CD", "--", "DC", "CC")

    assert measures.retaliation(play) is None
    assert measures.cooperation_rate(play) == pytest.approx(2 / 3)


def test_cooperation_over_time_looks_back_ten_rounds() -> None:
    curve = measures.cooperation_over_time(Play("C" + "D" * 49, "D" * 50))

    assert curve[:10] == [1 / rounds for rounds in range(1, 11)]
    assert set(curve[10:]) == {0.0}


def test_trust_recovers_with_the_next_mutual_cooperation() -> None:
    play = play_of("CC", "DC", "DD", "DD", "CC")

    assert measures.trust_recovery(play) == Recovery(3.0, 1, 0)
    assert measures.exploitation_window(play) == 1
    assert measures.exploitation_window(play.mirrored) == 0


def test_trust_that_does_not_recover_is_counted_apart() -> None:
    play = play_of("CC", "CD", "CC", "DC", "DD")

    assert measures.trust_recovery(play) == Recovery(1.0, 2, 1)
    assert measures.trust_recovery(play.mirrored) == measures.trust_recovery(play)


def test_exploitation_window_is_the_longest_run_on_one_side() -> None:
    play = play_of("DC", "DC", "CD", "DC", "DC", "DC", "--", "DC")

    assert measures.exploitation_window(play) == 3
    assert measures.exploitation_window(play.mirrored) == 1


def test_collapse_begins_where_ten_rounds_follow_without_cooperation() -> None:
    assert measures.time_to_collapse(play_of(*["CC"] * 5, *["DD"] * 10)) == 4
    assert measures.time_to_collapse(play_of(*["CC"] * 5, *["DD"] * 7)) is None
    assert measures.time_to_collapse(Play("D" * 10, "C" * 10)) is None


def test_promises_that_are_always_the_same_correlate_with_nothing() -> None:
    always = "CCCC"

    assert measures.deception_success(EXAMPLE, always) == 0.5
    assert measures.signal_consistency(EXAMPLE, always) == 0.5
    assert measures.signal_correlation(EXAMPLE, always) is None


def test_kept_and_broken_promises_correlate() -> None:
    assert measures.signal_correlation(EXAMPLE, "CDDC") == 1.0
    assert measures.signal_correlation(EXAMPLE, "DCCD") == -1.0
    assert measures.signal_correlation(EXAMPLE, "-D-C") == 1.0
    assert measures.signal_correlation(EXAMPLE, "----") is None
    assert measures.deception_success(EXAMPLE, "DDDD") is None


@pytest.mark.parametrize(("own", "other"), [("C", ""), ("X", "C"), ("-", "C"), ("c", "C")])
def test_what_is_no_game_is_refused(own: str, other: str) -> None:
    with pytest.raises(ValueError, match="round"):
        Play(own, other)


@given(PLAYS)
def test_the_four_outcomes_sum_to_one(play: Play) -> None:
    rates = [measures.outcome_rate(play, outcome) for outcome in ("CC", "CD", "DC", "DD")]

    known = [rate for rate in rates if rate is not None]
    assert len(known) == (4 if play.outcomes else 0)
    assert math.isclose(sum(known), 1.0) or not known


@given(PLAYS)
def test_to_retaliate_and_to_forgive_a_defection_are_all_there_is(play: Play) -> None:
    retaliation, forgiveness = measures.retaliation(play), measures.forgiveness_after_defection(play)

    if retaliation is None or forgiveness is None:
        assert retaliation is forgiveness is None
    else:
        assert math.isclose(retaliation + forgiveness, 1.0)


@given(PLAYS)
def test_cooperation_over_time_ends_with_the_rate_of_the_last_ten_rounds(play: Play) -> None:
    curve = measures.cooperation_over_time(play)

    assert len(curve) == len(play.own)
    if curve:
        assert curve[-1] == measures.cooperation_rate(Play(play.own[-10:], play.other[-10:]))


@given(PLAYS)
def test_what_concerns_both_is_the_same_from_both_sides(play: Play) -> None:
    for measure in (measures.exploitation_rate, measures.trust_recovery, measures.time_to_collapse):
        assert measure(play) == measure(play.mirrored)
