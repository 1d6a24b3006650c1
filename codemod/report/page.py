"""An audit as one HTML page that needs nothing else: a picture, and a table to filter and sort."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from codemod import releases
from codemod.report.picture import picture, release_of
from codemod.report.subjects import ORDER, WORDS, evidence, statuses, subjects, summary, unreadable
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.audit import Audit
    from codemod.model import Status
    from codemod.report.subjects import Subject

MARKS = dict(zip(ORDER, "✗?✓○", strict=True))  # told by shape, not by colour alone
COLUMNS = ("Status", "Where", "What", "Patches", "Reason", "Evidence", "Fix")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

LEGEND = """<span class="affected">■</span> the release needs the patch,
<span class="fixed">■</span> it has it, <span class="not_affected">□</span> it has no such code.
A number is how many copies and pins of that version were found that are affected or open, ✓ that
all of them are well. Choose one to filter the table."""

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882;
  --affected: #c62828; --under_investigation: #9a6700; --fixed: #1a7f37; --not_affected: #57606a; }
@media (prefers-color-scheme: dark) { :root { --affected: #ff8a80; --under_investigation: #ffd54f;
  --fixed: #7ee787; --not_affected: #adbac7; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem 1.5rem 4rem;
  max-width: 110rem; background: Canvas; color: CanvasText; }
h1 { font-size: 1.4rem; margin: .5rem 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.counts { display: flex; flex-wrap: wrap; gap: .75rem; padding: 0; list-style: none; }
.counts li { border: 1px solid var(--line); border-left: .4rem solid; border-radius: .3rem;
  padding: .25rem .8rem; } .counts b { font-size: 1.3rem; }
.affected { color: var(--affected); } .fixed { color: var(--fixed); }
.under_investigation { color: var(--under_investigation); }
.not_affected { color: var(--not_affected); }
.scroll { overflow-x: auto; }
form { display: flex; flex-wrap: wrap; gap: .5rem 1.2rem; align-items: center; margin: .5rem 0; }
input[type=search] { font: inherit; padding: .3rem .5rem; min-width: 18rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid var(--line); }
th button { font: inherit; font-weight: 600; background: none; border: 0; color: inherit;
  padding: 0; cursor: pointer; }
th[aria-sort=ascending] button::after { content: " ▲"; }
th[aria-sort=descending] button::after { content: " ▼"; }
td.status { white-space: nowrap; font-weight: 600; }
code { font: .9em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
td:nth-child(2), td:nth-child(6), td:nth-child(7) { min-width: 14rem; }
td p { margin: 0 0 .2rem; } :focus-visible { outline: 3px solid Highlight; outline-offset: 2px; }
svg text { fill: CanvasText; font: 11px system-ui, sans-serif; }
svg .cell { stroke: Canvas; } svg .here { stroke: CanvasText; stroke-width: 2; cursor: pointer; }
svg .cell.affected { fill: var(--affected); } svg .cell.fixed { fill: var(--fixed); }
svg .cell.not_affected { fill: var(--soft); } svg .cell.unknown { fill: none; stroke: var(--line); }
svg .count { fill: Canvas; font-weight: 700; pointer-events: none; text-anchor: middle; }
svg .unknown + .count, svg .not_affected + .count { fill: CanvasText; }
svg .here:focus { outline: 3px solid Highlight; }
"""

SCRIPT = """
const body = document.querySelector('tbody'), rows = [...body.rows];
const search = document.querySelector('#search'), shown = document.querySelector('#shown');
const boxes = [...document.querySelectorAll('input[name=status]')];
function filter() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const wanted = new Set(boxes.filter(box => box.checked).map(box => box.value));
  let count = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase() + ' ' + row.dataset.version;
    row.hidden = !wanted.has(row.dataset.status) || !words.every(word => text.includes(word));
    count += !row.hidden;
  }
  shown.textContent = count + ' of ' + rows.length + ' rows';
}
function sort(head) {
  const down = head.getAttribute('aria-sort') === 'ascending';
  for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const key = row => row.cells[head.cellIndex].dataset.key ?? row.cells[head.cellIndex].textContent;
  const by = new Intl.Collator(undefined, {numeric: true});
  rows.sort((a, b) => by.compare(key(a), key(b)) * (down ? -1 : 1));
  body.append(...rows);
}
for (const head of document.querySelectorAll('th'))
  head.firstElementChild.addEventListener('click', () => sort(head));
for (const box of boxes) box.addEventListener('change', filter);
search.addEventListener('input', filter);
document.querySelector('form').addEventListener('submit', event => event.preventDefault());
for (const cell of document.querySelectorAll('.here')) {
  const choose = () => { search.value = cell.dataset.find; filter(); search.focus(); };
  cell.addEventListener('click', choose);
  cell.addEventListener('keydown', event => {
    if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(); }
  });
}
filter();
"""


def to_html(audit: Audit) -> str:
    """The whole page. It asks for nothing, whatever it is opened from."""
    found = subjects(audit.results)
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,"><title>codemod audit</title>',
            f"<style>{STYLE}</style></head><body><main>",
            "<h1>jax and <code>TPU_SKIP_MDS_QUERY</code></h1>",
            f"<p>{_text(summary(audit, found))}</p>",
            *_counts(found),
            "<h2>Releases, patches, and what was found</h2>",
            f"<p>{LEGEND}</p>",
            f'<div class="scroll">{picture(audit.patches, found)}</div>',
            "<h2>Copies and pins</h2>",
            *_form(),
            *_table(found),
            *_unreadable(audit),
            f"</main><script>{SCRIPT}</script></body></html>",
            "",
        ]
    )


def _text(text: str) -> str:
    return escape(show(text))


def _code(text: str) -> str:
    return f"<code>{_text(text)}</code>"


def _counts(found: list[Subject]) -> Iterator[str]:
    yield '<ul class="counts">'
    for status, number in statuses(found).items():
        yield f'<li class="{status}">{MARKS[status]} <b>{number}</b> {WORDS[status]}</li>'
    yield "</ul>"


def _form() -> Iterator[str]:
    yield '<form role="search"><label>Filter <input type="search" id="search"></label>'
    for status in ORDER:
        box = f'<input type="checkbox" name="status" value="{status}" checked>'
        yield f"<label>{box} {WORDS[status]}</label>"
    yield '<span id="shown" role="status"></span></form>'


def _table(found: list[Subject]) -> Iterator[str]:
    heads = "".join(
        f'<th scope="col"><button type="button">{name}</button></th>' for name in COLUMNS
    )
    yield f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>'
    for subject in sorted(found, key=lambda subject: ORDER.index(subject.status)):
        for status in ORDER:
            yield from _rows(subject, status)
    yield "</tbody></table></div>"


def _rows(subject: Subject, status: Status) -> Iterator[str]:
    """A row for each thing that is said of patches of this status."""
    first = subject.first
    what = first.pin if first.pin is not None else f"jax {first.jax_version or ''}".strip()
    for patches, row in subject.because(status):
        key = f'class="status {status}" data-key="{ORDER.index(status)}"'
        cells = [
            f"<td {key}>{MARKS[status]} {WORDS[status]}</td>",
            *(f"<td>{_code(text)}</td>" for text in (subject.place, what, patches)),
            f"<td>{row.reason}</td>",
            f"<td>{''.join(f'<p>{_code(line)}</p>' for line in evidence(row))}</td>",
            f"<td>{''.join(f'<p>{_code(fix)}</p>' for fix in row.fixes)}</td>",
        ]
        release = release_of(first.jax_version, releases.statuses())
        yield (
            f'<tr data-status="{status}" data-version="version:{release};">{"".join(cells)}</tr>'
        )


def _unreadable(audit: Audit) -> Iterator[str]:
    found = unreadable(audit)
    if not found:
        return
    yield '<h2>Not read or not understood</h2><ul id="unreadable">'
    for file, line, why in found:
        yield f"<li>{_code(f'{file}:{line}' if line else file)}: {_text(why)}</li>"
    yield "</ul>"
