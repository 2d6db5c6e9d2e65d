"""Every table of the lab. Postgres holds the truth; what must happen is a row here.

Closed lists of states are CHECK constraints; a foreign key has an index unless a key starts with its column.
"""

from parley_lab.store.tables.accounts import api_keys as api_keys
from parley_lab.store.tables.accounts import deeds as deeds
from parley_lab.store.tables.accounts import experimenters as experimenters
from parley_lab.store.tables.accounts import kept_answers as kept_answers
from parley_lab.store.tables.accounts import lab as lab
from parley_lab.store.tables.accounts import personas as personas
from parley_lab.store.tables.accounts import request_limits as request_limits
from parley_lab.store.tables.accounts import sign_in_codes as sign_in_codes
from parley_lab.store.tables.accounts import sign_ins as sign_ins
from parley_lab.store.tables.accounts import stream_tickets as stream_tickets
from parley_lab.store.tables.base import all_of as all_of
from parley_lab.store.tables.base import metadata as metadata
from parley_lab.store.tables.calls import call_limits as call_limits
from parley_lab.store.tables.calls import gates as gates
from parley_lab.store.tables.calls import limits as limits
from parley_lab.store.tables.calls import workers as workers
from parley_lab.store.tables.conversations import messages as messages
from parley_lab.store.tables.conversations import reactions as reactions
from parley_lab.store.tables.conversations import threads as threads
from parley_lab.store.tables.conversations import trigger_log as trigger_log
from parley_lab.store.tables.facts import alerts as alerts
from parley_lab.store.tables.facts import events as events
from parley_lab.store.tables.facts import outbox as outbox
from parley_lab.store.tables.facts import streams as streams
from parley_lab.store.tables.lives import attention_checks as attention_checks
from parley_lab.store.tables.lives import gateways as gateways
from parley_lab.store.tables.lives import notices as notices
from parley_lab.store.tables.lives import presence as presence
from parley_lab.store.tables.lives import sittings as sittings
from parley_lab.store.tables.lives import stays as stays
from parley_lab.store.tables.lives import view_tokens as view_tokens
from parley_lab.store.tables.studies import arrivals as arrivals
from parley_lab.store.tables.studies import cohort_stages as cohort_stages
from parley_lab.store.tables.studies import cohorts as cohorts
from parley_lab.store.tables.studies import experiment_files as experiment_files
from parley_lab.store.tables.studies import experiments as experiments
from parley_lab.store.tables.studies import files as files
from parley_lab.store.tables.studies import joining as joining
from parley_lab.store.tables.studies import matches as matches
from parley_lab.store.tables.studies import members as members
from parley_lab.store.tables.studies import payments as payments
from parley_lab.store.tables.studies import persona_chats as persona_chats
from parley_lab.store.tables.studies import planned_cohorts as planned_cohorts
from parley_lab.store.tables.studies import rooms as rooms
from parley_lab.store.tables.studies import treatments as treatments
from parley_lab.store.tables.studies import waits as waits
from parley_lab.store.tables.work import answers as answers
from parley_lab.store.tables.work import asks as asks
from parley_lab.store.tables.work import drafts as drafts
from parley_lab.store.tables.work import model_calls as model_calls
from parley_lab.store.tables.work import partial_answers as partial_answers
from parley_lab.store.tables.work import prompt_pieces as prompt_pieces
from parley_lab.store.tables.work import timers as timers
