"""Imports go one way, and patches import little."""

from __future__ import annotations

import ast

from tests.releases import ROOT

CHILDREN = ("probe_child", "cluster_child", "child_kit")
# Imports go one way, from the first to the last.
LAYERS = (
    ("__main__", "libcst_commands"),
    ("cli", "quick"),
    ("cli_audit", "cli_wheel"),
    ("report",),
    ("revert", "wheels", "index", "wanted"),
    ("wheel", "sdist"),
    ("distribution",),
    ("sbom", "wheelfile"),
    ("commands", "audit", "executors", "settings"),
    ("examine",),
    ("pinned",),
    ("bybytes", "fixes", "deciding", "judging"),
    ("sources",),
    ("siblings",),
    ("verify", "verify_cluster", "child_process", "scenarios", "metadata_server"),
    ("verdict", "examples"),
    ("pins",),
    ("engine", "locate", "registry"),
    ("linked", "interpreter", "download"),
    ("releases",),
    ("rewrite",),
    ("guards",),
    ("edits",),
    ("installed",),
    ("trees",),
    ("receipt", "record", "journal", "bytecode"),
    ("reach",),
    ("replacing",),
    ("textfile", "syntax"),
    ("model",),
    ("errors",),
)


def test_imports_go_one_way() -> None:
    level = {name: number for number, names in enumerate(LAYERS) for name in names}
    for path in sorted((ROOT / "codemod").rglob("*.py")):
        own = path.relative_to(ROOT / "codemod").with_suffix("").parts[0]
        if own in CHILDREN:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("codemod."):
                other = (node.module or "").split(".")[1]
                assert level[other] >= level[own], f"{path}: imports {node.module}"


def test_patches_import_little() -> None:
    allowed = {"errors", "model", "reach", "edits", "guards"}
    for path in sorted((ROOT / "patches").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("codemod"):
                names = [
                    (node.module or "").partition(".")[2] or alias.name for alias in node.names
                ]
                assert {*names} <= allowed, f"{path}:{node.lineno}"
