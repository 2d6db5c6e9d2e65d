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

# The same in other languages, in the same order.
_IN_OTHER_LANGUAGES: Final[Mapping[NameLanguage, Mapping[str, str]]] = {
    "es": {
        "animals": (
            "Perro Gato Ratón Hámster Conejo Zorro Oso Panda Koala Tigre León Vaca Cerdo Rana Mono Gallina Pingüino "
            "Pájaro Ganso Pato Águila Búho Murciélago Lobo Jabalí Caballo Unicornio Abeja Oruga Mariposa Caracol "
            "Mariquita Tortuga Serpiente Lagarto Pulpo Cangrejo Pez Delfín Ballena"
        ),
        "more_animals": (
            "Tiburón Cocodrilo Leopardo Cebra Gorila Elefante Hipopótamo Rinoceronte Camello Jirafa Canguro Búfalo "
            "Carnero Oveja Llama Cabra Ciervo Caniche Pavo Pavorreal Loro Cisne Flamenco Paloma Mapache Mofeta Tejón "
            "Nutria Perezoso Ardilla Erizo Dragón Dinosaurio Foca Globo Camarón Calamar Langosta Grillo Hormiga"
        ),
        "nature": (
            "Cactus Abeto Roble Palmera Brote Helecho Trébol Bambú Arce Seta Concha Coral Roca Arroz Tulipán Rosa "
            "Hibisco Flor Margarita Girasol Sol Luna Planeta Estrella Relámpago Fuego Tornado Arcoíris Nube Copo Gota "
            "Ola Montaña Volcán Isla Desierto Tierra Cometa Tronco Jacinto"
        ),
    },
    "ar": {
        "animals": (
            "كلب قطة فأر هامستر أرنب ثعلب دب باندا كوالا نمر أسد بقرة خنزير ضفدع قرد دجاجة بطريق طائر إوزة بطة نسر "
            "بومة خفاش ذئب حلوف حصان يونيكورن نحلة يرقة فراشة حلزون دعسوقة سلحفاة ثعبان سحلية أخطبوط سلطعون "
            "سمكة دلفين حوت"
        ),
        "more_animals": (
            "قرش تمساح فهد زيبرا غوريلا فيل برنيق كركدن جمل زرافة كنغر جاموس كبش خروف لاما ماعز غزال بودل "
            "حبش طاووس ببغاء بجعة نحام حمامة راكون ظربان غرير قضاعة كسلان سنجاب قنفذ تنين ديناصور فقمة "
            "فوغو روبيان حبار كركند صرصور نملة"
        ),
        "nature": (
            "صبار تنوب بلوط نخلة شتلة سرخس برسيم خيزران قيقب فطر صدفة مرجان صخرة أرز توليب وردة كركديه زهرة أقحوان "
            "دوّار شمس قمر كوكب نجمة برق نار إعصار قزح سحابة ندفة قطرة موجة جبل بركان جزيرة صحراء أرض مذنب "
            "جذع ياقوتية"
        ),
    },
}
# fmt: on
_MOST_NUMBERS: Final = 99


def _sets(column: int, numbered: str) -> Mapping[str, tuple[str, ...]]:
    named = {"animals": _ANIMALS, "more_animals": _MORE_ANIMALS, "nature": _NATURE}
    split = {name: [one.split(" ") for one in entries] for name, entries in named.items()}
    return {
        **{name: tuple(f"{parts[0]} {parts[column]}" for parts in entries) for name, entries in split.items()},
        "numbers": tuple(f"👤 {numbered} {number}" for number in range(1, 1 + _MOST_NUMBERS)),
    }


def _sets_in(language: NameLanguage) -> Mapping[str, tuple[str, ...]]:
    """The English sets with the names of another language."""
    named = {name: words.split(" ") for name, words in _IN_OTHER_LANGUAGES[language].items()}
    return {
        **{
            name: tuple(
                f"{entry.partition(' ')[0]} {word}" for entry, word in zip(_sets(1, "")[name], words, strict=True)
            )
            for name, words in named.items()
        },
        "numbers": tuple(f"👤 {PARTICIPANT[language]} {number}" for number in range(1, 1 + _MOST_NUMBERS)),
    }


SETS: Final[Mapping[NameLanguage, Mapping[str, tuple[str, ...]]]] = {
    "en": _sets(1, PARTICIPANT["en"]),
    "de": _sets(2, PARTICIPANT["de"]),
    "es": _sets_in("es"),
    "ar": _sets_in("ar"),
}
"""Emoji and name, forty of each set and ninety-nine numbers; by language, in the same order."""


def anonymous(entry: str, lap: int) -> Profile:
    """Who bears this name of a set; once all have been given, the next ones are told apart: `Goose 2`."""
    avatar, _, name = entry.partition(" ")
    return Profile(name=f"{name} {lap + 1}" if lap else name, avatar=avatar)
