"""The door to the stage kinds: what every kind promises, and what its rules may see.

All rules are pure: they get the resolved stage and a view of the facts, and return values. Time and randomness come as
arguments. Nobody outside `stages/` asks which kind a stage is.
"""

from shared.stage.kind import StageKind, Unanswered, heading
from shared.stage.salvage import Salvaged, UnusableReply
from shared.stage.tables import Answered, Column, Report, Reporter, ReportTable, Table
from shared.stage.talk import Block, Lateness, Minutes, MinutesLine, NextTurn, Utterance, Wave
from shared.stage.view import (
    MEDIATE,
    PAGE,
    READY,
    SPEAK,
    TALK,
    WAKE,
    Ask,
    Json,
    Member,
    Message,
    Speaker,
    StageView,
    Thread,
)

__all__ = [
    "MEDIATE",
    "PAGE",
    "READY",
    "SPEAK",
    "TALK",
    "WAKE",
    "Answered",
    "Ask",
    "Block",
    "Column",
    "Json",
    "Lateness",
    "Member",
    "Message",
    "Minutes",
    "MinutesLine",
    "NextTurn",
    "Report",
    "ReportTable",
    "Reporter",
    "Salvaged",
    "Speaker",
    "StageKind",
    "StageView",
    "Table",
    "Thread",
    "Unanswered",
    "UnusableReply",
    "Utterance",
    "Wave",
    "heading",
]
