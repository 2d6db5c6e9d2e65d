"""Which public names of a kind's classes are of the interface: a misspelt method would be called by no one."""

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import takewhile


def strange_members(written: type) -> Iterator[str]:
    """A sentence for each public name of a class that extends the interface and is no part of it.

    Names that begin with an underscore are free, and so are the fields of a dataclass.
    """
    own = [*takewhile(lambda one: not _is_interface(one), written.__mro__)]
    extended = written.__mro__[len(own)]
    declared = (name for one in extended.__mro__ for name in getattr(one, "__annotations__", {}))
    known = {name for name in (*dir(extended), *declared) if not name.startswith("_")}
    for one in own:
        # A class that only lends methods may have names of its own.
        public = (name for name in vars(one) if issubclass(one, extended) and not name.startswith("_"))
        for name in public:
            if name not in known and name not in getattr(one, "__dataclass_fields__", {}):
                yield f"`{one.__name__}.{name}` is no part of the interface; {_advice(name, known)}"


def _is_interface(one: type) -> bool:
    """Whether a module of this package itself has the class; packages in it have kinds."""
    return one.__module__.rpartition(".")[0] == __package__


def _advice(name: str, known: set[str]) -> str:
    near = get_close_matches(name, sorted(known), n=1)
    return f"did you mean `{near[0]}`?" if near else "begin a name of your own with an underscore"
