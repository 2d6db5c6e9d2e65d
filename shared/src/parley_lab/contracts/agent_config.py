"""The private part of an agent: what the lab stores of its persona when its cohort is made."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from parley_lab.contracts.experiment import PageSettings, StagedChat
from parley_lab.contracts.mock_script import MockScript
from parley_lab.contracts.models import ModelSettings
from parley_lab.contracts.prompt_items import PromptItems


class AgentConfig(BaseModel):
    """The private part of an agent's profile: a snapshot of its persona and model settings."""

    model_config = ConfigDict(frozen=True)

    persona_id: str
    text: str
    attributes: dict[str, Any]
    model: ModelSettings
    model_by_stage: dict[str, dict[str, Any]] = {}
    chat: StagedChat
    pages: PageSettings = PageSettings()
    transfers: str = "accept"
    role: str = ""
    goal: str = ""
    backstory: str = ""
    script: dict[str, dict[str, Any]] = {}
    prompts: dict[str, PromptItems] = {}
    prompt_token_budget: int | None = None
    mock: MockScript | None = None

    def in_stage(self, stage_id: str) -> "AgentConfig":
        """The agent as it talks and is called in this stage."""
        model, chat = self.model_by_stage.get(stage_id, {}), self.chat.by_stage.get(stage_id, {})
        changes = {
            "model": ModelSettings.model_validate({**self.model.model_dump(), **model}) if model else self.model,
            "chat": StagedChat.model_validate({**self.chat.model_dump(), **chat}) if chat else self.chat,
        }
        return self.model_copy(update=changes)
