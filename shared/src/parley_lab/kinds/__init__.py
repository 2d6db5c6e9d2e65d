"""The door to stage kinds: what an author of a kind needs, in thirty names. `docs/kinds.md` describes them.

Names that few kinds need are imported from where they are (`from parley_lab.kinds.effects import SetProfile`). All
rules are pure: they get the resolved stage and a view of the facts, and return values. Time and randomness are
arguments. No code outside `stages/` depends on a particular kind.
"""

from parley_lab.kinds import form
from parley_lab.kinds.data import Column, Data, Table
from parley_lab.kinds.effects import End, Pay
from parley_lab.kinds.form import Field, Form
from parley_lab.kinds.kind import Blocked, Completion, Done, PageContent, StageKind, heading
from parley_lab.kinds.page_kind import PageKind
from parley_lab.kinds.parts import Draws, Parts, Question, Questions, Substitute, UnusableReply
from parley_lab.kinds.sentences import Label, Reason
from parley_lab.kinds.talk import Block
from parley_lab.kinds.view import PAGE, Ask, Json, LabView, Member, OwnView

__all__ = [
    "PAGE",
    "Ask",
    "Block",
    "Blocked",
    "Column",
    "Completion",
    "Data",
    "Done",
    "Draws",
    "End",
    "Field",
    "Form",
    "Json",
    "LabView",
    "Label",
    "Member",
    "OwnView",
    "PageContent",
    "PageKind",
    "Parts",
    "Pay",
    "Question",
    "Questions",
    "Reason",
    "StageKind",
    "Substitute",
    "Table",
    "UnusableReply",
    "form",
    "heading",
]
