"""The sets of anonymous names, each with its emoji, and the avatars to choose from."""

from collections.abc import Mapping
from typing import Final

from shared.contracts.experiment import Profile

AVATARS: Final = (
    "👩🏻",
    "👩🏼",
    "👩🏽",
    "👩🏾",
    "👩🏿",
    "👨🏻",
    "👨🏼",
    "👨🏽",
    "👨🏾",
    "👨🏿",
    "🧑🏻",
    "🧑🏼",
    "🧑🏽",
    "🧑🏾",
    "🧑🏿",
)
"""Women, men and people, in five colours of skin."""

# fmt: off
_ANIMALS: Final = (
    "🐶 Dog", "🐱 Cat", "🐭 Mouse", "🐹 Hamster", "🐰 Rabbit", "🦊 Fox", "🐻 Bear", "🐼 Panda", "🐨 Koala",
    "🐯 Tiger", "🦁 Lion", "🐮 Cow", "🐷 Pig", "🐸 Frog", "🐵 Monkey", "🐔 Chicken", "🐧 Penguin", "🐦 Bird",
    "🪿 Goose", "🦆 Duck", "🦅 Eagle", "🦉 Owl", "🦇 Bat", "🐺 Wolf", "🐗 Boar", "🐴 Horse", "🦄 Unicorn", "🐝 Bee",
    "🐛 Caterpillar", "🦋 Butterfly", "🐌 Snail", "🐞 Ladybird", "🐢 Turtle", "🐍 Snake", "🦎 Lizard", "🐙 Octopus",
    "🦀 Crab", "🐟 Fish", "🐬 Dolphin", "🐳 Whale",
)
_MORE_ANIMALS: Final = (
    "🦈 Shark", "🐊 Crocodile", "🐆 Leopard", "🦓 Zebra", "🦍 Gorilla", "🐘 Elephant", "🦛 Hippo", "🦏 Rhino",
    "🐪 Camel", "🦒 Giraffe", "🦘 Kangaroo", "🐃 Buffalo", "🐏 Ram", "🐑 Sheep", "🦙 Llama", "🐐 Goat", "🦌 Deer",
    "🐩 Poodle", "🦃 Turkey", "🦚 Peacock", "🦜 Parrot", "🦢 Swan", "🦩 Flamingo", "🕊️ Dove", "🦝 Raccoon",
    "🦨 Skunk", "🦡 Badger", "🦦 Otter", "🦥 Sloth", "🐿️ Squirrel", "🦔 Hedgehog", "🐉 Dragon", "🦕 Dinosaur",
    "🦭 Seal", "🐡 Blowfish", "🦐 Shrimp", "🦑 Squid", "🦞 Lobster", "🦗 Cricket", "🐜 Ant",
)
_NATURE: Final = (
    "🌵 Cactus", "🌲 Fir", "🌳 Oak", "🌴 Palm", "🌱 Seedling", "🌿 Herb", "🍀 Clover", "🎍 Bamboo", "🍁 Maple",
    "🍄 Mushroom", "🐚 Shell", "🪸 Coral", "🪨 Rock", "🌾 Rice", "🌷 Tulip", "🌹 Rose", "🌺 Hibiscus", "🌸 Blossom",
    "🌼 Daisy", "🌻 Sunflower", "☀️ Sun", "🌙 Moon", "🪐 Planet", "⭐ Star", "⚡ Lightning", "🔥 Fire",
    "🌪️ Tornado", "🌈 Rainbow", "☁️ Cloud", "❄️ Snowflake", "💧 Drop", "🌊 Wave", "🏔️ Mountain", "🌋 Volcano",
    "🏝️ Island", "🏜️ Desert", "🌍 Earth", "☄️ Comet", "🪵 Log", "🪻 Hyacinth",
)
# fmt: on
_MOST_NUMBERS: Final = 99
_NUMBERS: Final = tuple(f"👤 Participant {number}" for number in range(1, 1 + _MOST_NUMBERS))

SETS: Final[Mapping[str, tuple[str, ...]]] = {
    "animals": _ANIMALS,
    "more_animals": _MORE_ANIMALS,
    "nature": _NATURE,
    "numbers": _NUMBERS,
}
"""Emoji and name, forty of each set and ninety-nine numbers."""


def anonymous(entry: str, lap: int) -> Profile:
    """Who bears this name of a set; once all have been given, the next ones are told apart: `Goose 2`."""
    avatar, _, name = entry.partition(" ")
    return Profile(name=f"{name} {lap + 1}" if lap else name, avatar=avatar)
