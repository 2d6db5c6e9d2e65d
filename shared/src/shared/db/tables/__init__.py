"""Every table of the lab. Postgres is the truth; what must happen stands in a row here.

Closed lists of states are CHECK constraints; a foreign key has an index unless a key starts with its column.
"""

from shared.db.tables.accounts import api_keys as api_keys
from shared.db.tables.accounts import experimenters as experimenters
from shared.db.tables.accounts import lab as lab
from shared.db.tables.accounts import personas as personas
from shared.db.tables.base import metadata as metadata
from shared.db.tables.calls import call_limits as call_limits
from shared.db.tables.calls import gates as gates
from shared.db.tables.calls import limits as limits
from shared.db.tables.calls import workers as workers
from shared.db.tables.conversations import messages as messages
from shared.db.tables.conversations import reactions as reactions
from shared.db.tables.conversations import threads as threads
from shared.db.tables.conversations import trigger_log as trigger_log
from shared.db.tables.facts import alerts as alerts
from shared.db.tables.facts import events as events
from shared.db.tables.facts import outbox as outbox
from shared.db.tables.facts import streams as streams
from shared.db.tables.studies import cohort_stages as cohort_stages
from shared.db.tables.studies import cohorts as cohorts
from shared.db.tables.studies import experiments as experiments
from shared.db.tables.studies import joining as joining
from shared.db.tables.studies import members as members
from shared.db.tables.studies import persona_chats as persona_chats
from shared.db.tables.studies import treatments as treatments
from shared.db.tables.work import answers as answers
from shared.db.tables.work import asks as asks
from shared.db.tables.work import drafts as drafts
from shared.db.tables.work import model_calls as model_calls
from shared.db.tables.work import timers as timers
