"""The door to the stage kinds: what every kind promises, and what its rules may see.

All rules are pure: they get the resolved stage and a view of the facts, and return values. Time and randomness come as
arguments. Nobody outside `stages/` asks which kind a stage is.
"""

from shared.stage.kind import StageKind, Unanswered, heading
from shared.stage.names import as_shown
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
    LabView,
    Member,
    Message,
    OwnView,
    Speaker,
    Thread,
    View,
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
    "LabView",
    "Lateness",
    "Member",
    "Message",
    "Minutes",
    "MinutesLine",
    "NextTurn",
    "OwnView",
    "Report",
    "ReportTable",
    "Reporter",
    "Salvaged",
    "Speaker",
    "StageKind",
    "Table",
    "Thread",
    "Unanswered",
    "UnusableReply",
    "Utterance",
    "View",
    "Wave",
    "as_shown",
    "heading",
]
