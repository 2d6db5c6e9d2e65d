"""The sets of anonymous names, each with its emoji, and the avatars to choose from."""

from collections.abc import Mapping
from typing import Final

from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.languages import PARTICIPANT, NameLanguage

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

# Each with its English name and its German one.
# fmt: off
_ANIMALS: Final = (
    "🐶 Dog Hund", "🐱 Cat Katze", "🐭 Mouse Maus", "🐹 Hamster Hamster", "🐰 Rabbit Kaninchen", "🦊 Fox Fuchs",
    "🐻 Bear Bär", "🐼 Panda Panda", "🐨 Koala Koala", "🐯 Tiger Tiger", "🦁 Lion Löwe", "🐮 Cow Kuh", "🐷 Pig Schwein",
    "🐸 Frog Frosch", "🐵 Monkey Affe", "🐔 Chicken Huhn", "🐧 Penguin Pinguin", "🐦 Bird Vogel", "🪿 Goose Gans",
    "🦆 Duck Ente", "🦅 Eagle Adler", "🦉 Owl Eule", "🦇 Bat Fledermaus", "🐺 Wolf Wolf", "🐗 Boar Wildschwein",
    "🐴 Horse Pferd", "🦄 Unicorn Einhorn", "🐝 Bee Biene", "🐛 Caterpillar Raupe", "🦋 Butterfly Schmetterling",
    "🐌 Snail Schnecke", "🐞 Ladybird Marienkäfer", "🐢 Turtle Schildkröte", "🐍 Snake Schlange", "🦎 Lizard Eidechse",
    "🐙 Octopus Krake", "🦀 Crab Krabbe", "🐟 Fish Fisch", "🐬 Dolphin Delfin", "🐳 Whale Wal",
)
_MORE_ANIMALS: Final = (
    "🦈 Shark Hai", "🐊 Crocodile Krokodil", "🐆 Leopard Leopard", "🦓 Zebra Zebra", "🦍 Gorilla Gorilla",
    "🐘 Elephant Elefant", "🦛 Hippo Nilpferd", "🦏 Rhino Nashorn", "🐪 Camel Kamel", "🦒 Giraffe Giraffe",
    "🦘 Kangaroo Känguru", "🐃 Buffalo Büffel", "🐏 Ram Widder", "🐑 Sheep Schaf", "🦙 Llama Lama", "🐐 Goat Ziege",
    "🦌 Deer Hirsch", "🐩 Poodle Pudel", "🦃 Turkey Truthahn", "🦚 Peacock Pfau", "🦜 Parrot Papagei", "🦢 Swan Schwan",
    "🦩 Flamingo Flamingo", "🕊️ Dove Taube", "🦝 Raccoon Waschbär", "🦨 Skunk Stinktier", "🦡 Badger Dachs",
    "🦦 Otter Otter", "🦥 Sloth Faultier", "🐿️ Squirrel Eichhörnchen", "🦔 Hedgehog Igel", "🐉 Dragon Drache",
    "🦕 Dinosaur Dinosaurier", "🦭 Seal Robbe", "🐡 Blowfish Kugelfisch", "🦐 Shrimp Garnele", "🦑 Squid Kalmar",
    "🦞 Lobster Hummer", "🦗 Cricket Grille", "🐜 Ant Ameise",
)
_NATURE: Final = (
    "🌵 Cactus Kaktus", "🌲 Fir Tanne", "🌳 Oak Eiche", "🌴 Palm Palme", "🌱 Seedling Keimling", "🌿 Herb Farn",
    "🍀 Clover Klee", "🎍 Bamboo Bambus", "🍁 Maple Ahorn", "🍄 Mushroom Pilz", "🐚 Shell Muschel", "🪸 Coral Koralle",
    "🪨 Rock Fels", "🌾 Rice Reis", "🌷 Tulip Tulpe", "🌹 Rose Rose", "🌺 Hibiscus Hibiskus", "🌸 Blossom Blüte",
    "🌼 Daisy Gänseblümchen", "🌻 Sunflower Sonnenblume", "☀️ Sun Sonne", "🌙 Moon Mond", "🪐 Planet Planet",
    "⭐ Star Stern", "⚡ Lightning Blitz", "🔥 Fire Feuer", "🌪️ Tornado Tornado", "🌈 Rainbow Regenbogen",
    "☁️ Cloud Wolke", "❄️ Snowflake Schneeflocke", "💧 Drop Tropfen", "🌊 Wave Welle", "🏔️ Mountain Berg",
    "🌋 Volcano Vulkan", "🏝️ Island Insel", "🏜️ Desert Wüste", "🌍 Earth Erde", "☄️ Comet Komet", "🪵 Log Holz",
    "🪻 Hyacinth Hyazinthe",
)
# fmt: on
_MOST_NUMBERS: Final = 99


def _sets(column: int, numbered: str) -> Mapping[str, tuple[str, ...]]:
    named = {"animals": _ANIMALS, "more_animals": _MORE_ANIMALS, "nature": _NATURE}
    split = {name: [one.split(" ") for one in entries] for name, entries in named.items()}
    return {
        **{name: tuple(f"{parts[0]} {parts[column]}" for parts in entries) for name, entries in split.items()},
        "numbers": tuple(f"👤 {numbered} {number}" for number in range(1, 1 + _MOST_NUMBERS)),
    }


SETS: Final[Mapping[NameLanguage, Mapping[str, tuple[str, ...]]]] = {
    "en": _sets(1, PARTICIPANT["en"]),
    "de": _sets(2, PARTICIPANT["de"]),
}
"""Emoji and name, forty of each set and ninety-nine numbers; by language, in the same order."""


def anonymous(entry: str, lap: int) -> Profile:
    """Who bears this name of a set; once all have been given, the next ones are told apart: `Goose 2`."""
    avatar, _, name = entry.partition(" ")
    return Profile(name=f"{name} {lap + 1}" if lap else name, avatar=avatar)
