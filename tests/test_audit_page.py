"""The page of an audit in a real browser: it asks for nothing, filters, sorts, and can be read."""

from __future__ import annotations

import html
import json
import re
import shutil
import socketserver
import subprocess
import threading
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import pytest

from codemod.model import Status
from codemod.registry import load
from codemod.report.audit import render
from tests.audits import run
from tests.releases import wheel
from tests.test_audit_formats import ODD, pins

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--disable-extensions"),
    *("--disable-dev-shm-usage", "--virtual-time-budget=5000", "--dump-dom"),
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

# What a person does, as the browser sees it, and what there is to see then.
PROBE = """
<script>
const all = query => [...document.querySelectorAll(query)];
const seen = () => all('tbody tr').filter(row => !row.hidden && row.offsetHeight > 0);
const told = {};
const key = (target, name) => target.dispatchEvent(
  new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true}));
function type(text) { search.value = text; search.dispatchEvent(new Event('input')); }
function rgb(color) {
  const canvas = document.createElement('canvas').getContext('2d');
  canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
}
function light(color) {
  const [r, g, b] = rgb(color).map(part => part / 255).map(
    part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(one, other) {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
told.rows = seen().length;
type('0.4.21'); told.filtered = seen().length;
type('0.4.21 nonsense'); told.none = seen().length;
type(''); told.again = seen().length;
const box = all('input[name=status]')[0]; box.click();
told.unaffected = seen().map(row => row.dataset.status); box.click();
const head = all('th button')[1];
head.focus(); told.focused = document.activeElement === head;
head.click(); told.up = seen().map(row => row.cells[1].textContent);
head.click(); told.down = seen().map(row => row.cells[1].textContent);
told.sorted = head.parentNode.getAttribute('aria-sort');
const cell = all('.here')[0];
cell.focus(); told.cell = document.activeElement === cell && cell.getAttribute('aria-label');
key(cell, 'Enter'); told.chosen = seen().length; told.search = search.value; type('');
told.reachable = all('button, input, .here').every(one => one.tabIndex >= 0);
told.unnamed = all('input').filter(one => !one.labels.length).length;
told.injected = all('main b').length - all('.counts b').length;
told.title = document.title;
const page = getComputedStyle(document.body).backgroundColor;
told.page = page;
told.contrast = all('main p, main code, th button, td, .counts li, .counts b, svg > text')
  .filter(one => !one.classList.contains('count'))
  .map(one => { const style = getComputedStyle(one);
    return contrast(one instanceof SVGElement ? style.fill : style.color, page); })
  .reduce((a, b) => Math.min(a, b));
const out = document.createElement('pre');
out.id = 'told'; out.textContent = JSON.stringify(told); document.body.append(out);
</script>
"""


def show(page: Path, *flags: str) -> str:
    """The page as the browser has it once its scripts have run."""
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={page.parent / 'profile'}", *flags]
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(page: Path, *flags: str) -> dict[str, Any]:
    found = re.search(r'<pre id="told">(.*?)</pre>', show(page, *flags), re.DOTALL)
    assert found, "the probe did not end"
    return dict(json.loads(html.unescape(found[1])))


def probed(page: Path, text: str) -> Path:
    page.write_text(text.replace("</body>", PROBE + "</body>"))
    return page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("wheels")
    for version in ("0.4.20", "0.4.21", "0.8.0"):
        (folder / wheel(version).name).symlink_to(wheel(version))
    (folder / "broken.whl").write_text("none")
    result = run(folder, "--format", "html")
    assert result.exit_code == 3
    return result.stdout


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_filters_sorts_and_can_be_read(scheme: str, report: str, tmp_path: Path) -> None:
    flags = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    found = told(probed(tmp_path / "page.html", report), *flags)
    assert found["rows"] == found["again"] == 7  # patches of which the same is said share a row
    assert found["filtered"] == 3
    assert found["none"] == 0
    assert set(found["unaffected"]) == {"fixed", "not_affected"}
    assert found["up"] == sorted(found["up"])
    assert found["down"] == found["up"][::-1]
    assert found["sorted"] == "descending"
    assert found["focused"]
    assert "jax 0.4.20" in found["cell"]
    assert (found["chosen"], found["search"]) == (1, "version:0.4.20;")
    assert found["reachable"]
    assert found["unnamed"] == 0
    assert found["contrast"] >= 4.5  # WCAG 2.2, level AA
    dark = sum(map(int, re.findall(r"\d+", found["page"])[:3])) < 3 * 128
    assert dark is (scheme == "dark")


def test_the_measure_of_contrast_can_fail(report: str, tmp_path: Path) -> None:
    faint = report.replace("--affected: #c62828", "--affected: #ffdddd")
    assert told(probed(tmp_path / "page.html", faint))["contrast"] < 4.5


def test_nothing_in_a_name_becomes_a_part_of_the_page(tmp_path: Path) -> None:
    text = render(pins(Status.AFFECTED), "html")
    found = told(probed(tmp_path / "page.html", text))
    assert found["rows"] == 1
    assert found["injected"] == 0
    assert "&lt;b&gt;" in text
    assert ODD not in text
    loose = text.replace("&lt;b&gt;", "<b>")
    assert told(probed(tmp_path / "page.html", loose))["injected"] > 0  # the control


class _Asked(BaseHTTPRequestHandler):
    paths: list[str]

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_response(404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def asked() -> Iterator[tuple[int, list[str]]]:
    """A server that stands for every host, its port, and what it was asked for."""
    paths: list[str] = []
    handler = type("Handler", (_Asked,), {"paths": paths})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], paths
        server.shutdown()


def test_no_request_leaves_it(report: str, tmp_path: Path, asked: tuple[int, list[str]]) -> None:
    port, paths = asked
    flags = (f"--proxy-server=http://127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>")
    policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\".*?>", report)
    assert policy
    image = '<img src="http://codemod-test.example/pixel.png">'
    for text, count in (
        (report, 0),
        (report.replace("</main>", image + "</main>"), 0),  # the page's own policy forbids it
        (report.replace("</main>", image + "</main>").replace(policy[0], ""), 1),  # the control
    ):
        paths.clear()
        page = tmp_path / "page.html"
        page.write_text(text)
        show(page, *flags)
        assert sum("codemod-test" in path or "page" in path for path in paths) == count
        assert len([path for path in paths if "google" not in path]) == count, paths


def test_the_page_holds_all_rows_without_a_script(report: str) -> None:
    assert len(re.findall(r"<tr data-status", report)) == 7
    assert len(re.findall(r'class="cell ', report)) == len(load()) * (report.count("rotate(-60"))
    assert "broken.whl" in report
