"""A jax of a few lines, with all that a verdict at level `cluster` needs, that starts at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.releases import MEMBER

if TYPE_CHECKING:
    from pathlib import Path

# Values are exchanged through a folder.
FAKE = """
import os, pathlib, time, types
__version__ = "0.0.1"
VALUES = pathlib.Path({folder!r})
def asked():
    import requests
    where = os.environ.get("GCE_METADATA_IP", "metadata.google.internal")
    return requests.get("http://" + where + "/computeMetadata/v1/instance/attributes/tpu-env").text
def look_up():
    import socket
    try: socket.getaddrinfo("example.org", 80)
    except OSError: pass
def initialize():
    if os.environ.get("TPU_SKIP_MDS_QUERY") is None:
        asked()
    workers = len(os.environ["TPU_WORKER_HOSTNAMES"].split(","))
    slices = int(os.environ.get("MEGASCALE_NUM_SLICES", "1"))
    which = int(os.environ.get("MEGASCALE_SLICE_ID", "0"))
    distributed.count = workers * slices
    distributed.index = int(os.environ["TPU_WORKER_ID"]) + which * workers
def name(key):
    return VALUES / (os.environ["JAX_COORDINATOR_PORT"] + key.replace("/", "-"))
def key_value_set(key, value):
    temporary = name(key + str(os.getpid()))
    temporary.write_text(value)
    temporary.rename(name(key))
def blocking_key_value_get(key, timeout):
    while not name(key).exists():
        time.sleep(0.01)
    return name(key).read_text()
distributed = types.SimpleNamespace(initialize=initialize)
def process_count(): return distributed.count
def process_index(): return distributed.index
"""
DISTRIBUTED = """
import jax, types
global_state = types.SimpleNamespace(client=jax)
"""


def fake(folder: Path, old: str = "", new: str = "") -> Path:
    """Return a folder with the small jax, one place of it changed."""
    (folder / "values").mkdir()
    root = folder / "root"
    (root / MEMBER).parent.mkdir(parents=True)
    text = FAKE.format(folder=str(folder / "values"))
    assert old in text
    (root / "jax" / "__init__.py").write_text(text.replace(old, new, 1) if old else text)
    for package in ("_src", "_src/clusters"):
        (root / "jax" / package / "__init__.py").touch()
    (root / "jax" / "_src" / "distributed.py").write_text(DISTRIBUTED)
    (root / MEMBER).write_text("coordinator_port = '8476'\n")
    return root
