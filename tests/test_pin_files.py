# ruff: noqa: E501, ISC004 - a table whose texts are read as they are
"""Every family of pin files: rows at their lines, whatever the file is called and looks like."""

from __future__ import annotations

import codecs
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemod.deciding import decide
from codemod.fixes import of_pin
from codemod.pins import FAMILIES, collect, kind_of
from codemod.pins.model import Pins, SourceKind

SHA = "0123456789" * 4
PATCHES = ("skip_mds_env_value", "skip_mds_detection", "single_slice_defaults")


def said(name: str, text: str) -> list[tuple[int, str, str, str]]:
    """Line, specifier or place, status and reason for the reported bug."""
    rows = []
    for pin in collect(text.encode(), name).rows:
        found = decide(pin, PATCHES)[PATCHES[0]]
        place = "" if pin.source.kind is SourceKind.REGISTRY else f"{pin.source.kind} "
        what = place + (pin.source.ref or pin.source.url or pin.specifier)
        rows.append((pin.line, what, str(found.status), str(found.reason)))
    return rows


AFFECTED, NOT, OPEN = "affected", "not_affected", "under_investigation"
LOCKED = '[[package]]\nname = "jax"\nversion = "0.10.2"\n'
TABLE = [
    ("uv.lock", LOCKED + 'source = { registry = "https://pypi.org/simple" }\n',
     [(2, "==0.10.2", AFFECTED, "unguarded")]),
    ("uv.lock", '[[package]]\nname = "flax"\ndependencies = [\n  { name = "jax", marker = "x" },\n]\n',
     []),
    ("uv.lock", LOCKED + f'source = {{ git = "https://github.com/ORG/jax?rev=main#{SHA}" }}\n',
     [(2, f"git {SHA}", OPEN, "no-source")]),
    ("uv.lock", '[[package]]\nname = "jax"\nsource = { editable = "." }\n',
     [(2, "path .", OPEN, "no-source")]),
    ("uv.lock", LOCKED + 'source = { url = "https://x.org/jax-0.4.20-py3-none-any.whl" }\n',
     [(2, "archive https://x.org/jax-0.4.20-py3-none-any.whl", NOT, "older-release")]),
    ("poetry.lock", LOCKED + f'[package.source]\ntype = "git"\nurl = "https://github.com/a/jax.git"\n'
     f'reference = "main"\nresolved_reference = "{SHA}"\n', [(2, f"git {SHA}", OPEN, "no-source")]),
    ("poetry.lock", LOCKED + f'[package.source]\ntype = "git"\nurl = "https://github.com/a/jax.git"\n'
     f'reference = "{SHA}"\n', [(2, f"git {SHA}", OPEN, "no-source")]),
    ("poetry.lock", LOCKED + f'[package.source]\ntype = "git"\nurl = "https://github.com/a/jax.git"\n'
     f'reference = "main"\nresolved = "{SHA}"\n', [(2, f"git {SHA}", OPEN, "no-source")]),
    ("poetry.lock", LOCKED + '[package.source]\ntype = "legacy"\nurl = "https://x.org"\n',
     [(2, "==0.10.2", AFFECTED, "unguarded")]),
    ("poetry.lock", LOCKED + '[package.source]\ntype = "directory"\nurl = "../jax"\n',
     [(2, "path ../jax", OPEN, "no-source")]),
    ("poetry.lock", LOCKED.replace("jax", "Jax") + '[package.source]\ntype = "url"\n'
     'url = "https://x.org/jax-0.4.30-py3-none-any.whl"\n',
     [(2, "archive https://x.org/jax-0.4.30-py3-none-any.whl", AFFECTED, "unguarded")]),
    ("pdm.lock", LOCKED + '\n[[package]]\nname = "jax"\nversion = "0.10.2"\nextras = ["k8s"]\n',
     [(2, "==0.10.2", AFFECTED, "unguarded")]),
    ("pdm.lock", LOCKED + f'git = "https://github.com/a/jax"\nref = "main"\nrevision = "{SHA}"\n',
     [(2, f"git {SHA}", OPEN, "no-source")]),
    ("pylock.toml", '[[packages]]\nname = "jax"\nversion = "0.4.30"\n[[packages.wheels]]\nurl = "x"\n'
     'hashes = { sha256 = "aa" }\n', [(2, "==0.4.30", AFFECTED, "unguarded")]),
    ("pylock.dev.toml", f'[[packages]]\nname = "jax"\n[packages.vcs]\ntype = "git"\n'
     f'url = "https://github.com/a/jax"\nrequested-revision = "main"\ncommit-id = "{SHA}"\n',
     [(2, f"git {SHA}", OPEN, "no-source")]),
    ("pylock.toml", '[[packages]]\nname = "jax"\nversion = "0.4.30"\ndirectory = { path = "jax" }\n',
     [(2, "path jax", OPEN, "no-source")]),
    ("Pipfile.lock", '{"_meta": {"jax": 1},\n "default": {\n "Jax": {"version": "==0.4.30"}},\n'
     ' "develop": {"jax":\n {"version": "==0.4.20", "hashes": ["sha256:aa"]}}}\n',
     [(3, "==0.4.30", AFFECTED, "unguarded"), (4, "==0.4.20", NOT, "older-release")]),
    ("Pipfile", '[packages]\njax = "*"\n[dev-packages]\njax = {version = "~=0.4.30", extras = ["tpu"]}\n'
     '[docs]\njax = {git = "https://github.com/a/jax", ref = "main"}\n',
     [(2, "", OPEN, "unpinned"), (4, "~=0.4.30", AFFECTED, "unguarded"),
      (6, "git main", OPEN, "moving-ref")]),
    ("pyproject.toml", '[project]\ndependencies = [\n  "numpy",\n  "jax[tpu]==0.4.30",\n]\n'
     '[project.optional-dependencies]\nold = ["jax==0.4.20"]\n'
     '[dependency-groups]\ntest = [{include-group = "x"}, "jax>=0.10"]\n'
     '[build-system]\nrequires = ["jax==0.8.0"]\n',
     [(4, "==0.4.30", AFFECTED, "unguarded"), (7, "==0.4.20", NOT, "older-release"),
      (9, ">=0.10", AFFECTED, "range"), (11, "==0.8.0", AFFECTED, "unguarded")]),
    ("pyproject.toml", '[tool.poetry.dependencies]\njax = {version = "0.4.21", extras = ["tpu"]}\n'
     '[tool.poetry.dev-dependencies]\njax = "^0.4.21"\n'
     '[tool.poetry.group.a.dependencies]\njax = [\n  {version = "~0.4.30", python = "<3.11"},\n'
     '  {git = "https://github.com/a/jax", branch = "b"},\n]\n'
     '[tool.poetry.group.b.dependencies]\njax = "<0.4 || >0.5"\n',
     [(2, "==0.4.21", AFFECTED, "unguarded"), (4, ">=0.4.21,<0.5", AFFECTED, "unguarded"),
      (7, ">=0.4.30,<0.5", AFFECTED, "unguarded"), (8, "git b", OPEN, "moving-ref"),
      (11, "", OPEN, "unpinned")]),
    ("pyproject.toml", '[project]\ndependencies = ["jax==0.4.30"]\n[tool.uv.sources]\n'
     'jax = { git = "https://github.com/a/jax", rev = "v1" }\n', [(2, "git v1", OPEN, "moving-ref")]),
    ("pyproject.toml", '[project]\ndependencies = ["jax==0.4.30"]\n[tool.uv.sources]\n'
     'jax = [{ index = "x" }, { workspace = true }]\n',
     [(2, "==0.4.30", AFFECTED, "unguarded"), (2, "==0.4.30", OPEN, "unpinned")]),
    ("pyproject.toml", '[tool.hatch.envs.a]\ndependencies = ["jax==0.4.30"]\n[tool.pdm.dev-dependencies]\n'
     'x = ["jax==0.4.31"]\n[tool.uv]\noverride-dependencies = ["jax==0.4.33"]\n'
     '[tool.pixi.pypi-dependencies]\njax = "==0.4.34"\n[tool.rye]\ndev-dependencies = ["jax==0.4.35"]\n',
     [(2, "==0.4.30", AFFECTED, "unguarded"), (4, "==0.4.31", AFFECTED, "unguarded"),
      (6, "==0.4.33", AFFECTED, "unguarded"), (8, "==0.4.34", AFFECTED, "unguarded"),
      (10, "==0.4.35", AFFECTED, "unguarded")]),
    ("setup.cfg", '# why\n[metadata]\nname = x\n[options]\ninstall_requires =\n    numpy\n'
     '    jax>=0.4.1,<=0.4.13\n    # jax==0.8.0\n[options.extras_require]\na = jax~=0.4.20\nb =\n  jax~=0.4\n',
     [(7, "<=0.4.13,>=0.4.1", NOT, "older-release"), (10, "~=0.4.20", OPEN, "range"),
      (12, "~=0.4", OPEN, "range")]),
    ("setup.py", 'from setuptools import setup\nneeds = ["numpy",\n  "jax>=0.4.1,<=0.4.30"]\n'
     'setup(name="jax-thing", install_requires=needs,\n  extras_require={"tpu": ["jax[tpu]~=0.4.30"]})\n',
     [(3, "<=0.4.30,>=0.4.1", OPEN, "range"), (5, "~=0.4.30", AFFECTED, "unguarded")]),
    ("setup.py", 'needs = ["numpy"]\nneeds.append("jax==0.4.30")\nneeds += ["jax-md", "jax.md"]\n'
     'EXTRAS = {"jax": ["jax"], "x": ["numpyro @ git+https://github.com/google/jax.git@f2aefcf"]}\n'
     'setup(name="jax", install_requires=needs,\n  extras_require=EXTRAS)\n',
     [(2, "==0.4.30", AFFECTED, "unguarded"), (4, "", OPEN, "unpinned"),
      (4, "git f2aefcf", OPEN, "moving-ref")]),
    ("environment.yml", "dependencies:\n- jax=0.4.26\n- jax=0.4.16=pyhd8ed1ab_0\n- jax=0.4\n- pip:\n"
     "  - jax==0.4.23 # higher breaks\n",
     [(2, "==0.4.26.*", AFFECTED, "unguarded"), (3, "==0.4.16", NOT, "older-release"),
      (4, "==0.4.*", OPEN, "range"), (6, "==0.4.23", AFFECTED, "unguarded")]),
    ("my-environment.yaml", "dependencies:\n- conda-forge::jax 0.4.26\n- jax >=0.10\n- jax\n"
     "- sel(linux): jax==0.4.20\n- jax[version='>=0.10,<0.11', build=x]\n- jax=0.4.26|0.4.27\n"
     "- jax 0.4.26 pyhd8ed1ab_0\n- python\n- jaxlib=0.4.26\n",
     [(2, "==0.4.26", AFFECTED, "unguarded"), (3, ">=0.10", AFFECTED, "range"),
      (4, "", OPEN, "unpinned"), (5, "==0.4.20", NOT, "older-release"),
      (6, ">=0.10,<0.11", AFFECTED, "unguarded"), (7, "", OPEN, "unpinned"),
      (8, "==0.4.26", AFFECTED, "unguarded")]),
    ("conda-lock.yml", "version: 1\npackage:\n" + "".join(
        f"- name: {name}\n  version: {version}\n  manager: conda\n  platform: {platform}\n"
        f"  url: https://conda.anaconda.org/conda-forge/noarch/{name}-{version}-pyhd8ed1ab_0.conda\n"
        for platform in ("linux-64", "osx-64")
        for name, version in (("jax", "0.4.27"), ("jaxlib", "0.4.23"))),
     [(3, "==0.4.27", AFFECTED, "unguarded")]),
    ("conda-lock.yml", "package:\n- name: jax\n  version: 0.4.27\n  manager: pip\n"
     "  url: https://files.pythonhosted.org/packages/aa/jax-0.4.27-py3-none-any.whl\n",
     [(2, "archive https://files.pythonhosted.org/packages/aa/jax-0.4.27-py3-none-any.whl",
       AFFECTED, "unguarded")]),
    ("conda-linux-64.lock", "@EXPLICIT\nhttps://c.org/noarch/jax-0.4.27-py_0.conda#aa\n"
     "https://c.org/linux-64/jaxlib-0.4.23-cuda_0.conda\n", [(2, "==0.4.27", AFFECTED, "unguarded")]),
    ("pixi.lock", "version: 6\nenvironments:\n  default:\n    packages:\n      linux-64:\n"
     "      - conda: https://c.org/noarch/jax-0.4.27-pyhd8ed1ab_0.conda\npackages:\n"
     "- conda: https://c.org/noarch/jax-0.4.27-pyhd8ed1ab_0.conda\n  sha256: aa\n"
     "- conda: https://c.org/linux-64/jaxlib-0.4.23-cuda_0.conda\n"
     "- pypi: https://x.org/jax-0.4.30-py3-none-any.whl\n  name: jax\n  version: 0.4.30\n",
     [(8, "==0.4.27", AFFECTED, "unguarded"),
      (12, "archive https://x.org/jax-0.4.30-py3-none-any.whl", AFFECTED, "unguarded")]),
    ("pixi.lock", "version: 4\npackages:\n- kind: conda\n  name: jax\n  version: 0.4.27\n"
     "  url: https://c.org/noarch/jax-0.4.27-pyhd8ed1ab_0.conda\n",
     [(4, "==0.4.27", AFFECTED, "unguarded")]),
    ("pixi.toml", '[dependencies]\njax = "0.4.26"\n[feature.a.dependencies]\njax = {version = ">=0.10"}\n'
     '[feature.a.target.linux-64.pypi-dependencies]\njax = "*"\n[target.osx.dependencies]\njax = "??"\n',
     [(2, "==0.4.26", AFFECTED, "unguarded"), (4, ">=0.10", AFFECTED, "range"),
      (6, "", OPEN, "unpinned"), (8, "", OPEN, "unpinned")]),
    ("MODULE.bazel", f'JAX_COMMIT = "{SHA}"\nXLA_COMMIT = "{SHA[::-1]}"\nhttp_archive(\n    name = "jax",\n'
     '    urls = ["https://github.com/google/jax/archive/{commit}.tar.gz".format(commit = JAX_COMMIT)],\n)\n',
     [(4, f"archive https://github.com/google/jax/archive/{SHA}.tar.gz", OPEN, "no-source")]),
    ("third_party/jax.bzl", f'JAX_COMMIT = "{SHA}"\nXLA_COMMIT = "{SHA[::-1]}"\n',
     [(1, f"git {SHA}", OPEN, "no-source")]),
    ("WORKSPACE", 'git_repository(name = "org_jax", remote = "https://github.com/a/jax", tag = "v" + "1")\n'
     'http_archive(name = "x", url = "https://x.org/%s.zip" % "y")\n',
     [(1, "git v1", OPEN, "moving-ref")]),
    ("MODULE.bazel", 'archive_override(module_name = "jax", urls = ["https://x.org/a.zip"],\n'
     '  patches = ["//p:a.patch"])\n', [(1, "archive https://x.org/a.zip", OPEN, "unpinned")]),
    ("Dockerfile", "FROM python\nARG JAX_VERSION=0.4.31\n# RUN pip install jax==0.4.20\n"
     'RUN pip install -U \\\n    # jax==0.4.20\n    "jax[tpu]==${JAX_VERSION}" -f https://x && echo jax\n',
     [(6, "==0.4.31", AFFECTED, "unguarded")]),
    ("a.Dockerfile", "ARG JAX_VERSION\nFROM python\nARG JAX_VERSION\nRUN uv pip install jax==$JAX_VERSION\n",
     [(4, "", OPEN, "unpinned")]),
    ("Dockerfile.tpu", "FROM nvcr.io/nvidia/jax:23.10-py3\nFROM x/jaxlib:1\nRUN conda install -y jax=0.4.26\n"
     "RUN cd x; pip install 'jax @ git+https://github.com/a/jax@b' jaxtyping\n",
     [(1, "image nvcr.io/nvidia/jax:23.10-py3", OPEN, "moving-ref"),
      (3, "==0.4.26.*", AFFECTED, "unguarded"), (4, "git b", OPEN, "moving-ref")]),
    ("Containerfile", "ARG TAG=1\nFROM --platform=x ghcr.io/nvidia/jax:${TAG} AS a\nENV V 0.4.30\n"
     "ENV W=0.4.31 X=${V:-1}\nRUN pip install jax==${W}\nRUN pip install jax==$X jax==${Y:-0.4.20}\n",
     [(2, "image ghcr.io/nvidia/jax:1", OPEN, "moving-ref"), (5, "==0.4.31", AFFECTED, "unguarded"),
      (6, "==0.4.30", AFFECTED, "unguarded"), (6, "==0.4.20", NOT, "older-release")]),
    ("MODULE.bazel", f'COMMIT = "{SHA}"\nhttp_archive(name = "jax", urls = mirrored(\n'
     '  "https://github.com/jax-ml/jax/archive/{}.zip".format(COMMIT)))\n',
     [(2, f"archive https://github.com/jax-ml/jax/archive/{SHA}.zip", OPEN, "no-source")]),
    ("Dockerfile", 'ARG A=0.4.20\nFROM python AS base\nARG A\nARG B=0.4.30\nENV C=0.4.31\n'
     'RUN pip install jax==$A jax==$B\nFROM base\nRUN pip install jax==$B jax==$C > log jax\n'
     'FROM other\nARG B\nRUN ["pip", "install", "jax==0.4.33"]\nONBUILD RUN pip install jax==$B\n',
     [(6, "==0.4.20", NOT, "older-release"), (6, "==0.4.30", AFFECTED, "unguarded"),
      (8, "", OPEN, "unpinned"), (8, "==0.4.31", AFFECTED, "unguarded"), (8, "", OPEN, "unpinned"),
      (11, "==0.4.33", AFFECTED, "unguarded"), (12, "", OPEN, "unpinned")]),
    ("Dockerfile", 'FROM python\nRUN <<EOF\n# pip install jax==0.4.1\npip install -q \\\n  jax==0.4.34\n'
     'echo jax\npip install jax>=0.4.30\nEOF\nCOPY <<"X" /x\nRUN pip install jax==0.4.1\nX\n'
     'RUN echo $((1<<N)) $((1<<2)) <<<x\nN\nRUN python3 -m pip install "jax[tpu]>=0.10" 2>&1 | tee jax\n'
     'RUN ["pip", "install", 3]\nRUN poetry add jax@^0.4.21\n',
     [(5, "==0.4.34", AFFECTED, "unguarded"), (7, "", OPEN, "unpinned"),
      (14, ">=0.10", AFFECTED, "range"), (16, "<0.5,>=0.4.21", AFFECTED, "unguarded")]),
    (".gitmodules", '[submodule "a"]\n\tpath = third_party/jax\n\turl = git@github.com:a/jax.git\n'
     '[submodule "b"]\n\tpath = b\n\turl = https://github.com/a/b\n# jax\n',
     [(3, "path third_party/jax", OPEN, "no-source")]),
    ("manifest.yaml", f"jax:\n  url: https://github.com/jax-ml/jax.git\n  tracking_ref: main\n"
     f"  latest_verified_commit: {SHA}\n  mode: git-clone\nflax:\n  url: https://github.com/a/flax\n",
     [(1, f"git {SHA}", OPEN, "moving-ref")]),
    ("manifest.yaml", "kind: Pod\nimage: {{ jax }}\n", []),
    ("Cargo.toml", 'jax = { git = "https://x.org/jax", branch = "main" }\n', []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "right"), TABLE)
def test_each_way_to_pin(name: str, text: str, right: list[tuple[int, str, str, str]]) -> None:
    assert said(name, text) == right
    for pin in collect(text.encode(), name).rows:
        assert "jax" in pin.text.casefold()
        assert "\n" not in pin.text
    if name != "Cargo.toml":
        assert collect(text.encode(), name).unread == ()


@pytest.mark.parametrize(("name", "text", "right"), TABLE)
def test_the_same_in_other_encodings(
    name: str, text: str, right: list[tuple[int, str, str, str]]
) -> None:
    """With CRLF and byte order marks, as editors and shells of Windows write them."""
    if name == "Cargo.toml":
        return
    plain = collect(text.encode(), name).rows
    windows = text.replace("\n", "\r\n")
    for data in (codecs.BOM_UTF8 + text.encode(), windows.encode(), windows.encode("utf-16")):
        assert collect(data, name).rows == plain


@pytest.mark.parametrize("name", sorted({name for name, _, _ in TABLE} - {"Cargo.toml"}))
def test_what_is_not_read_is_told(name: str) -> None:
    """Never a traceback, and never silence where a file of that name does not hold together."""
    assert collect(b"latest_verified_commit \xff jax", name).unread
    assert collect(b"", name) == Pins()
    if name.endswith((".toml", ".lock", ".yml", ".yaml", "Pipfile", ".bazel", ".bzl", ".py")):
        broken = b"latest_verified_commit: 1\n{ [ = jax : 'x\n"
        if name != "conda-linux-64.lock":
            assert collect(broken, name).unread
    deep = b"version: latest_verified_commit # jax\n" + b"[" * 50_000
    assert collect(deep, name).rows == ()


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("uv.lock", "package = 3 # jax\n", 1),
        ("Pipfile.lock", '{"default":\n {"jax": 4},\n "develop":\n 3}\n', 3),
        ("environment.yml", "a: 1\ndependencies: jax\n", 2),
        ("pyproject.toml", "[project]\ndependencies = 'jax'\n", 2),
        ("pyproject.toml", "[project]\ndependencies = ['jax==what is']\n", 2),
    ],
)
def test_a_shape_that_is_not_the_formats_is_told_at_its_line(
    name: str, text: str, line: int
) -> None:
    assert line in [one.line for one in collect(text.encode(), name).unread]


def test_an_image_is_named_and_a_commit_without_a_repository_has_a_way_to_be_looked_at() -> None:
    [pin] = collect(b"FROM nvcr.io/nvidia/jax:23.10-py3\n", "Dockerfile").rows
    finding = decide(pin, PATCHES)[PATCHES[0]]
    assert "nvcr.io/nvidia/jax:23.10-py3" in finding.evidence[0].text
    [pin] = collect(f'JAX_COMMIT = "{SHA}"\n'.encode(), "jax.bzl").rows
    [way] = of_pin(pin, decide(pin, PATCHES)[PATCHES[0]], None)
    assert way == f"in a clone of the repository: codemod audit git:.@{SHA}"


def test_what_a_file_includes_is_followed() -> None:
    text = (
        '[tool.setuptools.dynamic]\ndependencies = { file = ["a.txt"] } # jax\n'
        'optional-dependencies.x = { file = "b.txt" }\n'
    )
    follows = collect(text.encode(), "pyproject.toml").follows
    assert [(one.line, one.target) for one in follows] == [(2, "a.txt"), (3, "b.txt")]
    text = "[options]\n# jax\ninstall_requires = file: a.txt, b.txt\n"
    assert [one.target for one in collect(text.encode(), "setup.cfg").follows] == ["a.txt", "b.txt"]
    text = "dependencies:\n- pip:\n  - -r jax.txt\n"
    assert [one.line for one in collect(text.encode(), "environment.yml").follows] == [3]


def test_hashes_markers_and_remarks() -> None:
    text = LOCKED + 'resolution-markers = ["a", "b"]\nsdist = { hash = "sha256:aa" }\n'
    [pin] = collect(text.encode(), "uv.lock").rows
    assert (pin.hashes, pin.marker) == (("sha256:aa",), "a or b")
    text = "[[package]]\nname = 'x'\nsource = { git = 'https://github.com/google/jax#aa' }\n"
    [pin] = collect(text.encode(), "uv.lock").rows
    assert "disagree" in pin.remark
    [pin] = collect((LOCKED + "source = { path = '../jax' }\n").encode(), "uv.lock").rows
    assert "0.10.2, which stands beside it" in pin.remark
    text = LOCKED + '[metadata.files]\njax = [{ hash = "sha256:bb" }]\n'
    assert collect(text.encode(), "poetry.lock").rows[0].hashes == ("sha256:bb",)
    text = "ARG V=0.4.31\nFROM python\nARG V\nRUN pip install jax==$V\n"
    [pin] = collect(text.encode(), "Dockerfile").rows
    assert pin.remark == "the default of V, which a build may override"
    text = 'archive_override(module_name = "jax", url = "u", patches = ["//p:a.patch"])\n'
    assert "//p:a.patch" in collect(text.encode(), "MODULE.bazel").rows[0].unsure
    [pin] = collect(('{"default": {"jax": {"version": "==0.4.30"}}' + " " * 500 + "}").encode(),
                    "Pipfile.lock").rows  # fmt: skip
    assert pin.text == '{"default": {"jax": {"version": "==0.4.30"}} }'
    long = '{"default": {"jax": {"version": "==0.4.30"}, "a": "' + "x" * 500 + '"}}'
    assert collect(long.encode(), "Pipfile.lock").rows[0].text == "jax = ==0.4.30"


def test_yaml_that_refers_to_itself_or_a_billion_times_ends() -> None:
    bomb = "a0: &a0 [jax]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
    )
    assert collect((bomb + "dependencies: *a29\n").encode(), "environment.yml").rows == ()
    assert collect(b"dependencies: &a\n- *a\n- jax=0.4.26\n", "environment.yml").rows


OTHERS = "blackjax jaxtyping jax-md jax-metal flax kfac_jax jax-stubs jaxlib jax_triton".split()


@pytest.mark.parametrize("other", OTHERS)
def test_no_other_package_is_jax(other: str) -> None:
    for name, text in (
        ("uv.lock", LOCKED.replace('"jax"', f'"{other}"')),
        ("pyproject.toml", f"[project]\ndependencies = ['{other}==0.4.30']\n"),
        ("pyproject.toml", f"[tool.poetry.dependencies]\n{other} = '0.4.30'\n"),
        ("environment.yml", f"dependencies:\n- {other}=0.4.26\n"),
        ("setup.py", f"setup(install_requires=['{other}==0.4.30'])\n"),
        ("setup.cfg", f"[options]\ninstall_requires = {other}==0.4.30\n"),
        ("Dockerfile", f"RUN pip install {other}==0.4.30\n"),
        ("Pipfile.lock", f'{{"default": {{"{other}": {{"version": "==0.4.30"}}}}}}'),
    ):
        assert collect(text.encode(), name) == Pins(), name


EXAMPLES = int(os.environ.get("CODEMOD_FUZZ", "60"))
TEXTS = [(name, text) for name, text, _ in TABLE]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.sampled_from(TEXTS), st.data())
def test_no_bent_file_makes_a_traceback(given_: tuple[str, str], data: st.DataObject) -> None:
    name, text = given_
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, max(0, len(raw) - 1)))
        raw[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=4))
    for pin in collect(bytes(raw), name).rows:
        assert decide(pin, PATCHES)
        assert 1 <= pin.line <= raw.count(b"\n") + 1


def test_every_family_has_a_row_above() -> None:
    assert {kind_of(name) for name, _, _ in TABLE} >= set(FAMILIES) - {"requirements"}
    assert kind_of("Dockerfile.dockerignore") is None
