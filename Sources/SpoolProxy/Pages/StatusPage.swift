/// The page at `/_spool/`. It shows the stored resources and the available tracks, and refreshes
/// them from `api/resources` twice a second.
///
/// The page is one text without external resources. It inserts each value of a resource as text,
/// never as markup, because origins choose the names.
enum StatusPage {
    static let html: StaticString = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Spool</title>
        <style>
        :root {
          --page: #f6f5f2; --card: #ffffff; --line: #e3e0d9; --text: #1d1c1a; --soft: #6b675f;
          --accent: #0b6e63; --accent-soft: #d6ece8; --bar: #0f8b7d; --track: #e9e6df; --head: #c2410c; --ready: #0b6e63;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #141516; --card: #1d1f21; --line: #2d3033; --text: #ecebe8; --soft: #9c9a95;
            --accent: #4fd1c0; --accent-soft: #143733; --bar: #2fb3a3; --track: #2b2e31; --head: #fb923c; --ready: #4fd1c0;
          }
        }
        * { box-sizing: border-box; }
        body {
          margin: 0; background: var(--page); color: var(--text);
          font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
        }
        .wrap { max-width: 58rem; margin: 0 auto; padding: 1.75rem 1.25rem 9rem; }
        header { display: flex; align-items: center; gap: .75rem; flex-wrap: wrap; margin-bottom: 1.25rem; }
        h1 { font-size: 1.35rem; letter-spacing: -.01em; margin: 0; display: flex; align-items: center; gap: .6rem; }
        h1 svg { width: 1.6rem; height: 1.6rem; color: var(--accent); }
        .live { margin-left: auto; color: var(--soft); font-size: .85rem; display: flex; align-items: center; gap: .45rem; }
        .live::before { content: ""; width: .55rem; height: .55rem; border-radius: 50%; background: var(--ready); }
        .live.lost::before { background: var(--head); }
        h2 { font-size: .8rem; font-weight: 600; text-transform: uppercase; letter-spacing: .06em; color: var(--soft); margin: 1.75rem 0 .6rem; }
        .totals { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin: 0; }
        .totals div, .card { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
        .totals div { padding: .7rem .9rem; }
        .totals dt { color: var(--soft); font-size: .8rem; }
        .totals dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
        .totals small { display: block; font-weight: 400; font-size: .78rem; color: var(--soft); letter-spacing: 0; }
        ul { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; }
        .card { padding: .9rem 1rem; display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: .1rem .9rem; align-items: center; }
        .card.current { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
        .play {
          grid-row: span 2; width: 2.6rem; height: 2.6rem; border: 0; border-radius: 50%; cursor: pointer;
          background: var(--accent-soft); color: var(--accent); display: grid; place-items: center;
        }
        .play:hover { background: var(--accent); color: var(--card); }
        .play svg { width: 1.45rem; height: 1.45rem; }
        .name { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        .share { font-weight: 600; font-variant-numeric: tabular-nums; text-align: right; }
        .facts { color: var(--soft); font-size: .83rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        .state { color: var(--soft); font-size: .83rem; text-align: right; white-space: nowrap; }
        .state.fetching { color: var(--head); }
        .state.complete { color: var(--ready); }
        canvas { grid-column: 1 / -1; width: 100%; height: 1.5rem; margin-top: .65rem; display: block; border-radius: .3rem; }
        canvas.seekable { cursor: pointer; }
        form { display: flex; gap: .6rem; flex-wrap: wrap; }
        input {
          flex: 1 1 18rem; min-width: 0; font: inherit; color: inherit; background: var(--card);
          border: 1px solid var(--line); border-radius: .6rem; padding: .55rem .8rem;
        }
        .go {
          font: inherit; font-weight: 600; border: 0; border-radius: .6rem; padding: .55rem 1.1rem; cursor: pointer;
          background: var(--accent); color: var(--page);
        }
        .hint { color: var(--soft); font-size: .83rem; margin: .5rem 0 0; overflow-wrap: anywhere; }
        code { font: .92em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
        .dock {
          position: fixed; inset: auto 0 0; background: var(--card); border-top: 1px solid var(--line);
          box-shadow: 0 -8px 24px rgb(0 0 0 / .08); padding: .7rem 1.25rem;
        }
        .dock[hidden] { display: none; }
        .dock div { max-width: 55.5rem; margin: 0 auto; display: grid; gap: .35rem; }
        .dock p { margin: 0; font-size: .85rem; color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        .dock video { width: 100%; height: 2.6rem; background: transparent; }
        .dock.picture video { height: auto; max-height: 45vh; background: #000; border-radius: .5rem; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        @media (max-width: 34rem) { .wrap { padding-inline: .8rem; } .totals { grid-template-columns: 1fr 1fr; } }
        </style>
        </head>
        <body>
        <div class="wrap">
        <header>
          <h1>
            <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
              <circle cx="12" cy="12" r="10"/><circle cx="12" cy="12" r="2.4" fill="currentColor" stroke="none"/>
              <circle cx="12" cy="6.6" r="1.5"/><circle cx="16.7" cy="14.7" r="1.5"/><circle cx="7.3" cy="14.7" r="1.5"/>
            </svg>
            Spool
          </h1>
          <span class="live" id="live" role="status">connecting</span>
        </header>

        <dl class="totals" aria-label="Totals since the start">
          <div><dt>Stored</dt><dd id="stored">–<small id="count"></small></dd></div>
          <div><dt>Played from the store</dt><dd id="ratio">–<small id="played"></small></dd></div>
          <div><dt>Fetched from origins</dt><dd id="fetched">–<small id="rate"></small></dd></div>
          <div><dt>Origin requests</dt><dd id="requests">–<small>one for each gap</small></dd></div>
        </dl>

        <section id="demo" hidden aria-labelledby="demo-title">
          <h2 id="demo-title">From the slow demo origin</h2>
          <ul id="demo-list"></ul>
        </section>

        <section aria-labelledby="list-title">
          <h2 id="list-title">Resources</h2>
          <ul id="list"></ul>
          <p class="hint" id="empty">Nothing here yet. What is played through this proxy appears with its stored ranges.</p>
        </section>

        <section aria-labelledby="open-title">
          <h2 id="open-title">Play a URL</h2>
          <form id="open">
            <input id="url" type="url" required pattern="https?://.+" placeholder="https://example.com/film.mp4" aria-label="URL to play">
            <button class="go">Play</button>
          </form>
          <p class="hint">In any player: <code id="form"></code></p>
        </section>
        </div>

        <aside class="dock" id="dock" hidden aria-label="Player">
          <div><p id="now"></p><video id="player" controls preload="auto" playsinline></video></div>
        </aside>

        <script>
        "use strict";
        const byId = id => document.getElementById(id);
        // Everything lies below the token, when there is one: …/token/_spool/
        const base = location.pathname.slice(0, location.pathname.indexOf("_spool/"));
        const player = byId("player");
        const cards = new Map();
        let current = null;
        let lastFetched = null;
        let shownRate = 0;

        // Paths come relative to the proxy, with or without its token.
        const proxied = path => path.startsWith(base) ? path : base + path.replace(/^\//, "");

        function size(bytes) {
          if (bytes < 1024) return bytes + " B";
          const units = ["KiB", "MiB", "GiB", "TiB"];
          let value = bytes / 1024, unit = 0;
          while (value >= 1000 && unit < units.length - 1) { value /= 1024; unit += 1; }
          return value.toFixed(value < 99.95 ? 1 : 0) + " " + units[unit];
        }

        const text = (node, value) => { if (node.textContent !== value) node.textContent = value; };
        const lead = (id, value) => { const node = byId(id).firstChild; if (node.nodeValue !== value) node.nodeValue = value; };
        const plural = (count, word) => count + " " + word + (count === 1 ? "" : "s");

        function element(tag, name) {
          const node = document.createElement(tag);
          if (name) node.className = name;
          return node;
        }

        const icon = path => `<svg viewBox="0 0 24 24" fill="currentColor" aria-hidden="true"><path d="${path}"/></svg>`;
        const icons = { play: icon("M8 5v14l11-7z"), pause: icon("M7 5h4v14H7zm6 0h4v14h-4z") };

        // MARK: One resource

        function makeCard(key, list) {
          const node = element("li", "card");
          const card = {
            key, node, play: element("button", "play"), name: element("span", "name"), share: element("span", "share"),
            facts: element("span", "facts"), state: element("span", "state"), bar: element("canvas"),
            path: "", title: "", stored: [], length: 0, drawn: ""
          };
          card.bar.setAttribute("role", "img");
          card.play.type = "button";
          card.play.onclick = () => toggle(card);
          card.bar.onclick = event => seek(card, event.offsetX / card.bar.clientWidth);
          node.append(card.play, card.name, card.share, card.facts, card.state, card.bar);
          list.append(node);
          cards.set(key, card);
          return card;
        }

        function showCard(card, title, resource, path) {
          const length = resource ? resource.length : null;
          const storedBytes = resource ? resource.storedBytes : 0;
          card.path = path;
          card.title = title;
          card.type = resource ? resource.type : "";
          card.stored = resource ? resource.stored : [];
          card.length = length || 0;
          text(card.name, title);
          card.name.title = resource ? resource.key : title;
          text(card.share, length ? Math.floor(storedBytes / length * 100) + " %" : resource ? size(storedBytes) : "0 %");
          text(card.facts, facts(resource));
          showState(card, resource);
          const ranges = plural(card.stored.length, "stored range");
          card.bar.setAttribute("aria-label", `${title}: ${card.share.textContent} stored, ${ranges}`);
          showButton(card);
          draw(card);
        }

        function facts(resource) {
          if (!resource) return "not played yet";
          const parts = [resource.type || "unknown type"];
          parts.push(resource.length === null ? "length unknown" : size(resource.storedBytes) + " of " + size(resource.length));
          parts.push(plural(resource.stored.length, "range"));
          if (resource.readers > 0) parts.push(plural(resource.readers, "reader"));
          if (resource.because) parts.push("not stored: " + resource.because);
          return parts.join(" · ");
        }

        function showState(card, resource) {
          const state = !resource ? "" : resource.complete ? "complete" : resource.fetches > 0 ? "fetching" : "partly stored";
          text(card.state, state);
          card.state.className = "state " + state.split(" ")[0];
        }

        function showButton(card) {
          const isPlaying = card === current && !player.paused;
          const label = (isPlaying ? "Pause " : "Play ") + card.title;
          if (card.play.getAttribute("aria-label") === label) return;
          card.play.setAttribute("aria-label", label);
          card.play.innerHTML = isPlaying ? icons.pause : icons.play;
        }

        // MARK: The bar

        const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

        function draw(card) {
          const scale = window.devicePixelRatio || 1;
          const width = Math.round(card.bar.clientWidth * scale), height = Math.round(card.bar.clientHeight * scale);
          if (width === 0) return;
          const position = card === current && player.duration > 0 && isFinite(player.duration)
            ? player.currentTime / player.duration : null;
          const head = position === null ? null : Math.round(position * width);
          // Nothing is painted again that looks the same.
          const look = [width, height, head, card.length, card.stored.join()].join("|");
          if (look === card.drawn) return;
          card.drawn = look;
          card.bar.classList.toggle("seekable", head !== null);
          if (card.bar.width !== width) card.bar.width = width;
          if (card.bar.height !== height) card.bar.height = height;
          paint(card, card.bar.getContext("2d"), width, height, head, scale);
        }

        function paint(card, context, width, height, head, scale) {
          const inset = Math.round(3 * scale);
          context.clearRect(0, 0, width, height);
          context.fillStyle = color("--track");
          context.fillRect(0, inset, width, height - 2 * inset);
          context.fillStyle = color("--bar");
          for (const [lower, upper] of card.stored) {
            const whole = card.length || card.stored[card.stored.length - 1][1];
            const left = Math.floor(lower / whole * width), right = Math.ceil(upper / whole * width);
            context.fillRect(left, inset, Math.max(right - left, scale), height - 2 * inset);
          }
          if (head === null) return;
          const line = Math.round(2 * scale);
          context.fillStyle = color("--card");
          context.fillRect(head - line, 0, 3 * line, height);
          context.fillStyle = color("--head");
          context.fillRect(head, 0, line, height);
        }

        // MARK: Playing

        function start(card) {
          if (current) current.node.classList.remove("current");
          const last = current;
          current = card;
          card.node.classList.add("current");
          byId("dock").hidden = false;
          text(byId("now"), card.title);
          player.src = proxied(card.path);
          player.play().catch(() => {});
          if (last) { showButton(last); draw(last); }
        }

        function toggle(card) {
          if (card !== current) return start(card);
          if (player.paused) player.play().catch(() => {}); else player.pause();
        }

        function seek(card, part) {
          if (card === current && player.duration > 0 && isFinite(player.duration)) player.currentTime = part * player.duration;
        }

        player.onplay = player.onpause = () => { if (current) showButton(current); };
        player.onloadedmetadata = () => byId("dock").classList.toggle("picture", player.videoWidth > 0);
        player.onerror = () => {
          if (current) text(byId("now"), current.title + " can't be played: " + (player.error.message || "unknown media"));
        };

        (function follow() {
          if (current) draw(current);
          requestAnimationFrame(follow);
        })();

        // MARK: All of them

        function nameOf(resource) {
          const path = resource.url.split(/[?#]/)[0];
          const last = path.slice(path.lastIndexOf("/") + 1);
          try { return decodeURIComponent(last) || resource.key; } catch { return last || resource.key; }
        }

        function show(answer) {
          const byPath = new Map(answer.resources.map(resource => [resource.play, resource]));
          const seen = new Set();
          byId("demo").hidden = answer.demo.length === 0;
          text(byId("list-title"), answer.demo.length === 0 ? "Resources" : "Other resources");
          for (const track of answer.demo) {
            seen.add(track.play);
            showCard(cards.get(track.play) || makeCard(track.play, byId("demo-list")), track.title, byPath.get(track.play), track.play);
          }
          for (const resource of answer.resources) {
            if (seen.has(resource.play)) continue;
            seen.add(resource.play);
            showCard(cards.get(resource.play) || makeCard(resource.play, byId("list")), nameOf(resource), resource, resource.play);
          }
          for (const [key, card] of cards) {
            // What plays stays, although nothing may be stored of it.
            if (seen.has(key) || card === current) continue;
            card.node.remove();
            cards.delete(key);
          }
          byId("empty").hidden = byId("list").children.length > 0;
          showTotals(answer);
        }

        function showTotals({ resources, statistics }) {
          const stored = resources.reduce((sum, resource) => sum + resource.storedBytes, 0);
          const given = statistics.bytesFromStore + statistics.bytesFromOrigin;
          lead("stored", size(stored));
          text(byId("count"), "of " + plural(resources.length, "resource"));
          lead("ratio", given ? Math.round(statistics.hitRatio * 100) + " %" : "–");
          text(byId("played"), "of " + size(given));
          lead("fetched", size(statistics.fetchedBytes));
          lead("requests", String(statistics.originRequests));
          const now = performance.now();
          if (lastFetched) {
            const current = Math.max(0, statistics.fetchedBytes - lastFetched.bytes) / (now - lastFetched.time) * 1000;
            shownRate = shownRate * .6 + current * .4;
            text(byId("rate"), shownRate < 1024 ? "idle" : size(shownRate) + "/s");
          }
          lastFetched = { bytes: statistics.fetchedBytes, time: now };
        }

        function tell(isLive) {
          byId("live").classList.toggle("lost", !isLive);
          text(byId("live"), isLive ? "live" : "the proxy does not answer");
        }

        async function poll() {
          try {
            const response = await fetch("api/resources", { cache: "no-store" });
            if (!response.ok) throw new Error(response.status);
            show(await response.json());
            tell(true);
          } catch (error) {
            console.error(error);
            tell(false);
          }
          setTimeout(poll, 500);
        }

        byId("form").textContent = location.origin + base + "https/example.com/film.mp4";
        byId("open").onsubmit = event => {
          event.preventDefault();
          const url = new URL(byId("url").value);
          const path = base + url.protocol.slice(0, -1) + "/" + url.host + url.pathname + url.search;
          const card = cards.get(path) || makeCard(path, byId("list"));
          if (!card.path) showCard(card, url.pathname.split("/").pop() || url.host, null, path);
          start(card);
        };
        // Other colours or another width: everything is painted anew.
        const repaint = () => { for (const card of cards.values()) { card.drawn = ""; draw(card); } };
        matchMedia("(prefers-color-scheme: dark)").onchange = repaint;
        addEventListener("resize", repaint);
        poll();
        </script>
        </body>
        </html>
        """#
}
