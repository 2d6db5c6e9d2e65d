"""Which ready reply is published next, and which is closed instead."""

from dataclasses import replace
from datetime import timedelta

from parley_lab.kinds import Member
from parley_lab.talk import Draft, Scene
from parley_lab.talk.changes import close_leftovers
from parley_lab.talk.publishing import greet, publish_next, why_not
from parley_lab.talk.scene import START
from parley_lab.testing.late_talk import ADA, BOB, a_room
from parley_lab.testing.thread_world import World, a_member, a_scene

CID = a_member("cid", initial_message="Good morning, everybody.")


def open_room(*members: Member, pace: str = "live") -> World:
    """A room in which all who may open it were asked."""
    world = World(a_scene(*members, pace=pace))
    world.advance()
    return world


def ready(scene: Scene, draft: Draft, text: str = "Yes.", finish_ms: int = 10) -> Scene:
    reply = replace(draft, state="ready", text=text, due_at=scene.now, finish_ms=finish_ms)
    return replace(scene, drafts=tuple(reply if one.id == draft.id else one for one in scene.drafts))


def test_nothing_is_said_in_a_thread_that_has_ended() -> None:
    scene = open_room(ADA).scene
    scene = ready(scene, scene.drafts[0])

    assert why_not(scene, scene.drafts[0]) is None
    assert why_not(replace(scene, ended=True), scene.drafts[0]) == "ended"


def test_a_member_who_is_ready_to_end_says_nothing_more() -> None:
    scene = open_room(ADA, BOB).scene
    scene = ready(scene, scene.drafts[0])
    done = replace(scene, turn=replace(scene.turn, ready=frozenset({scene.drafts[0].member_id})))

    assert why_not(done, scene.drafts[0]) == "cancelled"


def test_an_agent_says_no_more_messages_than_it_may() -> None:
    dan = a_member("dan", max_responses=1)
    scene = open_room(dan, BOB).scene
    draft = next(one for one in scene.drafts if one.member_id == dan.id)
    scene = ready(scene, draft)
    once = replace(scene, turn=replace(scene.turn, spoken={dan.id: 1}))
    draft = next(one for one in scene.drafts if one.id == draft.id)

    assert why_not(scene, draft) is None
    assert why_not(once, draft) == "cancelled"


def test_in_pace_live_a_reply_is_published_when_its_typing_time_is_over() -> None:
    world = open_room(ADA)
    world.save(world.scene.drafts[0], text="I type.", due_at=world.scene.now + timedelta(seconds=4))

    assert publish_next(world.scene) is None
    assert publish_next(world.scene_at(3.9)) is None
    assert publish_next(world.scene_at(4)) is not None


def test_in_pace_fast_an_opening_line_comes_before_a_quicker_reply() -> None:
    greeted = greet(a_scene(ADA, CID, pace="fast"))
    assert greeted is not None
    (opening,) = greeted.after.drafts
    quick = replace(
        opening, id=ADA.id, path="c1/talk/a", member_id=ADA.id, trigger_key=START, text="Quick.", finish_ms=1
    )
    slow = replace(opening, state="ready", finish_ms=9_000)

    change = publish_next(replace(greeted.after, drafts=(replace(quick, state="ready"), slow)))

    assert change is not None
    assert change.claims == slow


def test_a_draft_that_a_worker_thinks_about_is_left_to_it_when_the_thread_ends() -> None:
    world = open_room(ADA, BOB)
    thinking = world.begin(world.scene.drafts[0])

    change = close_leftovers(replace(world.scene, ended=True))

    assert change.after.drafts == (thinking,)
    assert [(closed.member_id, how) for closed, how in change.closed] == [(BOB.id, "ended")]


def test_a_conversation_does_not_end_while_a_member_is_still_expected() -> None:
    late = replace(a_member("late", player="person"), present=False, awaited=True)
    world = a_room(ADA, late)

    assert not world.scene.ended
    assert a_room(ADA, replace(late, awaited=False)).scene.ended
