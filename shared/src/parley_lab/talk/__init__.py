"""The next change of a thread, as pure functions of its state.

`next_change` is level-triggered: it returns the one change of the scene that is due, or None. The caller holds the
thread's lock, writes the change, and calls again. Two agents never reply to one trigger, because the write of a change
that publishes a draft claims the trigger (`parley_lab.talk.conversation`); the functions here need not ensure that.
"""

from parley_lab.contracts.turn_state import Turn
from parley_lab.kinds.chat.speaking import TIME_IS_UP
from parley_lab.talk.changes import has_more_topics, topic_of, with_begun
from parley_lab.talk.engine import (
    call_off,
    end,
    end_quiet_time,
    go_on,
    lose,
    next_change,
    say,
    say_for_staff,
    say_goodbye,
    time_is_up,
    wake_up,
    why_not,
)
from parley_lab.talk.minutes import write_down
from parley_lab.talk.pace import page_seconds, thinking_seconds, typing_seconds
from parley_lab.talk.scene import START, Change, Closing, Draft, NewDraft, NewMessage, NewTimer, Scene
from parley_lab.talk.view import public_message, view_of

__all__ = [
    "START",
    "TIME_IS_UP",
    "Change",
    "Closing",
    "Draft",
    "NewDraft",
    "NewMessage",
    "NewTimer",
    "Scene",
    "Turn",
    "call_off",
    "end",
    "end_quiet_time",
    "go_on",
    "has_more_topics",
    "lose",
    "next_change",
    "page_seconds",
    "public_message",
    "say",
    "say_for_staff",
    "say_goodbye",
    "thinking_seconds",
    "time_is_up",
    "topic_of",
    "typing_seconds",
    "view_of",
    "wake_up",
    "why_not",
    "with_begun",
    "write_down",
]
