"""What an experiment file says about the page of its link."""

from operator import not_
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from parley_lab.contracts.experiment import Document

MOST_PARAMETERS: Final = 20
OF_THE_PAGE: Final = "new"
"""The parameter of the link's address that the page of the link reads for itself."""

ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
"""The name of a parameter in an address; the service that sends people has chosen it."""


class JoinPage(Document):
    """What the join page of the experiment shows before a person takes part."""

    title: str = Field(default="", max_length=200)
    """Its heading; empty: the page calls it a study."""
    text: str = Field(default="", max_length=20_000)
    """What participants should know before they join: who asks, how long it takes, what happens with their data."""
    external_id: str = Field(default="PROLIFIC_PID", max_length=100)
    """The parameter of the link's address that holds the external id of the participant; empty: none is read."""
    # Stored only where there are some: services of the version before refuse fields that they do not know.
    parameters: tuple[ParameterName, ...] = Field(default=(), max_length=MOST_PARAMETERS, exclude_if=not_)
    """Further parameters of the link's address, whose values are kept with who joins."""
