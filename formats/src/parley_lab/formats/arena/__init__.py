"""Agents of an arena: files of one agent, and the sixteen agents to begin with."""

from parley_lab.formats.arena.files import first_agents as first_agents
from parley_lab.formats.arena.files import read_agent as read_agent
from parley_lab.formats.arena.files import write_agent as write_agent
