"""What an experiment file says about how participants are known."""

from typing import Literal

from parley_lab.contracts.experiment import StageConfig

Set = Literal["free", "gendered", "animals", "more_animals", "nature", "numbers"]


class ProfileStage(StageConfig):
    """How the others know a participant from here on, until another stage of this kind."""

    kind: Literal["profile"] = "profile"
    set: Set = "free"
    """`free`: everybody chooses name, avatar and pronouns. `gendered`: the same, with an avatar out of fifteen people.
    `animals`, `more_animals`, `nature`, `numbers`: a name is drawn, for each seat of the cohort another one; with
    `language: de` a German one.
    """

    @property
    def is_chosen(self) -> bool:
        return self.set in ("free", "gendered")
