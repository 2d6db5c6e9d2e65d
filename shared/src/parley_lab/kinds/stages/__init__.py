"""The stage kinds: each folder here is one, found by its name; further ones come from outside.

Kinds from outside are found in the folder that PARLEY_KINDS_DIR names, and in packages with an entry point. All kinds
are known once this module is imported; types made of them, such as AnyStage, never change after that. The folder is
imported as `parley_kinds` and is not on Python's path, so a kind called `random` hides no module. No kind replaces
another, because the data could not tell them apart.
"""

import importlib
import pkgutil
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Annotated, Any, Final, Union, get_args

from pydantic import BaseModel, Field, GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema

from parley_lab.base.errors import Conflict, SettingsInvalid
from parley_lab.base.settings import KindSettings, read_settings
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.texts import for_roles
from parley_lab.kinds import Json, PageContent, Parts, StageKind
from parley_lab.kinds.kind import page_model
from parley_lab.kinds.members import strange_members
from parley_lab.kinds.reads import of_everybody

GROUP: Final = "parley.kinds"
"""The entry points of packages with kinds; each is named like its kind and leads to an instance."""

_PACKAGE: Final = "parley_kinds"
"""The package name of the folder of kinds, so that none takes the name of another module."""


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a kind; `place` is for people."""

    name: str
    place: str
    load: Callable[[], object]


def _in_package(folders: Iterable[str], package: str) -> Iterator[Source]:
    for found in pkgutil.iter_modules(folders):
        if found.ispkg:
            where = Path(str(getattr(found.module_finder, "path", "")), found.name)
            yield Source(found.name, f"the folder {where}", partial(_of_module, f"{package}.{found.name}"))


def _of_module(name: str) -> object:
    return getattr(importlib.import_module(name), "KIND", None)


def _in_folder(folder: Path | None) -> Iterator[Source]:
    """The kinds in a folder from outside.

    Raises:
        SettingsInvalid: it is no folder of kinds.
    """
    if folder is None:
        return
    if not folder.is_dir():
        raise SettingsInvalid(f"There is no folder {folder}, in which kinds of stages were to be found.")
    if (folder / "__init__.py").is_file():
        raise SettingsInvalid(f"The folder {folder} is a kind itself; name the folder in which it is: {folder.parent}")
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(folder)]
    sys.modules[_PACKAGE] = package
    yield from _in_package(package.__path__, _PACKAGE)


def _installed() -> Iterator[Source]:
    """The kinds of installed packages."""
    for point in metadata.entry_points(group=GROUP):
        owner = f"the package {point.dist.name}" if point.dist else "a package"
        yield Source(point.name, f"{owner} ({point.value})", point.load)


def gather(sources: Iterable[Source]) -> dict[str, tuple[StageKind[Any], Source]]:
    """Every kind and its origin, by name.

    Raises:
        SettingsInvalid: two have the same name, or one is not valid, with what it lacks.
    """
    by_name: dict[str, Source] = {}
    for source in sources:
        if source.name in by_name:
            places = f"{by_name[source.name].place} and {source.place}"
            raise SettingsInvalid(f"Two kinds of stages are called {source.name!r}: {places}. Take one of them away.")
        by_name[source.name] = source
    return {name: (_kind(by_name[name]), by_name[name]) for name in sorted(by_name)}


def _kind(source: Source) -> StageKind[Any]:
    name, who = source.name, f"The kind {source.name!r} in {source.place}"
    try:
        kind = source.load()
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        file, line = frame.filename, frame.lineno
        told = str(error)
        if isinstance(error, SyntaxError):
            # Its frames are those of the import.
            file, line, told = error.filename or file, error.lineno or line, error.msg
        reason = f"{type(error).__name__}: {told} ({file}, line {line})"
        raise SettingsInvalid(f"{who} cannot be loaded. {reason}") from error
    if not isinstance(kind, StageKind):
        raise SettingsInvalid(f"{who} needs KIND, an instance of its StageKind; it has {kind!r}.")
    model = getattr(kind, "config_model", None)
    if not isinstance(model, type) or not issubclass(model, StageConfig):
        raise SettingsInvalid(f"{who} needs a config_model that is a StageConfig.")
    if get_args(model.model_fields["kind"].annotation) != (name,):
        raise SettingsInvalid(f"{who}: its config must say kind: Literal[{name!r}].")
    try:
        page = page_model(type(kind))
    except TypeError as error:
        raise SettingsInvalid(f"{who}: {error}.") from error
    if "kind" not in page.model_fields or get_args(page.model_fields["kind"].annotation) != (name,):
        raise SettingsInvalid(f"{who}: its page must say kind: Literal[{name!r}].")
    for strange in strange_members(type(kind)):
        raise SettingsInvalid(f"{who}: {strange}")
    return kind


_OURS: Final = tuple(_in_package(__path__, __name__))
_FOUND: Final = gather([*_OURS, *_in_folder(read_settings(KindSettings).kinds_dir), *_installed()])
_KINDS: Final[Mapping[str, StageKind[Any]]] = MappingProxyType({name: kind for name, (kind, _) in _FOUND.items()})


def places() -> Mapping[str, str]:
    """The origin of each kind, in words."""
    return {name: source.place for name, (_, source) in _FOUND.items()}


def brought() -> list[str]:
    """The names of the kinds from outside."""
    return sorted(set(_FOUND) - {one.name for one in _OURS})


def kinds() -> Mapping[str, StageKind[Any]]:
    """Every kind of stage, by the name that experiment files use."""
    return _KINDS


def kind_of(stage: StageConfig) -> StageKind[Any]:
    """The rules of this stage."""
    return _KINDS[stage.kind]


def parts_of(stage: StageConfig) -> Parts:
    """The parts of this stage, made once for each stage in memory."""
    made = stage._made
    if made.of is not stage:
        made.of, made.parts = stage, kind_of(stage).parts(stage)
    parts: Parts = made.parts
    return parts


def read_of_everybody(stages: Iterable[StageConfig]) -> list[str]:
    """The stages whose pages, of all members, one of these stages reads; each once."""
    return list(dict.fromkeys(read for stage in stages for read in of_everybody(parts_of(stage).reads)))


def manner_of(scripts: Mapping[str, Mapping[str, Json]]) -> tuple[str, ...]:
    """Phrases that the mock uses in conversations for a persona with these scripts, by kind of stage."""
    return tuple(said for name, kind in _KINDS.items() if name in scripts for said in kind.manner(scripts[name]))


def _one_of(models: Iterable[type[BaseModel]]) -> Any:
    """The union of these models, discriminated by `kind`."""
    found = tuple(models)
    # A union of one has no discriminator.
    return Annotated[Union[found], Field(discriminator="kind")] if len(found) > 1 else found[0]  # noqa: UP007


class _OneOfAllKinds:
    """Makes pydantic read a field of type StageConfig as the union of all kinds."""

    def __get_pydantic_core_schema__(self, _source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(_one_of(kind.config_model for kind in _KINDS.values()))


class _OneOfAllPages:
    """The same for pages."""

    def __get_pydantic_core_schema__(self, _source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(_one_of(page_model(type(kind)) for kind in _KINDS.values()))


AnyStage = Annotated[StageConfig, _OneOfAllKinds()]
"""The type of a pydantic field that holds a stage of any kind."""

AnyPage = Annotated[PageContent, _OneOfAllPages()]
"""The type of a pydantic field that holds the page of any kind."""

_ANY_STAGE: Final[TypeAdapter[StageConfig]] = TypeAdapter(AnyStage)


def require_kinds(stages: Iterable[Mapping[str, Json]]) -> None:
    """Refuse stages that were stored by a lab with kinds that this one lacks.

    Raises:
        Conflict: with the missing kinds, and how to provide them.
    """
    known = kinds()
    missing = sorted({str(stage.get("kind")) for stage in stages} - set(known))
    if missing:
        raise Conflict(
            f"This lab lacks kinds of its stages: {', '.join(missing)}. Give their folder with --kinds DIR or "
            "PARLEY_KINDS_DIR, or install the packages that bring them.",
            reason="kinds_missing",
        )


def read_stage(value: Json, *, roles: Collection[str] | None = None) -> StageConfig:
    """The stage in this JSON value; with `roles`, its texts are those of a reader who has them.

    Raises:
        pydantic.ValidationError: it is no valid stage.
    """
    return _ANY_STAGE.validate_python(value, context=None if roles is None else for_roles(roles))
