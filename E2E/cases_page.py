"""The status page in a real browser: its actions, its plots and the first minute of the demo."""

import http.server
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from browser import BROWSERS
from harness import CaseList, expect, expect_equal
from proxy import Demo
from scripted import ScriptedServer
from watched import WatchedChromium

CASES = CaseList()
case = CASES

STRANGER = "stranger.example"
LOOKS = [(width, dark) for width in (390, 1280) for dark in (False, True)]

# The text of a card's result, and of the first card's parts.
CARD = "#list .card"
STATE = "return [...document.querySelectorAll('#list .facts')].map(node => node.textContent).join('|')"


def fill(url):
    """Reads a URL to its end."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


def open_tools(browser):
    """Opens the actions of the first card."""
    browser.until(f"document.querySelector('{CARD} .tools:not([hidden])')", "the actions are there")
    browser.click(f"{CARD} .tools button")
    browser.until(f"document.querySelector('{CARD} [data-verb=pin]')", "the actions are open")


def log_in(browser, proxy):
    expect_equal(browser.open(proxy.login_link()), None, "the login link")
    browser.until("document.getElementById('notice').textContent.startsWith('Logged in')", "the browser is logged in")
    expect_equal(browser.evaluate("return location.hash"), "", "the secret in the address")


def result(browser, text):
    browser.until(f"document.querySelector('{CARD} [role=status]')?.textContent.includes({text!r})", text)


@case("chromium: the page only shows until a login link is opened, which counts once", "chromium", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    fill(proxy.url(file.name))
    with WatchedChromium(t) as browser:
        expect_equal(browser.open(proxy.page_url()), None, "the page")
        browser.until(f"document.querySelector('{CARD}')", "the resource is listed")
        expect(browser.evaluate("return !document.getElementById('access').hidden"), "the page does not say how to log in")
        expect(browser.evaluate(f"return document.querySelector('{CARD} .tools').hidden"), "actions without a login")
        link = proxy.login_link()
        expect_equal(browser.open(link), None, "the login link")
        browser.until("document.getElementById('notice').textContent.startsWith('Logged in')", "the browser is logged in")
        browser.expect_clean()
        expect_equal(browser.evaluate("return document.cookie"), "", "cookies that scripts can read")
        # Another browser finds the link used.
        with WatchedChromium(t) as other:
            other.open(link)
            other.until("document.getElementById('notice').textContent.includes('was used')", "the link is refused")
        browser.click("#logout")
        browser.until(f"document.querySelector('{CARD} .tools').hidden", "the actions are gone")


@case("chromium: pin, fetch, verify and remove work by the pointer", "chromium", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["faststart.mp4"]
    fill(proxy.url(t.media["vbr.mp3"].name))
    request = urllib.request.Request(proxy.url(file.name), headers={"Range": "bytes=0-9999"})
    fill(request)
    with WatchedChromium(t) as browser:
        browser.look(1280, False)
        log_in(browser, proxy)
        open_tools(browser)
        expect(browser.evaluate(STATE).startswith("video/mp4"), "the film is the first of the list")
        browser.click("[data-verb=pin]")
        result(browser, "Pinned")
        browser.until(f"document.querySelector('{CARD} .facts').textContent.includes('pinned')", "the card shows the pin")
        browser.click("[data-verb=pin]")
        result(browser, "Unpinned")
        browser.click("[data-verb=fetch]")
        browser.until(f"document.querySelector('{CARD} .state').textContent === 'complete'", "the film is complete")
        browser.click("[data-verb=verify]")
        browser.until("[...document.querySelectorAll('.job p')].some(job => job.textContent.includes('are sound'))", "the film is verified")
        browser.click("[data-verb=remove]")
        browser.until("document.getElementById('question').open", "the question")
        browser.click("#question [value=keep]")
        browser.until("!document.getElementById('question').open", "the question is gone")
        expect("video/mp4" in browser.evaluate(STATE), "the film was removed without a yes")
        browser.click("[data-verb=remove]")
        browser.until("document.getElementById('question').open", "the question")
        browser.click("#question [value=remove]")
        browser.until("![...document.querySelectorAll('#list .facts')].some(node => node.textContent.startsWith('video/mp4'))", "it is gone")
        browser.expect_clean()


@case("chromium: the keyboard alone pins, removes and answers the question", "chromium", is_about_cache=True)
def _(t):
    proxy = t.proxy()
    fill(proxy.url(t.media["vbr.mp3"].name))
    with WatchedChromium(t) as browser:
        log_in(browser, proxy)
        browser.until(f"document.querySelector('{CARD} .tools:not([hidden])')", "the actions are there")
        browser.tab_to(f"{CARD} .tools > button[aria-expanded]")
        browser.press("Enter")
        browser.tab_to("[data-verb=pin]")
        browser.press("Space")
        result(browser, "Pinned")
        browser.tab_to("[data-verb=remove]")
        browser.press("Enter")
        browser.until("document.getElementById('question').open", "the question")
        expect_equal(browser.evaluate("return document.activeElement.value"), "keep", "the focus of the question")
        browser.press("Escape")
        browser.until("!document.getElementById('question').open", "Escape keeps it")
        expect(browser.evaluate("return document.activeElement.matches('[data-verb=remove]')"), "the focus is lost")
        browser.press("Enter")
        browser.until("document.getElementById('question').open", "the question")
        # On a busy machine the event of the first question comes while the second one is open.
        browser.evaluate("return document.getElementById('question').dispatchEvent(new Event('close'))")
        browser.tab_to("#question [value=remove]")
        browser.press("Enter")
        browser.until(f"!document.querySelector('{CARD}')", "it is gone")
        browser.expect_clean()


@case("chromium: the page lists what happened and why, by the keyboard too", "chromium", is_about_cache=True)
def _(t):
    proxy = t.proxy("--max-resource", "64K")
    fill(proxy.url(t.media["vbr.mp3"].name))
    for number in range(8):
        expect_equal(status_of(proxy.absolute(f"?url=ftp%3A%2F%2Fmedia{number}.example%2Ffilm.mp4")), 400, "the status")
    status_of(proxy.absolute("http/127.0.0.1:9/lost.mp4"))
    row = "[...document.querySelectorAll('.happened')].map(node => node.textContent)"
    with WatchedChromium(t) as browser:
        browser.look(1280, False)
        expect_equal(browser.open(proxy.page_url()), None, "the page")
        browser.until("document.querySelectorAll('.happened').length === 6", "the newest notices")
        expect(browser.evaluate(f"return {row}.some(line => line.includes('Refused'))"), "no refusal is listed")
        browser.tab_to("#more")
        browser.press("Enter")
        browser.until(f"{row}.some(line => line.includes('Not stored') && line.includes('65536 bytes'))", "the reason of a resource that is not stored")
        for width, dark in LOOKS:
            browser.look(width, dark)
            browser.evaluate("document.getElementById('happened-title').scrollIntoView()")
            expect(browser.evaluate("return document.documentElement.scrollWidth <= innerWidth"), f"the page overflows at {width}")
            browser.picture(f"happened-{width}-{'dark' if dark else 'light'}")
        # Later ones come by themselves.
        status_of(proxy.absolute("?url=ftp%3A%2F%2Flater.example%2Ffilm.mp4"))
        browser.until(f"{row}[0].includes('later.example')", "a later refusal")
        browser.expect_clean()


def status_of(url):
    """Returns the status of an answer."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@case("chromium: a page of another site, and one of another port, change nothing", "chromium", is_about_cache=True)
def _(t):
    proxy, file = t.proxy(), t.media["vbr.mp3"]
    fill(proxy.url(file.name))
    with Attacker() as attacker, WatchedChromium(t, foreign=[STRANGER]) as browser:
        log_in(browser, proxy)
        stored = browser.evaluate("return JSON.stringify((await (await fetch('api/resources')).json()).resources.map(one => one.key))")
        expect(file.name in stored, "nothing is stored")
        secrets = browser.evaluate("return Object.values(localStorage)")
        expect(all(value not in browser.evaluate("return document.documentElement.outerHTML") for value in secrets), "a secret in the page")
        for page in (f"http://{STRANGER}:{attacker.port}/", f"http://127.0.0.1:{attacker.port}/", f"http://localhost:{attacker.port}/"):
            expect_equal(browser.open(page), None, "the attacker's page")
            # Even with the second secret, which it can't have.
            found = browser.evaluate(ATTACK % (proxy.page_url(), secrets[0], t.origin.url(file.name)), seconds=60)
            expect(all(outcome in ("refused", "opaque") for outcome in found), f"{page}: {found}")
            with urllib.request.urlopen(f"{proxy.page_url()}api/resources", timeout=10) as answer:
                listing = answer.read().decode()
            expect(file.name in listing and '"pinned":true' not in listing, f"{page} changed the store")
        # A name that leads to this machine is not this proxy.
        browser.open(f"http://{STRANGER}:{proxy.port}/_spool/")
        expect("421" in browser.evaluate("return document.body.innerText"), "a rebound name shows the page")


# The codes of these URLs in the 25 versions, which zbarimg 0.23 has read: any other answer needs such a look again.
CODES = "return await (async () => { const codes = [17, 18, 40, 60, 106, 134, 154, 192, 230, 271, 300, 330, 400, 458, 520, 586, 644, 718, 792, 858, 929,"\
    " 1003, 1091, 1171, 1273].map(bytes => qrCode('u' + 'xY3/'.repeat(400).slice(0, bytes - 1))); const all = JSON.stringify(codes);"\
    " const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(all));"\
    " return [...new Uint8Array(hash)].map(byte => byte.toString(16).padStart(2, '0')).join(''); })()"
CODES_HASH = "5727b465de6147f638f7ccd67a58adff36606b611dfbb7119a0ebad76bf0b7dd"


@case("chromium: a typed URL comes as the proxied one, with a copy and a code for a camera, and says why it does not play", "chromium",
      is_about_cache=True)
def _(t):
    proxy = t.proxy()
    with WatchedChromium(t) as browser:
        browser.look(390, False)
        expect_equal(browser.open(proxy.page_url()), None, "the page")
        expect(browser.evaluate("return document.getElementById('copy').disabled"), "a copy of nothing")
        now, shown = "document.getElementById('now').textContent", "document.getElementById('form').textContent"
        for url, path, reason in (
            (t.origin.url("missing.mp4"), proxy.path("missing.mp4"), "404"),
            ("http://nosuch.invalid/a/<img src=x onerror=alert(1)>.mp4?b=1", "/http/nosuch.invalid/a/%3Cimg%20src=x%20onerror=alert(1)%3E.mp4?b=1", "resolve"),
        ):
            browser.evaluate(f"const input = document.getElementById('url'); input.value = {url!r}; input.dispatchEvent(new Event('input'))")
            expect_equal(browser.evaluate(f"return {shown}"), f"http://{proxy.authority}{path}", "the proxied URL")
            browser.click("#copy")
            browser.until("/Copied|selected/.test(document.getElementById('notice').textContent)", "an answer of the button")
            expect_equal(browser.evaluate("return String(getSelection())"), f"http://{proxy.authority}{path}", "the selected text")
            browser.click("#show-code")
            browser.until(f"document.querySelector('#code svg').getAttribute('aria-label').endsWith({shown})", "the code")
            browser.click("#show-code")
            browser.click("#open .go")
            browser.until(f"{now}.includes({reason!r})", "the reason at the player")
            expect_equal(browser.evaluate("return document.querySelectorAll('img').length"), 0, "elements made of a name")
            browser.press("Escape")
            browser.until("document.getElementById('dock').hidden && document.activeElement.id === 'url'", "the player closes")
        expect_equal(browser.evaluate(CODES), CODES_HASH, "the squares of the codes")
        expect_equal(browser.evaluate("return qrCode('x'.repeat(1274))"), None, "a code for a text that is too long")
        expect(browser.evaluate("return document.documentElement.scrollWidth <= innerWidth"), "the page overflows")


@case("chromium: a stream is one card with its place, and goes as one after a question that names it", "chromium", is_about_cache=True)
def _(t):
    proxy, path = t.proxy(), "streams/fmp4/index.m3u8"
    fill(proxy.url(t.media["vbr.mp3"].name + "?track=2"))
    t.run(t.runner.binary, "get", "--cache", t.cache_directory(), t.origin.url(path))
    t.run(t.runner.binary, "download", "add", "--cache", t.cache_directory(), t.origin.url("missing.mp4"))
    with WatchedChromium(t) as browser:
        browser.look(1280, False)
        log_in(browser, proxy)
        browser.until(f"document.querySelectorAll('{CARD}:not(.blank)').length === 2", "one card for each")
        texts = "return [...document.querySelectorAll('#list .place')].map(node => node.textContent)"
        expect_equal(browser.evaluate(texts), [f"{t.origin.authority}/streams/fmp4/", f"{t.origin.authority}/ ?track=2"], "the places")
        expect("stream in" in browser.evaluate(STATE), "the stream is no stream")
        expect_equal(browser.evaluate(f"return document.querySelector('{CARD} .state').textContent"), "complete", "the state of the stream")
        browser.until("document.getElementById('download-list').textContent.includes('missing.mp4')", "the download is listed")
        browser.until("/^of .* free on the disk$/.test(document.getElementById('count').textContent)", "quota and disk")
        open_tools(browser)
        browser.click("[data-verb=remove]")
        browser.until(f"document.getElementById('question-text').textContent.includes({t.origin.url(path)!r})", "the question names the URL")
        browser.click("#question [value=remove]")
        browser.until(f"document.querySelectorAll('{CARD}').length === 1", "the stream is gone")
        listed = t.run(t.runner.binary, "ls", "--all", "--cache", t.cache_directory()).stdout.decode()
        expect("streams/" not in listed, f"parts stay: {listed}")
        browser.expect_clean()


@case("chromium: the first minute of the demo completes, and its pictures are sound at each width", "chromium", is_about_cache=True)
def _(t):
    demo = t.start(Demo(t.runner.binary, Path(t.directory) / "demo", t.origin, ["--rate", "2M", "--seconds", "60"]))
    with WatchedChromium(t) as browser:
        browser.look(1280, False)
        log_in(browser, demo)
        browser.until("document.querySelectorAll('#demo-list .card').length === 3", "the tracks")
        step = "[...document.querySelectorAll('#steps li')].filter(step => step.className === 'done').length"
        browser.click("#demo-list .card .play")
        browser.until(f"{step} >= 1", "the track plays")
        browser.until("player.duration > 0 && document.querySelector('#demo-list canvas.seekable')", "the bar can be clicked")
        browser.evaluate("seek([...cards.values()][0], .7)")
        browser.until(f"{step} >= 2", "a seek makes an island")
        island = "[...cards.values()][0].stored.at(-1)[1] === [...cards.values()][0].length"
        browser.until(island, "the island reaches the end")
        browser.click("[data-switch=stopped]")
        browser.until("origin.stopped && document.getElementById('switch-state').textContent.includes('does not answer')", "the origin stops")
        browser.evaluate("seek([...cards.values()][0], .8)")
        browser.until(f"{step} >= 3", "stored parts play with the origin stopped")
        browser.click("[data-switch=stopped]")
        browser.until("!origin.stopped", "the origin works")
        browser.evaluate("await act('fetch', { key: [...cards.values()][0].resource.key })")
        browser.until(f"{step} === 4", "the minute completes")
        browser.click("[data-switch=wrong]")
        browser.until("origin.wrong", "the origin answers wrongly")
        browser.click("[data-switch=wrong]")
        browser.until("!origin.wrong", "the origin answers rightly")
        browser.click("#demo-list .card .tools button")
        for width, dark in LOOKS:
            browser.look(width, dark)
            browser.until("document.querySelectorAll('#plots svg').length === 3", "the plots")
            expect(browser.evaluate("return document.documentElement.scrollWidth <= innerWidth"), f"the page overflows at {width}")
            browser.picture(f"page-{width}-{'dark' if dark else 'light'}")
        browser.evaluate("player.pause()")
        expect_equal(browser.evaluate("return player.error?.message || ''"), "", "the player's error")
        browser.expect_clean()


@case("chromium: an idle page costs the proxy less than 1 % of a core, and 50 pages less than 5 %", "chromium", is_about_cache=True, is_alone=True)
def _(t):
    proxy = t.proxy()
    fill(proxy.url(t.media["vbr.mp3"].name))
    with WatchedChromium(t) as browser:
        expect_equal(browser.open(proxy.page_url()), None, "the page")
        browser.until(f"document.querySelector('{CARD}')", "the resource is listed")
        one = share_of_core(proxy, 1)
        with IdlePages(proxy, 49):
            fifty = share_of_core(proxy, 50)
        t.note(f"one page {one * 100:.2f} % of a core, 50 pages {fifty * 100:.2f} %")
        expect(one < 0.01, f"an idle page costs {one * 100:.2f} % of a core")
        expect(fifty < 0.05, f"50 idle pages cost {fifty * 100:.2f} % of a core")
        # A page in the background has no stream at all.
        browser.evaluate("Object.defineProperty(document, 'hidden', { value: true }); document.dispatchEvent(new Event('visibilitychange'))")
        browser.until("stream === null", "the stream of a hidden page ends")
        browser.expect_clean()


class IdlePages:
    """Pages that show a cache that nobody uses: each has a stream of events, and asks for the plots once a minute."""

    def __init__(self, proxy, count):
        self.proxy = proxy
        self.count = count
        self.sockets = []

    def __enter__(self):
        for _ in range(self.count):
            page = socket.create_connection(("127.0.0.1", self.proxy.port), timeout=60)
            page.sendall(f"GET /_spool/api/events HTTP/1.1\r\nHost: {self.proxy.authority}\r\n\r\n".encode())
            expect(page.recv(4096).startswith(b"HTTP/1.1 200"), "a page gets no events")
            self.sockets.append(page)
        return self

    def __exit__(self, *_):
        for page in self.sockets:
            page.close()


def share_of_core(proxy, pages, seconds=20):
    """Returns the processor time of the proxy while pages are open, as a share of one core."""
    time.sleep(3)
    before, began = processor_seconds(proxy), time.monotonic()
    while (left := began + seconds - time.monotonic()) > 0:
        time.sleep(min(left, 60 / pages))
        if pages > 1:
            fill(f"{proxy.page_url()}api/status")
    return (processor_seconds(proxy) - before) / (time.monotonic() - began)


def processor_seconds(proxy):
    """Returns the processor time of the proxy's process."""
    fields = Path(f"/proc/{proxy.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


# The attempts of a page that is not the proxy's. Each returns whether anything could be read.
ATTACK = """
const base = "%s", proof = "%s", key = encodeURIComponent("%s");
const attempt = async (action, options) => {
    try {
        const answer = await fetch(base + "page/" + action + "?key=" + key, { method: "POST", credentials: "include", ...options });
        return answer.type === "opaque" ? "opaque" : "read " + answer.status;
    } catch { return "refused"; }
};
const form = (action, target) => new Promise(done => {
    const element = document.createElement("form"), frame = document.createElement("iframe");
    frame.name = element.target = "frame" + action;
    element.method = "POST";
    element.action = base + "page/" + action + "?key=" + key;
    document.body.append(frame, element);
    frame.onload = () => { try { done(frame.contentDocument ? "refused" : "opaque"); } catch { done("opaque"); } };
    element.submit();
    setTimeout(() => done("refused"), 3000);
});
const simple = { mode: "no-cors", headers: { "Content-Type": "application/x-www-form-urlencoded" } };
return [
    await attempt("remove", { headers: { "Spool-Page": proof } }), await attempt("pin", { headers: { "Spool-Page": proof } }),
    await attempt("remove", simple), await attempt("pin", { ...simple, body: "key=" + key }), await attempt("remove", {}),
    navigator.sendBeacon(base + "page/remove?key=" + key, new Blob([""], { type: "text/plain" })) ? "opaque" : "refused",
    await form("remove"), await form("pin"),
];
"""


class Attacker:
    """A server of another port with an empty page."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                body = b"<!doctype html><title>attacker</title><body>"
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ScriptedServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
