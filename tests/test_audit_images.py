"""Audits of container images, with layers as `docker` and `buildah` write them."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from codemod.engine import plan
from codemod.registry import load
from tests.archives import metadata, tar
from tests.audits import document, rows, run
from tests.releases import MEMBER, source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Layer = dict[str, bytes | str | None]

SITE = "usr/lib/python3.12/site-packages"
FILE = f"{SITE}/{MEMBER}"
OLD = source("0.8.0")
PATCHED = plan(OLD, load()).after
BASE: Layer = {FILE: OLD, f"{SITE}/jax-0.8.0.dist-info/METADATA": metadata("0.8.0")}


def zstd(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression.zstd import compress
    else:
        from backports.zstd import compress
    return compress(data)


PACKERS: dict[str, Callable[[bytes], bytes]] = {"": bytes, "+gzip": gzip.compress, "+zstd": zstd}


def blob(files: dict[str, bytes], data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    files[f"blobs/sha256/{digest}"] = data
    return f"sha256:{digest}"


def manifest(files: dict[str, bytes], layers: list[Layer], packing: str) -> dict[str, Any]:
    kind = "application/vnd.oci.image."
    blobs = [blob(files, PACKERS[packing](tar(layer))) for layer in layers]
    held = {
        "layers": [{"mediaType": f"{kind}layer.v1.tar{packing}", "digest": d} for d in blobs],
        "config": {},
    }
    return {"mediaType": f"{kind}manifest.v1+json", "digest": blob(files, dump(held))}


def dump(value: object) -> bytes:
    return json.dumps(value).encode()


def oci(folder: Path, *images: list[Layer], packing: str = "+gzip") -> Path:
    """Make an image layout with an image for each list of layers, the second in an index."""
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    entries = [manifest(files, layers, packing) for layers in images]
    nested = [{"digest": blob(files, dump({"manifests": entries[1:]}))}] if entries[1:] else []
    files["index.json"] = dump({"manifests": entries[:1] + nested})
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def saved(path: Path, layers: list[Layer]) -> Path:
    """Make what `docker save` of old wrote: a folder for each layer, equal ones as links."""
    files: Layer = {f"{number}/layer.tar": tar(layer) for number, layer in enumerate(layers)}
    files["again/layer.tar"] = "../0/layer.tar"
    names = [*(f"{number}/layer.tar" for number in range(len(layers)))]
    names[0] = "again/layer.tar"
    files["manifest.json"] = dump([{"Config": "x.json", "RepoTags": ["a:1"], "Layers": names}])
    path.write_bytes(tar(files))
    return path


def whiteout(path: str) -> Layer:
    folder, _, name = path.rpartition("/")
    return {f"{folder}/.wh.{name}": b""}


CASES: dict[str, tuple[list[Layer], str]] = {
    "as it was built": ([BASE], "affected"),
    "patched in a layer above": ([BASE, {FILE: PATCHED}], "fixed"),
    "put back above that": ([BASE, {FILE: PATCHED}, {FILE: OLD}], "affected"),
    "with ./ before names": ([{f"./{n}": c for n, c in BASE.items()}, {FILE: PATCHED}], "fixed"),
    "another file above": ([BASE, {f"{SITE}/jax/new.py": b""}], "affected"),
    "the file taken away": ([BASE, whiteout(FILE)], "none"),
    "its package taken away": ([BASE, whiteout(f"{SITE}/jax")], "none"),
    "a name that only begins so": ([BASE, whiteout(f"{SITE}/ja")], "affected"),
    "an opaque folder": ([BASE, {f"{SITE}/jax/.wh..wh..opq": b""}], "none"),
    "opaque, and new below": ([BASE, {f"{SITE}/.wh..wh..opq": b"", FILE: PATCHED}], "fixed"),
    "new, and then opaque": ([BASE, {FILE: PATCHED, f"{SITE}/.wh..wh..opq": b""}], "fixed"),
    "a whiteout below it": ([whiteout(FILE), BASE], "affected"),
    "a link in place of the folder": ([BASE, {f"{SITE}/jax": "/opt/jax"}], "none"),
    "a folder in place of the file": ([BASE, {FILE: None}], "none"),
    "the folder told again": ([BASE, {f"{SITE}/jax": None}], "affected"),
    "a hard link to a cache": (
        [{f"root/.cache/uv/x/{MEMBER}": PATCHED, FILE: f"=root/.cache/uv/x/{MEMBER}"}],
        "fixed",
    ),
    "a link to a cache": (
        [{f"c/{MEMBER}": PATCHED}, {FILE: "../../../../../../../../c/" + MEMBER}],
        "fixed",
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_topmost_layer_that_has_it(name: str, tmp_path: Path) -> None:
    layers, status = CASES[name]
    layout, archive = oci(tmp_path / "oci", layers), saved(tmp_path / "saved.tar", layers)
    for place in (layout, archive):
        found = document(run(place, "--format", "json"))
        assert not found["unreadable"]
        told = {r["status"] for r in found["results"] if r["patch"] == "skip_mds_env_value"}
        assert told == ({status} if status != "none" else set()), place
        for row in found["results"]:
            assert row["kind"] == "image"
            assert row["file"].startswith(f"{place}!/")
    if BASE in layers and status == "affected":
        assert rows(layout, code=1)[0]["jax_version"] == "0.8.0"


@pytest.mark.parametrize("packing", list(PACKERS))
def test_layers_compressed_in_each_way(packing: str, tmp_path: Path) -> None:
    found = rows(oci(tmp_path / "oci", [BASE], packing=packing), code=1)
    assert found[0]["fixes"] == [
        f"in its Dockerfile, after jax is installed: RUN codemod apply /{FILE}"
    ]
    packed = tmp_path / "oci.tar"
    packed.write_bytes(
        tar({str(p.relative_to(tmp_path / "oci")): p.read_bytes() for p in files(tmp_path / "oci")})
    )
    assert [r["status"] for r in rows(packed, code=1)] == [r["status"] for r in found]


def files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def test_each_image_of_an_index(tmp_path: Path) -> None:
    found = rows(oci(tmp_path / "oci", [BASE], [BASE, {FILE: PATCHED}]), code=1)
    assert len(found) == 2 * len(load())
    assert {row["status"] for row in found[:1]} == {"affected"}
    names = {row["file"].partition("!/")[2].partition("!/")[0] for row in found}
    assert len(names) == 2
    assert found[0]["fixes"][0].endswith(f"RUN codemod apply /{FILE}")
    assert {row["status"] for row in found[len(load()) :]} == {"fixed"}


def test_images_are_found_in_a_folder(tmp_path: Path) -> None:
    oci(tmp_path / "images" / "oci", [BASE])
    saved(tmp_path / "images" / "saved.tar", [BASE])
    assert len(rows(tmp_path, code=1)) == 2 * len(load())


def test_links_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    layers: list[Layer] = [{FILE: "/nowhere", f"a/{MEMBER}": "cloud_tpu_cluster.py"}]
    result = run(oci(tmp_path, layers), "--format", "json")
    assert result.exit_code == 3
    assert [one["why"] for one in document(result)["unreadable"]] == [
        "is a loop of links",
        "a link to /nowhere, which was not read",
    ]


def test_broken_images_are_told(tmp_path: Path) -> None:
    """Each loses one thing that the good one has."""
    good = {str(p.relative_to(tmp_path / "a")): p for p in files(oci(tmp_path / "a", [BASE]))}
    layer = max(good.values(), key=lambda path: path.stat().st_size)
    index = good["index.json"]
    whole = {path: path.read_bytes() for path in good.values()}
    for path, data, words in (
        (layer, whole[layer][:300], "not a sound archive"),
        (layer, None, "is not a file of the image"),
        (index, b"{", "is not JSON"),
        (index, b"[" * 100_000, "is not JSON"),
        (index, b"[]", "not as its standard says"),
        (index, dump({"manifests": [{"digest": "sha256:../../../etc/passwd"}]}), "no digest"),
        (index, b" " * (5 << 20), "larger than"),
    ):
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        result = run(tmp_path / "a")
        assert result.exit_code == 3, (path, result.output)
        assert words in result.stdout
        path.write_bytes(whole[path])
    assert run(tmp_path / "a").exit_code == 1


def test_an_index_in_itself_ends(tmp_path: Path) -> None:
    path = oci(tmp_path, [BASE]) / "index.json"
    digest = "sha256:" + "0" * 64
    path.write_bytes(dump({"manifests": [{"digest": digest}]}))
    (tmp_path / "blobs" / "sha256" / ("0" * 64)).write_bytes(path.read_bytes())
    result = run(tmp_path)
    assert result.exit_code == 3
    assert "nested too deeply" in result.stdout


def test_a_layer_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemod.sources.stores.FLOOR", 1 << 16)
    place = oci(tmp_path, [{**BASE, "big": bytes(1 << 22)}])
    result = run(place)
    assert result.exit_code == 3
    assert "unpacks to more than" in result.stdout
    monkeypatch.setattr("codemod.sources.stores.FLOOR", 1 << 26)
    assert run(place).exit_code == 1


def test_a_header_of_a_length_that_is_not_credible(tmp_path: Path) -> None:
    archive = bytearray(tar({"x" * 200: b"1"}))
    archive[124:136] = b"77777777777\0"
    archive[148:156] = b" " * 8
    archive[148:156] = b"%06o\0 " % sum(archive[:512])
    path = tmp_path / "jax-1.tar"
    path.write_bytes(bytes(archive))
    result = run(path)
    assert result.exit_code == 3
    assert "not credible" in result.stdout


def test_an_image_compressed_as_a_whole_is_told(tmp_path: Path) -> None:
    path = saved(tmp_path / "saved.tar", [BASE])
    packed = tmp_path / "saved.tar.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    result = run(packed)
    assert result.exit_code == 3
    assert "decompress the archive first" in result.stdout
