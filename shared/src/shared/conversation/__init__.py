"""What happens next in a thread, as pure functions of what stands in it.

`next_change` is level-triggered: given the present scene it names the one change that is due, or None. The caller holds
the thread's lock, writes the change, and asks again. Two agents never answer one trigger because writing a change that
publishes a draft claims the trigger (`shared.acts.conversation`); nothing here is needed for that.
"""

from shared.chat.speaking import TIME_IS_UP
from shared.conversation.changes import has_more_topics, topic_of, with_begun
from shared.conversation.engine import (
    call_off,
    end,
    end_quiet_time,
    go_on,
    lose,
    next_change,
    say,
    say_goodbye,
    time_is_up,
    wake_up,
    why_not,
)
from shared.conversation.minutes import write_down
from shared.conversation.pace import page_seconds, thinking_seconds, typing_seconds
from shared.conversation.scene import (
    START,
    Change,
    Closing,
    Draft,
    NewDraft,
    NewMessage,
    NewTimer,
    Scene,
    Turn,
)
from shared.conversation.view import view_of

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
    "say",
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
