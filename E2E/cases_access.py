"""The page for everybody: an audit by axe-core in Chromium, and the page's player in Firefox."""

import urllib.request
from pathlib import Path

from browser import BROWSERS
from cases_page import CARD, LOOKS, fill, log_in, open_tools, status_of
from harness import ROOT, CaseList, Skip, expect, expect_equal
from proxy import Demo
from watched import WatchedChromium

CASES = CaseList()
case = CASES

# Runs all rules but experimental ones. Returns what they found, one line each.
AUDIT = """
const found = await axe.run(document, { resultTypes: ["violations"] });
return found.violations.flatMap(rule => rule.nodes.map(node =>
    `${rule.id}: ${node.target.join(" ")} ${node.failureSummary.replace(/\\s+/g, " ").slice(0, 300)}`));
"""


def axe():
    """Returns the text of axe-core, which scripts/setup installs."""
    found = sorted((ROOT / ".build/tools").glob("lib/python3*/site-packages/axe_playwright_python/axe.min.js"))
    if not found:
        raise Skip("axe-core is not installed (scripts/setup test)")
    return found[-1].read_text(encoding="utf-8")


def audit(browser, text, what):
    """Expects that axe-core finds nothing at both widths, in light and dark."""
    browser.evaluate(text + "; globalThis.axe ??= axe")
    found = []
    for width, dark in LOOKS:
        browser.look(width, dark)
        # Transitions of colours end, and the rows are placed anew.
        browser.evaluate("await new Promise(done => setTimeout(done, 300))")
        look = f"{width}-{'dark' if dark else 'light'}"
        found += [f"{what} {look}: {line}" for line in browser.evaluate(AUDIT, seconds=120)]
        expect(browser.evaluate("return document.documentElement.scrollWidth <= innerWidth"), f"{what} overflows at {width}")
        browser.picture(f"{what}-{look}")
    expect_equal(found, [], "what axe-core found")


@case("chromium: an accessibility audit finds nothing, at each width, in light and dark", "chromium", is_about_cache=True)
def _(t):
    text = axe()
    proxy = t.proxy()
    with WatchedChromium(t) as browser:
        expect_equal(browser.open(proxy.page_url()), None, "the page")
        browser.until("!document.getElementById('empty').hidden", "the empty list")
        audit(browser, text, "empty")
        fill(proxy.url(t.media["vbr.mp3"].name))
        fill(urllib.request.Request(proxy.url(t.media["faststart.mp4"].name), headers={"Range": "bytes=0-9999"}))
        for number in range(8):
            status_of(proxy.absolute(f"?url=ftp%3A%2F%2Fmedia{number}.example%2Ffilm.mp4"))
        log_in(browser, proxy)
        browser.until("document.querySelectorAll('.happened').length === 6", "the newest notices")
        browser.click("#more")
        open_tools(browser)
        browser.click("[data-verb=verify]")
        browser.until("document.querySelectorAll('.job').length > 0", "the job is listed")
        browser.click(f"{CARD} .play")
        browser.until("!document.getElementById('dock').hidden", "the player")
        browser.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
        audit(browser, text, "open")
        browser.click("[data-verb=remove]")
        browser.until("document.getElementById('question').open", "the question")
        audit(browser, text, "question")
        browser.expect_clean()


@case("chromium: an accessibility audit of the demo finds nothing", "chromium", is_about_cache=True)
def _(t):
    text = axe()
    demo = t.start(Demo(t.runner.binary, Path(t.directory) / "demo", t.origin, ["--rate", "2M", "--seconds", "60"]))
    with WatchedChromium(t) as browser:
        log_in(browser, demo)
        browser.until("document.querySelectorAll('#demo-list .card').length === 3", "the tracks")
        browser.click("[data-switch=slow]")
        browser.until("document.getElementById('switch-state').textContent.includes('slower')", "the switch is on")
        audit(browser, text, "demo")
        browser.click("[data-switch=slow]")
        browser.expect_clean()


@case("firefox: the page's player plays, and a seek makes an island that plays with the origin stopped", "firefox", is_about_cache=True)
def _(t):
    demo = t.start(Demo(t.runner.binary, Path(t.directory) / "demo", t.origin, ["--rate", "2M", "--seconds", "60"]))
    step = "return [...document.querySelectorAll('#steps li')].filter(step => step.className === 'done').length"
    with BROWSERS["firefox"](t) as browser:
        expect_equal(browser.open(demo.login_link()), None, "the login link")
        browser.until("return document.getElementById('notice').textContent.startsWith('Logged in')", "the browser is logged in")
        browser.until("return document.querySelectorAll('#demo-list .card').length === 3", "the tracks")
        # Without a sound device, Firefox stops media with sound.
        browser.evaluate("document.getElementById('player').muted = true")
        browser.click("#demo-list .card .play")
        browser.until(f"{step} >= 1", "the track plays")
        browser.until("return document.querySelector('#demo-list canvas.seekable') !== null", "the bar can be clicked")
        browser.click("#demo-list canvas.seekable")
        browser.until(f"{step} >= 2", "a seek makes an island")
        browser.until("return !document.getElementById('player').seeking && document.getElementById('player').readyState >= 3", "it plays there")
        browser.click("[data-switch=stopped]")
        browser.until("return document.getElementById('switch-state').textContent.includes('does not answer')", "the origin stops")
        browser.click("#demo-list canvas.seekable")
        browser.until(f"{step} >= 3", "stored parts play with the origin stopped")
        browser.click("[data-switch=stopped]")
        browser.until("return document.getElementById('switch-state').textContent.includes('works')", "the origin works")
        browser.click("#demo-list .card .tools button")
        browser.click("#demo-list [data-verb=fetch]")
        browser.until(f"{step} === 4", "the minute completes")
        expect(browser.evaluate("return document.getElementById('player').error === null"), "the player has an error")
