"""Compares the syntax trees of a commit, with its names mapped, with those of the working copy."""

import ast
from collections import Counter
from itertools import pairwise

from names import Mapper, dotted_name
from rooms import AS_THEY_ARE, NAMESPACE, ROOT, TOPS, Rooms, git
from texts import deeper


def compare(commit: str) -> int:
    """How many modules differ from those of the commit by more than names."""
    paths = git("ls-tree", "-r", "--name-only", commit).splitlines()
    rooms = Rooms(paths, lambda path: git("show", f"{commit}:{path}"))
    mapper = Mapper(rooms)
    differ = 0
    for path in paths:
        new = rooms.path_of(path)
        if not path.endswith(".py") or path.startswith(AS_THEY_ARE) or new is None:
            continue
        if not (ROOT / new).exists():
            print(f"{new} is not there")
            differ += 1
            continue
        before = _normal(ast.parse(deeper(git("show", f"{commit}:{path}"), path, new)), mapper)
        after = _normal(ast.parse((ROOT / new).read_text(encoding="utf-8")), None)
        if before != after:
            differ += 1
            print(f"{path} -> {new}")
            for old, now in zip(before[1].split("\n"), after[1].split("\n"), strict=False):
                if old != now:
                    print(f"  - {old.strip()}\n  + {now.strip()}")
                    break
            for gone in (before[0] - after[0]).elements():
                print(f"  - import {gone}")
            for added in (after[0] - before[0]).elements():
                print(f"  + import {added}")
    print(f"{differ} modules differ")
    return 1 if differ else 0


def _normal(tree: ast.Module, mapper: Mapper | None) -> tuple[Counter[tuple[str, ...]], str]:
    """The imports by the names that they bind, and the rest of the tree."""
    if mapper is not None:
        for node, name in list(mapper.attributes(tree)):
            node.__class__ = ast.Name
            node.__dict__.update(id=name)
            node.__dict__.pop("value", None)
            node.__dict__.pop("attr", None)
    imports: Counter[tuple[str, ...]] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            lines = mapper.import_from(node) if mapper else []
            for line in lines or [ast.unparse(node)]:
                (one,) = ast.parse(line).body
                assert isinstance(one, ast.ImportFrom)
                for alias in one.names:
                    imports[one.module or "", alias.name, alias.asname or ""] += 1
        elif isinstance(node, ast.Import):
            for alias in node.names:
                known = mapper is not None and alias.name in mapper.rooms.names
                name = (mapper.rooms.of(alias.name) or alias.name) if mapper and known else alias.name
                imports[name, alias.asname or ""] += 1
    tree = _Plain(mapper).visit(tree)
    return imports, ast.dump(tree, indent=0)


class _Plain(ast.NodeTransformer):
    """Takes imports away, and differences of spaces in texts."""

    def __init__(self, mapper: Mapper | None) -> None:
        self._mapper = mapper

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        name = dotted_name(node)
        return ast.Name(id=name, ctx=ast.Load()) if name is not None and name.startswith(f"{NAMESPACE}.") else node

    def visit_List(self, node: ast.List) -> ast.AST:
        self._modules_of_commands(node.elts)
        return self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        self._modules_of_commands(node.elts)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self._modules_of_commands(node.args)
        return self.generic_visit(node)

    def _modules_of_commands(self, elements: list[ast.expr]) -> None:
        if self._mapper is None:
            return
        for option, module in pairwise(elements):
            is_command = isinstance(option, ast.Constant) and option.value == "-m"
            if is_command and isinstance(module, ast.Constant) and module.value in TOPS:
                module.value = self._mapper.rooms.names[str(module.value)]

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if self._mapper is not None and isinstance(node.op, ast.Div):
            source = ast.unparse(node).replace("'", '"')
            new = self._mapper.joined(source)
            if new != source:
                return self.generic_visit(ast.parse(new, mode="eval").body)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str):
            text = self._mapper.text(node.value) if self._mapper else node.value
            node.value = " ".join(text.split())
        return node
