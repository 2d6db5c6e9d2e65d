"""The door to experiment files: read one, apply a treatment, give every cohort its arm and every seat its player."""

from shared.experiment.allocation import CohortAssignment as CohortAssignment
from shared.experiment.allocation import MediatorAssignment as MediatorAssignment
from shared.experiment.allocation import SeatAssignment as SeatAssignment
from shared.experiment.allocation import allocate as allocate
from shared.experiment.document import MAX_MEMBERS as MAX_MEMBERS
from shared.experiment.document import SCHEMA_VERSION as SCHEMA_VERSION
from shared.experiment.document import Experiment as Experiment
from shared.experiment.document import json_schema as json_schema
from shared.experiment.document import snapshot as snapshot
from shared.experiment.library import named_personas as named_personas
from shared.experiment.personas import read_persona as read_persona
from shared.experiment.personas import read_personas as read_personas
from shared.experiment.personas import write_personas as write_personas
from shared.experiment.providers import endpoint_problems as endpoint_problems
from shared.experiment.providers import providers_used as providers_used
from shared.experiment.reading import load as load
from shared.experiment.reading import read_values as read_values
from shared.experiment.reading import validate as validate
from shared.experiment.treatments import Resolved as Resolved
from shared.experiment.treatments import resolve as resolve
