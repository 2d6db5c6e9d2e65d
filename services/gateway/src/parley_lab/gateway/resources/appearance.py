"""How the pages of an experiment look."""

from pydantic import Field

from parley_lab.contracts.appearance import Appearance, PageWords
from parley_lab.gateway.resources.base import Resource
from parley_lab.web.accents import accents


class AccentResource(Resource):
    """Colours with enough contrast (WCAG 2.2 AA), as `#rrggbb`."""

    light: str = Field(examples=["#7a1f5c"])
    """Of buttons and marks on light pages."""
    on_light: str = Field(examples=["#ffffff"])
    """Of texts on it."""
    dark: str = Field(examples=["#c48fb3"])
    on_dark: str = Field(examples=["#101214"])


class AppearanceResource(Resource):
    """What the researcher chose; all of it may be left out."""

    logo: str | None = Field(examples=["data:image/png;base64,iVBORw0KGgo="])
    """An image as a data URL."""
    logo_text: str = Field(examples=["University of Chur"])
    """What it shows."""
    accent: AccentResource | None
    words: PageWords = Field(examples=[{"go_on": "Next"}])
    """Own words for those of the pages, by their names; some have a form for each plural."""


def shown_appearance(appearance: Appearance) -> AppearanceResource:
    """The appearance with colours that can be read."""
    found = None if appearance.accent is None else accents(appearance.accent)
    return AppearanceResource(
        logo=appearance.logo,
        logo_text=appearance.logo_text,
        accent=None if found is None else AccentResource.model_validate(found, from_attributes=True),
        words=appearance.words,
    )
