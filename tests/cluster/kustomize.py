"""Renders the kustomizations of deploy/kubernetes, as `kubectl kustomize` does, for machines without it.

It knows what our files use, and refuses the rest: resources, components, namespace, labels without selectors, images,
config maps with hashes in their names, strategic merges and JSON patches. Where kubectl is installed, a test compares.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import yaml

Manifest = dict[str, Any]

_KNOWN: Final = frozenset(
    {"apiVersion", "kind", "namespace", "labels", "resources", "components", "images", "configMapGenerator", "patches"}
)
_CLUSTER_WIDE: Final = frozenset({"Namespace", "ClusterRole", "ClusterRoleBinding", "StorageClass", "PriorityClass"})
_MERGE_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
}
"""The field by which a strategic merge finds the item of a list; other lists are replaced."""
_REFERENCES: Final = ("configMapRef", "configMap", "configMapKeyRef")
_HASHED: Final = "parley.test/hashed"
"""Marks config maps whose names get a hash at the end."""
_LETTERS: Final = str.maketrans("013ae", "ghkmt")
_HASH_LENGTH: Final = 10


def render(folder: Path) -> list[Manifest]:
    """The manifests of the kustomization in this folder.

    Raises:
        ValueError: it uses what is not known here.
    """
    return _with_hashes(_made(folder.resolve(), []))


def _made(folder: Path, found: list[Manifest]) -> list[Manifest]:
    """What the kustomization makes of `found`, which is what a component is applied to."""
    wanted = yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))
    if unknown := set(wanted) - _KNOWN:
        raise ValueError(f"{folder.name}: {sorted(unknown)} are not known here")
    found = [*found, *(one for path in wanted.get("resources", ()) for one in _resources(folder / path))]
    for path in wanted.get("components", ()):
        found = _made((folder / path).resolve(), found)
    for one in wanted.get("configMapGenerator", ()):
        found = _with_config_map(found, one, folder)
    for patch in wanted.get("patches", ()):
        _apply(found, patch, folder)
    for one in found:
        _set_namespace(one, wanted.get("namespace"))
        for labels in wanted.get("labels", ()):
            one["metadata"].setdefault("labels", {}).update(labels["pairs"])
        for image in wanted.get("images", ()):
            _set_image(one, image)
    return found


def _resources(path: Path) -> list[Manifest]:
    return _made(path.resolve(), []) if path.is_dir() else list(yaml.safe_load_all(path.read_text("utf-8")))


def _with_config_map(found: list[Manifest], wanted: Mapping[str, Any], folder: Path) -> list[Manifest]:
    data = dict(literal.split("=", 1) for literal in wanted.get("literals", ()))
    data |= {Path(name).name: (folder / name).read_text("utf-8") for name in wanted.get("files", ())}
    if wanted.get("behavior", "create") == "merge":
        maps = {one["metadata"]["name"]: one for one in found if one["kind"] == "ConfigMap"}
        maps[wanted["name"]]["data"] |= data
        return found
    metadata = {"name": wanted["name"], "annotations": {_HASHED: "yes"}}
    return [*found, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]


def _set_namespace(manifest: Manifest, namespace: str | None) -> None:
    if namespace is None:
        return
    if manifest["kind"] == "Namespace":
        manifest["metadata"]["name"] = namespace
    elif manifest["kind"] not in _CLUSTER_WIDE:
        manifest["metadata"]["namespace"] = namespace


def _set_image(part: Any, image: Mapping[str, str]) -> None:
    for one in _objects(part):
        name, _, tag = one["image"].partition(":") if isinstance(one.get("image"), str) else ("", "", "")
        if name == image["name"]:
            one["image"] = f"{image.get('newName', name)}:{image.get('newTag', tag)}"


def _objects(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _objects(inner)


def _apply(found: Iterable[Manifest], patch: Mapping[str, Any], folder: Path) -> None:
    text = patch["patch"] if "patch" in patch else (folder / patch["path"]).read_text("utf-8")
    for one in yaml.safe_load_all(text):
        fitting = [manifest for manifest in found if _is_meant(manifest, one, patch.get("target"))]
        if not fitting:
            raise ValueError(f"{folder.name}: nothing fits the patch {patch.get('path', patch)}")
        for manifest in fitting:
            if isinstance(one, list):
                _change(manifest, one)
            else:
                _merge(manifest, one)


def _is_meant(manifest: Manifest, patch: Any, target: Mapping[str, str] | None) -> bool:
    metadata = manifest["metadata"]
    if target is None:
        return (manifest["kind"], metadata["name"]) == (patch["kind"], patch["metadata"]["name"])
    selected = dict(pair.split("=") for pair in target.get("labelSelector", "").split(",") if pair)
    return (
        re.fullmatch(target.get("kind", ".*"), manifest["kind"]) is not None
        and re.fullmatch(target.get("name", ".*"), metadata["name"]) is not None
        and selected.items() <= metadata.get("labels", {}).items()
    )


def _change(manifest: Manifest, operations: Iterable[Mapping[str, Any]]) -> None:
    """A JSON patch (RFC 6902)."""
    for operation in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place: Any = manifest
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        value = deepcopy(operation.get("value"))
        if operation["op"] not in ("add", "replace"):
            raise ValueError(f"the operation {operation['op']} is not known here")
        if isinstance(place, dict):
            place[last] = value
        elif last == "-":
            place.append(value)
        elif operation["op"] == "add":
            place.insert(int(last), value)
        else:
            place[int(last)] = value


def _merge(manifest: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """A strategic merge: objects field by field, some lists by a key, everything else replaced."""
    for name, value in patch.items():
        if value is None:
            manifest.pop(name, None)
        elif isinstance(value, dict) and isinstance(manifest.get(name), dict):
            _merge(manifest[name], value)
        elif isinstance(value, list) and name in _MERGE_KEYS and isinstance(manifest.get(name), list):
            manifest[name] = _merged(manifest[name], value, _MERGE_KEYS[name])
        else:
            manifest[name] = deepcopy(value)


def _merged(items: list[dict[str, Any]], patches: Iterable[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """New items come first."""
    known = {one[key]: one for one in items}
    new = [deepcopy(one) for one in patches if one[key] not in known]
    for one in patches:
        if one[key] in known:
            _merge(known[one[key]], one)
    return [*new, *items]


def _with_hashes(found: list[Manifest]) -> list[Manifest]:
    """Names of generated config maps end in a hash of what is in them, wherever they are named."""
    names = {}
    for one in found:
        annotations = one["metadata"].get("annotations", {})
        if annotations.pop(_HASHED, None) is not None:
            if not annotations:
                del one["metadata"]["annotations"]
            name = one["metadata"]["name"]
            names[name] = one["metadata"]["name"] = f"{name}-{_hash_of(one['data'])}"
    for part in _objects(found):
        for reference in _REFERENCES:
            named = part.get(reference)
            if isinstance(named, dict) and named.get("name") in names:
                named["name"] = names[named["name"]]
    return found


def _hash_of(data: Mapping[str, str]) -> str:
    written = json.dumps({"data": data, "kind": "ConfigMap", "name": ""}, sort_keys=True, separators=(",", ":"))
    # As Go writes JSON.
    for sign in "<>&":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return hashlib.sha256(written.encode()).hexdigest()[:_HASH_LENGTH].translate(_LETTERS)
