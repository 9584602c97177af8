#!/usr/bin/env python3
"""Builds the site of the documentation from Markdown pages and manual pages, and checks its links.

    site.py build INTO MANUALS      writes the site; MANUALS is a directory that `spool man --output` filled. Needs pandoc
    site.py check INTO              checks a site that was built: links, anchors, and that nothing is loaded from elsewhere
    site.py links                   checks that every relative link of every Markdown page of the repository names a file

The site has no script, and works from a directory or from any web server.
"""

import html
import html.parser
import os
import posixpath
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent

# The navigation: a heading, and the pages below it. A page that is not listed is built where another one links to it.
NAVIGATION = [
    ("Getting started", [
        "README.md", "docs/start/ios-app.md", "docs/start/mac-app.md", "docs/start/frameworks.md", "docs/start/linux-player.md",
        "docs/start/television.md", "docs/start/operator.md"]),
    ("How to", [
        "docs/troubleshooting.md", "docs/operating.md", "deploy/README.md", "docs/avfoundation.md",
        "docs/avfoundation-reference.md", "docs/avfoundation-platforms.md", "docs/hls.md", "docs/keys.md",
        "docs/encryption.md", "docs/bucket.md", "docs/migration.md"]),
    ("Reference", [
        "docs/configuration.md", "man", "docs/json.md", "docs/events.md", "docs/http.md", "docs/http-fields.md", "docs/origins.md",
        "docs/disk-format.md", "docs/glossary.md", "CHANGELOG.md"]),
    ("Explanation", [
        "ARCHITECTURE.md", "docs/guarantees.md", "docs/security.md", "docs/freshness.md", "docs/read-ahead.md", "docs/eviction.md",
        "docs/performance.md", "docs/scaling.md", "docs/comparison.md", "docs/device-check.md", "CONTRIBUTING.md"]),
]
PAGES = ["docs/README.md", "docs/start/README.md", "docs/lab/where-time-goes.md", "docs/traces/README.md", "Benchmarks/README.md",
         "E2E/README.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
# Shown by browsers as they are. Other files get `.txt` behind their names.
SHOWN = {".png", ".svg", ".jpg", ".json", ".txt"}
ATTRIBUTE = re.compile(r'(<(?:a|img|source)\b[^>]*?\s(?:href|src)=")([^"]*)(")')
MARKDOWN_LINK = re.compile(r"\]\(<?([^)>\s]+)>?(?:\s+\"[^\"]*\")?\)")
# A page that takes longer is a fault of pandoc.
PANDOC_SECONDS = 120


class Site:
    """The pages and files of one build."""

    def __init__(self, into, manuals):
        self.into = Path(into)
        self.manuals = Path(manuals)
        self.titles = {}
        self.bodies = {}
        self.files = {}
        self.faults = []

    # Places

    def place(self, source):
        """The path in the site of a page or file of the repository."""
        if source == "man":
            return "man/index.html"
        if source.startswith("man/"):
            return source + ".html"
        if source in self.bodies or source in self.wanted:
            directory, name = posixpath.split(source)
            return posixpath.join(directory, "index.html" if name == "README.md" else name[:-3] + ".html")
        target = source if Path(source).suffix in SHOWN else source + ".txt"
        self.files[source] = posixpath.join("files", target)
        return self.files[source]

    def reference(self, source, link):
        """The link in the site for a link of a page."""
        parts = urlsplit(link)
        if parts.scheme or link.startswith(("#", "//")) or not parts.path:
            return link
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), unquote(parts.path)))
        path = ROOT / target
        if path.is_dir():
            if (path / "README.md").is_file():
                target = posixpath.join(target, "README.md")
            else:
                return self.relative(source, self.listing(target))
        elif not path.is_file():
            self.faults.append(f"{source}: {link} names no file")
            return link
        return self.relative(source, self.place(target)) + (f"#{parts.fragment}" if parts.fragment else "")

    def relative(self, source, target):
        return posixpath.relpath(target, posixpath.dirname(self.place(source)) or ".")

    def listing(self, directory):
        """Makes a page that lists the files of a directory, and returns its place."""
        place = posixpath.join(directory, "index.html")
        if place not in self.listings:
            self.listings[place] = directory
        return place

    # Building

    def build(self):
        self.listings = {}
        # Packages and generated programs have no Markdown of their own, so links to other pages copy their text.
        self.wanted = {page for _, pages in NAVIGATION for page in pages if page.endswith(".md")} | set(PAGES)
        decisions = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "decisions").glob("*.md"))
        self.wanted |= set(decisions)
        manuals = sorted(self.manuals.glob("*.1"))
        if not manuals:
            sys.exit(f"no manual pages in {self.manuals}")
        sources = [(page, ROOT / page, "gfm") for page in sorted(self.wanted)]
        sources += [(f"man/{path.name}", path, "man") for path in manuals]
        with ThreadPoolExecutor(2) as pool:
            for (source, _, _), body in zip(sources, pool.map(self.convert, sources)):
                self.bodies[source] = body
        for source, body in list(self.bodies.items()):
            self.titles[source] = self.title(source, body)
        names = [source for source in self.bodies if source.startswith("man/")]
        items = "".join(f'<li><a href="{posixpath.basename(self.place(name))}">{self.titles[name]}</a></li>' for name in names)
        self.titles["man"] = "Manual pages"
        self.write("man", f"<h1>Manual pages</h1><ul>{items}</ul>")
        for source, body in self.bodies.items():
            self.write(source, ATTRIBUTE.sub(lambda match, s=source: match[1] + html.escape(self.reference(s, html.unescape(match[2]))) + match[3], body))
        for place, directory in self.listings.items():
            self.write_listing(place, directory)
        for source, place in self.files.items():
            target = self.into / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / source, target)
        shutil.copyfile(HERE / "site.css", self.into / "site.css")
        if self.faults:
            sys.exit("\n".join(self.faults))
        return len(self.bodies)

    @staticmethod
    def convert(entry):
        source, path, form = entry
        done = subprocess.run(
            ["pandoc", "-f", form, "-t", "html5", "--wrap=preserve", "--no-highlight", str(path)], stdout=subprocess.PIPE, check=True, text=True,
            timeout=PANDOC_SECONDS)
        body = done.stdout
        if form == "man":
            name = Path(source).name.removesuffix(".1").replace("-", " ", 1)
            body = f"<h1>{html.escape(name)}</h1>\n" + body.replace("<h1", "<h2").replace("</h1>", "</h2>")
        # A wide table scrolls by itself, so that the page does not. The focus lets a keyboard scroll it, as it does code.
        body = body.replace("<table", '<div class="wide" tabindex="0" role="region" aria-label="Table"><table')
        return body.replace("</table>", "</table></div>").replace("<pre", '<pre tabindex="0"')

    @staticmethod
    def title(source, body):
        match = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
        return re.sub(r"<[^>]+>", "", match[1]).strip() if match else Path(source).stem

    def navigation(self, source):
        parts = []
        for heading, pages in NAVIGATION:
            items = []
            for page in pages:
                title = "Spool" if page == "README.md" else self.titles[page]
                current = ' aria-current="page"' if page == source else ""
                items.append(f'<li><a href="{self.relative(source, self.place(page))}"{current}>{title}</a></li>')
            parts.append(f"<h2>{heading}</h2><ul>{''.join(items)}</ul>")
        return "".join(parts)

    def write(self, source, body):
        path = self.into / self.place(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.page(source, self.titles[source], body), encoding="utf-8")

    def page(self, source, title, body):
        css = self.relative(source, "site.css")
        name = title if title == "Spool" else f"{title} · Spool"
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{name}</title>
<link rel="stylesheet" href="{css}">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<a class="pages" href="#pages">All pages</a>
<main id="content">
{body}
</main>
<nav id="pages" class="menu" aria-label="Pages">{self.navigation(source)}</nav>
</body>
</html>
"""

    def write_listing(self, place, directory):
        # A listing is no page of the repository. For its links it stands for a README of the directory.
        source = posixpath.join(directory, "README.md")
        self.wanted.add(source)
        items = []
        for path in sorted((ROOT / directory).iterdir()):
            if path.is_file():
                target = self.relative(source, self.place(str(path.relative_to(ROOT))))
                items.append(f'<li><a href="{html.escape(target)}">{html.escape(path.name)}</a></li>')
        self.titles[source] = directory
        self.write(source, f"<h1>{html.escape(directory)}</h1><ul>{''.join(items)}</ul>")
        assert self.place(source) == place


class Links(html.parser.HTMLParser):
    """The links, loads and anchors of one HTML file."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if values.get("id"):
            self.anchors.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag != "a":
            self.loads += [values[name] for name in ("href", "src", "srcset", "data", "poster") if values.get(name)]
        if tag == "script":
            self.loads.append("https://a-script/")


def check(into):
    """Returns the faults of a built site."""
    into = Path(into)
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in into.rglob("*.html")}
    faults = [] if pages else ["there are no pages"]
    for path, page in pages.items():
        name = path.relative_to(into)
        faults += [f"{name} loads {load} from elsewhere" for load in page.loads if urlsplit(load).scheme not in ("", "data")]
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                faults.append(f"{name} links to {link}, which is missing")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{name} links to {link}, which has no such anchor")
    css = (into / "site.css").read_text(encoding="utf-8")
    if re.search(r"url\(|@import", css):
        faults.append("site.css loads something")
    return faults


def links():
    """Returns the relative links of Markdown pages that name no file."""
    faults = []
    for path in sorted(ROOT.rglob("*.md")):
        if any(part.startswith(".") for part in path.relative_to(ROOT).parts):
            continue
        text = re.sub(r"^(\s*)(```|~~~).*?^\1\2", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
        text = re.sub(r"`[^`\n]*`", "", text)
        for link in MARKDOWN_LINK.findall(text):
            parts = urlsplit(link)
            if parts.scheme or not parts.path or parts.path.startswith("/"):
                continue
            if not (path.parent / unquote(parts.path)).exists():
                faults.append(f"{path.relative_to(ROOT)}: {link} names no file")
    return faults


def main(words):
    if words[:1] == ["build"] and len(words) == 3:
        count = Site(os.path.abspath(words[1]), words[2]).build()
        print(f"{count} pages")
        return
    if words[:1] == ["check"] and len(words) == 2:
        faults = check(words[1])
    elif words == ["links"]:
        faults = links()
    else:
        sys.exit(__doc__)
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main(sys.argv[1:])
