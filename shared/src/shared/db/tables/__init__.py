"""Every table of the lab. Postgres holds the truth; what must happen is a row here.

Closed lists of states are CHECK constraints; a foreign key has an index unless a key starts with its column.
"""

from shared.db.tables.accounts import api_keys as api_keys
from shared.db.tables.accounts import deeds as deeds
from shared.db.tables.accounts import experimenters as experimenters
from shared.db.tables.accounts import kept_answers as kept_answers
from shared.db.tables.accounts import lab as lab
from shared.db.tables.accounts import personas as personas
from shared.db.tables.accounts import request_limits as request_limits
from shared.db.tables.accounts import stream_tickets as stream_tickets
from shared.db.tables.base import all_of as all_of
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
from shared.db.tables.lives import attention_checks as attention_checks
from shared.db.tables.lives import gateways as gateways
from shared.db.tables.lives import notices as notices
from shared.db.tables.lives import presence as presence
from shared.db.tables.lives import sittings as sittings
from shared.db.tables.lives import stays as stays
from shared.db.tables.lives import view_tokens as view_tokens
from shared.db.tables.studies import arrivals as arrivals
from shared.db.tables.studies import cohort_stages as cohort_stages
from shared.db.tables.studies import cohorts as cohorts
from shared.db.tables.studies import experiment_files as experiment_files
from shared.db.tables.studies import experiments as experiments
from shared.db.tables.studies import files as files
from shared.db.tables.studies import joining as joining
from shared.db.tables.studies import members as members
from shared.db.tables.studies import payments as payments
from shared.db.tables.studies import persona_chats as persona_chats
from shared.db.tables.studies import planned_cohorts as planned_cohorts
from shared.db.tables.studies import treatments as treatments
from shared.db.tables.studies import waits as waits
from shared.db.tables.work import answers as answers
from shared.db.tables.work import asks as asks
from shared.db.tables.work import drafts as drafts
from shared.db.tables.work import model_calls as model_calls
from shared.db.tables.work import partial_answers as partial_answers
from shared.db.tables.work import prompt_pieces as prompt_pieces
from shared.db.tables.work import timers as timers
