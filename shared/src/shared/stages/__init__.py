"""The door to the rooms: one folder here is one kind of stage, found by its name. Adding a kind adds a folder."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Union, get_args

from pydantic import Field, GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema

from shared.contracts.experiment import StageConfig
from shared.stage import Json, StageKind


def discover(folders: Iterable[str], package: str) -> dict[str, StageKind[Any]]:
    """Every kind in `folders`, the path of `package`, by name.

    Raises:
        ImportError: a folder that is no proper kind, and what it lacks.
    """
    names = sorted(found.name for found in pkgutil.iter_modules(folders) if found.ispkg)
    return {name: _kind(name, getattr(importlib.import_module(f"{package}.{name}"), "KIND", None)) for name in names}


def _kind(name: str, kind: object) -> StageKind[Any]:
    if not isinstance(kind, StageKind):
        raise ImportError(f"the stage folder {name!r} needs KIND, an instance of its StageKind; it has {kind!r}")
    model = getattr(kind, "config_model", None)
    if not isinstance(model, type) or not issubclass(model, StageConfig):
        raise ImportError(f"the stage folder {name!r} needs a config_model that is a StageConfig")
    if get_args(model.model_fields["kind"].annotation) != (name,):
        raise ImportError(f"the config of the stage folder {name!r} must say kind: Literal[{name!r}]")
    return kind


_KINDS: Final[Mapping[str, StageKind[Any]]] = MappingProxyType(discover(__path__, __name__))


def kinds() -> Mapping[str, StageKind[Any]]:
    """Every kind of stage, by the name that experiment files use."""
    return _KINDS


def kind_of(stage: StageConfig) -> StageKind[Any]:
    """The rules of this stage."""
    return _KINDS[stage.kind]


def manner_of(scripts: Mapping[str, Mapping[str, Json]]) -> tuple[str, ...]:
    """What the mock says in conversations for a persona with these scripts, by kind of stage."""
    return tuple(said for name, kind in _KINDS.items() if name in scripts for said in kind.manner(scripts[name]))


class _OneOfAllKinds:
    """Makes pydantic read a field that is typed StageConfig as the union of all kinds, told apart by `kind`."""

    def __get_pydantic_core_schema__(self, _source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        models = tuple(kind.config_model for kind in _KINDS.values())
        # The union of one is that one, which cannot be told apart by a field.
        union: Any = Annotated[Union[models], Field(discriminator="kind")] if len(models) > 1 else models[0]  # noqa: UP007
        return handler.generate_schema(union)


AnyStage = Annotated[StageConfig, _OneOfAllKinds()]
"""The type of a pydantic field that holds a stage of any kind."""

_ANY_STAGE: Final[TypeAdapter[StageConfig]] = TypeAdapter(AnyStage)


def read_stage(value: Json) -> StageConfig:
    """The stage that was written as JSON.

    Raises:
        pydantic.ValidationError: it is no stage.
    """
    return _ANY_STAGE.validate_python(value)
