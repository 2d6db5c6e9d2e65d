"""A stage as one seat is shown it, before a run."""

from parley_lab.contracts.prompts import SeatChoice, SeenText, StageChoice
from parley_lab.gateway.resources.base import Resource
from parley_lab.gateway.resources.members import PromptResource
from parley_lab.gateway.resources.participants import Me, StagePage


class SeenResource(Resource):
    """The page of a person and the prompt of an agent in one seat, when the stage has just opened."""

    stage_id: str
    treatment_id: str | None
    seat: str
    """The path of the member."""
    stages: list[StageChoice]
    treatments: list[str]
    seats: list[SeatChoice]
    """Those of the arm; of seats that differ in the number of their cohort alone there is the first."""
    me: Me
    page: StagePage
    prompt: PromptResource | None
    why_no_prompt: str | None
    """Where no model is shown anything."""
    texts: list[SeenText]
    """The texts of the stage and of the persona, of two words or more, and whether page and prompt have them."""
    made_up: list[str]
    """The earlier stages, in which the mock has answered for all."""
