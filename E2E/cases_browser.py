"""A hostile page in a real browser, and media that a user opens in a tab: the proxy's permissions and refusals."""

import http.server
import threading

from browser import BROWSERS
from harness import CaseList, expect, expect_equal
from scripted import ScriptedServer

CASES = CaseList()
case = CASES

# A foreign host name, which the browsers here resolve to this machine.
STRANGER = "stranger.example"

SCRIPT = "new Image().src = 'http://127.0.0.1:{port}/ran?{name}'"
PAGE = "<!doctype html><title>hostile</title><body>hostile<script>{script}</script>"
# Path: media type (or None) and content. The content runs its script if the browser lets it.
CONTENT = {
    "page.html": ("text/html", PAGE),
    "page.svg": ("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'><script>{script}</script></svg>"),
    "page.xml": ("application/xml", "<html xmlns='http://www.w3.org/1999/xhtml'><body><script>{script}</script></body></html>"),
    "page.xhtml": ("application/xhtml+xml", "<html xmlns='http://www.w3.org/1999/xhtml'><body><script>{script}</script></body></html>"),
    "untyped": (None, PAGE),
    "film.mp4": ("text/html", PAGE),
}
CODE = {"code.js": ("text/javascript", "{script}"), "worker.js": ("text/javascript", "self.onfetch = () => {{}}; {script}")}


class Stranger:
    """A server with hostile content that records which of its scripts ran."""

    def __init__(self):
        self.asked = []
        asked = self.asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                asked.append(self.path)
                name = self.path.lstrip("/").split("?")[0]
                kind, text = {**CONTENT, **CODE}.get(name, ("text/html", "<!doctype html><title>blank</title><body>"))
                body = text.format(script=SCRIPT.format(port=self.server.server_address[1], name=name)).encode()
                self.send_response(200)
                if kind:
                    self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Service-Worker-Allowed", "/")
                self.send_header("Access-Control-Allow-Origin", "*")
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

    def url(self, path, host="127.0.0.1"):
        return f"http://{host}:{self.port}/{path}"

    def proxied(self, path):
        return f"http/127.0.0.1:{self.port}/{path}"

    def ran(self):
        return sorted({path.split("?")[1] for path in self.asked if path.startswith("/ran?")})


# The attempts of a foreign page on the proxy's address. Each returns the information that the page got.
ATTEMPTS = """
const base = "%s", media = "%s", page = "%s", code = "%s";
const quiet = 4000;
const load = (name, attribute, url, good) => new Promise(done => {
    const element = document.createElement(name);
    element[good] = () => done("loaded");
    element.onerror = () => done("refused");
    element.preload = "auto";
    if (name === "link") element.rel = "stylesheet";
    element[attribute] = url;
    document.body.append(element);
    setTimeout(() => done("nothing"), quiet);
});
const read = async (url, mode) => {
    try {
        const answer = await fetch(url, { mode });
        return (await answer.text()).length;
    } catch { return "refused"; }
};
const frame = url => new Promise(done => {
    const element = document.createElement("iframe");
    element.onload = () => {
        try { done(element.contentDocument ? "readable" : "closed"); } catch { done("closed"); }
    };
    element.src = url;
    document.body.append(element);
    setTimeout(() => done("nothing"), quiet);
});
const results = await Promise.all([
    read(base + "_spool/api/resources", "cors"), read(base + "_spool/api/resources", "no-cors"), read(base + media, "cors"),
    read(base + media, "no-cors"), load("video", "src", base + media, "onloadedmetadata"), load("img", "src", base + "_spool/icon.svg", "onload"),
    load("script", "src", base + code, "onload"), load("link", "href", base + code, "onload"),
    frame(base + "_spool/"), frame(base + page),
]);
for (const url of [base + page, base + "_spool/"]) window.open(url);
await new Promise(done => setTimeout(done, 1500));
return results;
"""

TAB_FILES = [
    "faststart.mp4", "moov-at-end.mp4", "vp8-opus.webm", "vbr.mp3", "sound.m4a", "list.m3u8", "picture.jpg", "lines.vtt",
]

# Returns a description of the document in a tab.
OBSERVE = """
const soon = (element, ...names) => new Promise(done => {
    for (const name of names) element.addEventListener(name, () => done(name), { once: true });
    setTimeout(() => done("nothing"), 15000);
});
let media = document.querySelector("video, audio");
if (media) {
    if (media.readyState < 1 && !media.error) await soon(media, "loadedmetadata", "error");
    if (!media.videoWidth) {
        // Without a sound device the document's own player fails in Firefox. A muted one in the same document does not.
        media.pause();
        media = document.createElement("video");
        media.muted = true;
        media.src = location.href;
        document.body.append(media);
        await soon(media, "loadedmetadata", "error");
    }
    if (media.error || media.readyState < 1) return { shows: "an error" };
    media.muted = true;
    media.pause();
    const seeked = soon(media, "seeked", "error");
    media.currentTime = media.duration * 0.75;
    const seek = await seeked;
    const result = { shows: "media", duration: Math.round(media.duration), seek, error: media.error !== null };
    if (!media.videoWidth) return result;
    const moved = soon(media, "timeupdate", "error");
    const late = new Promise(done => setTimeout(() => done(false), 3000));
    // Autoplay is off in Firefox.
    const plays = await Promise.race([media.play().then(() => true, () => false), late]);
    return { ...result, plays: plays && await moved };
}
if (document.images.length) return { shows: "a picture", width: document.images[0].naturalWidth };
return { shows: document.contentType, characters: document.body ? document.body.innerText.length : 0 };
"""

# Loads a URL in an element of a page, and returns the outcome.
PLAY = """
const element = document.createElement("%s");
document.body.append(element);
element.muted = true;
element.src = "%s";
const soon = (...names) => new Promise(done => {
    for (const name of names) element.addEventListener(name, () => done(name), { once: true });
    setTimeout(() => done("nothing"), 15000);
});
const loaded = await soon("loadedmetadata", "load", "error");
if (loaded !== "loadedmetadata") return { loaded, width: element.naturalWidth };
element.currentTime = element.duration * 0.75;
return { loaded, duration: Math.round(element.duration), seek: await soon("seeked", "error") };
"""


def shown(browser, url):
    """Opens a URL in a tab, and returns a description of the result. A download has no document."""
    return browser.open(url) or browser.evaluate(OBSERVE)


def browser_cases(name):
    @case(f"{name}: an origin's content runs no script in a tab at the proxy", name)
    def _(t):
        proxy = t.proxy()
        with Stranger() as stranger, BROWSERS[name](t) as browser:
            for path in CONTENT:
                browser.open(stranger.url(path))
            direct = stranger.ran()
            expect({"page.html", "page.svg", "page.xhtml"} <= set(direct), f"only {direct} run without the proxy, so the case proves nothing")
            if t.is_direct:
                return
            stranger.asked.clear()
            for _ in ("cold", "stored"):
                for path in CONTENT:
                    browser.open(proxy_url(proxy, stranger.proxied(path)))
            expect_equal(stranger.ran(), [], "scripts that ran in the proxy's origin")

    @case(f"{name}: a page of a foreign site reads nothing, shows nothing and frames nothing", name, is_about_cache=True)
    def _(t):
        proxy, file, mark = t.proxy(), t.media["faststart.mp4"], t.origin.mark()
        media = proxy.path(file.name).lstrip("/")
        with Stranger() as stranger, BROWSERS[name](t, foreign=[STRANGER]) as browser:
            page, code = stranger.proxied("page.html"), stranger.proxied("code.js")
            for host in ("127.0.0.1", "localhost", "0.0.0.0"):
                expect_equal(browser.open(stranger.url("blank", STRANGER)), None, "the stranger's page")
                base = f"http://{host}:{proxy.port}/"
                found = browser.evaluate(ATTEMPTS % (base, media, page, code))
                expect(all(result in ("refused", "nothing", "closed", 0) for result in found), f"{host}: {found}")
            expect_equal(stranger.ran(), [], "scripts that ran in the proxy's origin")
        expect_equal([str(request) for request in t.origin.requests(mark)], [], "requests on behalf of the stranger")

    @case(f"{name}: an origin's service worker is not registered, even by the status page", name, is_about_cache=True)
    def _(t):
        proxy = t.proxy()
        with Stranger() as stranger, BROWSERS[name](t) as browser:
            expect_equal(browser.open(proxy.page_url()), None, "the status page")
            found = browser.evaluate(
                f"""
                let result = "none";
                try {{
                    await navigator.serviceWorker.register("/{stranger.proxied("worker.js")}", {{ scope: "/" }});
                    result = "registered";
                }} catch {{ result = "refused"; }}
                const all = await navigator.serviceWorker.getRegistrations();
                const live = document.getElementById("live");
                while (live.textContent === "connecting") await new Promise(done => setTimeout(done, 50));
                return [result, all.length, live.textContent];
                """)
            expect_equal(found, ["refused", 0, "live"], "registration, registrations, status page")

    @case(f"{name}: a URL opened in a tab plays, seeks and looks as it does directly", name, is_long=True)
    def _(t):
        proxy = t.proxy()
        with BROWSERS[name](t) as browser:
            for file in TAB_FILES:
                wanted = shown(browser, t.origin.url(file))
                if file.endswith((".mp4", ".webm", ".mp3", ".m4a")):
                    expect(wanted != "download" and wanted.get("seek") == "seeked", f"{file} does not play directly: {wanted}")
                for turn in ("cold", "stored"):
                    expect_equal(shown(browser, proxy.url(file)), wanted, f"{file}, {turn}")
                t.note(f"{file}: {wanted if isinstance(wanted, str) else wanted['shows']}")

    @case(f"{name}: a page plays mistyped media as it does directly", name)
    def _(t):
        proxy = t.proxy()
        with Stranger() as stranger, BROWSERS[name](t) as browser:
            expect_equal(browser.open(stranger.url("blank")), None, "a page of this machine")
            played = 0
            for kind in ("octet-stream", "plain", "none"):
                for element, file in (("video", "faststart.mp4"), ("audio", "vbr.mp3"), ("video", "vp8-opus.webm"), ("img", "picture.jpg")):
                    path = f"typed/{kind}/{file}"
                    wanted = browser.evaluate(PLAY % (element, t.origin.url(path)))
                    played += wanted.get("seek") == "seeked"
                    for turn in ("cold", "stored"):
                        expect_equal(browser.evaluate(PLAY % (element, proxy.url(path))), wanted, f"{file} as {kind}, {turn}")
            expect(played > 0, "no file plays directly")
            t.note(f"{played} of 9 play")


def proxy_url(proxy, path):
    return f"http://{proxy.authority}/{path}"


for _name in BROWSERS:
    browser_cases(_name)
