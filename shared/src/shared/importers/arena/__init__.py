"""The door to agents of an arena: files of one agent, and the sixteen to begin with."""

from shared.importers.arena.files import first_agents as first_agents
from shared.importers.arena.files import read_agent as read_agent
from shared.importers.arena.files import write_agent as write_agent
