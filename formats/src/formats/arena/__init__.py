"""Agents of an arena: files of one agent, and the sixteen agents to begin with."""

from formats.arena.files import first_agents as first_agents
from formats.arena.files import read_agent as read_agent
from formats.arena.files import write_agent as write_agent
