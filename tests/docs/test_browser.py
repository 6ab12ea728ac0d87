"""The built site in a browser: `make test-site` builds it first."""

from __future__ import annotations

import functools
import http.server
import threading
from urllib.parse import unquote, urlsplit

import pytest

from ngym_cli.catalog.addresses import BUILT

pytestmark = pytest.mark.browser

#: Widths (pixels) and whether it is dark: each page is looked at in both.
LOOKS = ((1400, "light"), (400, "dark"))

#: Asked of a page: pictures that are not there, widths, what a picture's words are, addresses of its links, its ground.
ASK = """() => ({
  broken: [...document.images].filter((i) => !i.complete || !i.naturalWidth).map((i) => i.src),
  wordless: [...document.querySelectorAll("article img")].filter((i) => !i.alt.trim()).map((i) => i.src),
  wide: document.documentElement.scrollWidth - window.innerWidth,
  links: [...document.querySelectorAll("a[href]")].map((a) => a.href),
  title: document.querySelector("h1") ? document.querySelector("h1").textContent : "",
  ground: getComputedStyle(document.body).backgroundColor,
  ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
})"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Says nothing of each request."""

    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def address():
    """Where the built site is served."""
    if not (BUILT / "index.html").is_file():
        pytest.skip("the site has not been built: make docs")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(BUILT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def page(browser, request):
    """A page of some width and ground, and what it complained of."""
    width, scheme = getattr(request, "param", LOOKS[0])
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = context.new_page()
    opened.complaints = []
    opened.on("console", lambda said: opened.complaints.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.on(
        "response", lambda got: opened.complaints.append(f"{got.status} {got.url}") if got.status >= 400 else None
    )
    yield opened
    context.close()


def pages():
    """Folders of the built site; the pages at its top are one of them."""
    if not BUILT.is_dir():
        return [""]
    return ["", *sorted(path.name for path in BUILT.iterdir() if path.is_dir() and not path.name.startswith("_"))]


def files_of(folder):
    """Pages of a folder, without those that Sphinx makes of the whole."""
    created = ("genindex.html", "py-modindex.html", "search.html")
    return [path for path in sorted((BUILT / folder).glob("*.html")) if path.name not in created]


@pytest.mark.parametrize("page", LOOKS, indirect=True, ids=lambda look: f"{look[0]}-{look[1]}")
@pytest.mark.parametrize("folder", pages())
def test_every_page(page, address, folder, request):
    wrong, links = [], {}
    dark = "dark" in request.node.callspec.id
    files = files_of(folder)
    assert files
    for path in files:
        name = path.relative_to(BUILT).as_posix()
        page.complaints.clear()
        page.goto(f"{address}/{name}", wait_until="load")
        result = page.evaluate(ASK)
        wrong += [f"{name}: {text}" for text in page.complaints]
        wrong += [f"{name}: picture {source} is not there" for source in result["broken"]]
        wrong += [f"{name}: picture {source} has no words" for source in result["wordless"]]
        wrong += [f"{name}: {result['wide']} pixels too wide"] if result["wide"] > 0 else []
        wrong += [f"{name}: no heading"] if not result["title"] else []
        wrong += [f"{name}: the ground is {result['ground']}"] if _is_dark(result["ground"]) != dark else []
        links.update({link: name for link in result["links"] if link.startswith(address)})
    wrong += [f"{name}: {link} leads nowhere" for link, name in links.items() if not _leads(link)]
    assert not wrong, "\n".join(wrong)


def _is_dark(colour):
    return sum(float(word) for word in colour.strip("rgba()").split(",")[:3]) < 3 * 128


@functools.cache
def _text(path):
    return path.read_text(encoding="utf-8")


def _leads(link):
    segments = urlsplit(link)
    path = BUILT / unquote(segments.path).lstrip("/")
    path = path / "index.html" if path.is_dir() else path
    if not path.is_file():
        return False
    return not segments.fragment or path.suffix != ".html" or f'id="{unquote(segments.fragment)}"' in _text(path)


@pytest.mark.parametrize(
    ("word", "position"), [("psychometric", "figures/psychometric.html"), ("GoNogo", "tasks/GoNogo-v0.html")]
)
def test_the_search_finds(page, address, word, position):
    page.goto(f"{address}/search.html?q={word}")
    page.wait_for_selector("#search-results ul.search li a", timeout=20_000)
    page.wait_for_function("document.querySelector('#search-results').textContent.includes('found')", timeout=20_000)
    result = page.evaluate("[...document.querySelectorAll('#search-results ul.search li a')].map((a) => a.href)")
    assert any(position in link for link in result)
    assert not page.complaints


@pytest.mark.parametrize("word", ["ceiling", "chance", "psychometric", "lesion"])
def test_the_glossary_and_the_guide_are_found_first(page, address, word):
    page.goto(f"{address}/search.html?q={word}")
    page.wait_for_function("document.querySelector('#search-results').textContent.includes('found')", timeout=20_000)
    result = page.evaluate("[...document.querySelectorAll('#search-results ul.search li > a')].map((a) => a.href)")
    assert "/terms/" in result[0] and "/guide/" in result[1], result[:4]


def test_the_table_is_sorted_by_a_click(page, address):
    page.goto(f"{address}/tasks/table.html")
    cells = "[...document.querySelectorAll('.sortable tbody tr')].map((r) => r.cells[4].textContent.trim())"
    head = page.locator(".sortable thead th").nth(4)
    for name, sign in (("ascending", 1), ("descending", -1)):
        head.click()
        assert head.get_attribute("aria-sort") == name
        expected = [float(text) for text in page.evaluate(cells) if text]
        assert expected == sorted(expected, key=lambda value: sign * value) and len(expected) > 30
        assert not page.evaluate(cells)[-1]  # those without a value come last
