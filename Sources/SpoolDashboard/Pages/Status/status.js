"use strict";
const byId = id => document.getElementById(id);
// Everything lies below the token, when there is one: …/token/_spool/
const base = location.pathname.slice(0, location.pathname.indexOf("_spool/"));
const player = byId("player");
// The cards on the page by their names: those of the demo's tracks, and the rows of the list in sight.
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

function makeCard(id, parent) {
  const node = element("li", "card");
  const card = {
    id, node, play: element("button", "play"), name: element("span", "name"), share: element("span", "share"),
    place: element("span", "place"), facts: element("span", "facts"), state: element("span", "state"), bar: element("canvas"),
    path: "", title: "", stored: [], length: 0, drawn: ""
  };
  card.bar.setAttribute("role", "img");
  card.play.type = "button";
  card.play.onclick = () => toggle(card);
  card.bar.onclick = event => seek(card, event.offsetX / card.bar.clientWidth);
  node.append(card.play, card.name, card.share, card.place, card.facts, card.state, card.bar);
  addTools(card);
  parent?.append(node);
  cards.set(id, card);
  return card;
}

function showCard(card, title, resource, path, draws = true) {
  const length = resource ? resource.length : null;
  const storedBytes = resource ? resource.storedBytes : 0;
  card.path = path;
  card.title = title;
  card.resource = resource;
  card.type = resource ? resource.type : "";
  text(card.name, title);
  card.name.title = resource ? resource.key : title;
  text(card.place, resource ? placeOf(resource) : "");
  card.place.title = card.name.title;
  const whole = resource?.presentation;
  // The ranges of a manifest say nothing about its presentation.
  card.stored = whole ? (whole.complete ? [[0, 1]] : []) : resource ? resource.stored : [];
  card.length = whole ? 1 : length || 0;
  text(card.share, whole ? size(whole.storedBytes)
    : length ? Math.floor(storedBytes / length * 100) + " %" : resource ? size(storedBytes) : "0 %");
  text(card.facts, facts(resource));
  showState(card, resource);
  const ranges = whole ? "" : ", " + plural(card.stored.length, "stored range");
  card.bar.setAttribute("aria-label", `${title}: ${card.share.textContent} stored${ranges}`);
  showButton(card);
  showTools(card);
  if (draws) draw(card);
}

function facts(resource) {
  if (!resource) return "not played yet";
  const parts = [resource.type || "unknown type"], whole = resource.presentation;
  if (whole) parts.push((whole.live ? "live stream in " : "stream in ") + plural(whole.resources, "resource"));
  else {
    parts.push(resource.length === null ? "length unknown" : size(resource.storedBytes) + " of " + size(resource.length));
    parts.push(plural(resource.stored.length, "range"));
  }
  if (resource.pinned) parts.push("pinned");
  if (resource.readers > 0) parts.push(plural(resource.readers, "reader"));
  if (resource.notStored) parts.push("not stored: " + resource.notStored);
  return parts.join(" · ");
}

function showState(card, resource) {
  const whole = resource?.presentation;
  const state = !resource ? "" : (whole ?? resource).complete ? "complete" : resource.fetches > 0 ? "fetching"
    : whole || resource.storedBytes > 0 ? "partly stored" : "nothing stored";
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

// The bar beside the player. It stays in sight when the list is scrolled.
const dockBar = { bar: byId("map"), drawn: "" };
dockBar.bar.onclick = event => { if (current) seek(current, event.offsetX / dockBar.bar.clientWidth); };
let colors = {};
const color = name => colors[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function draw(card) {
  drawBar(card, card, card.isRow && rows.bar || undefined);
  if (card === current) drawBar(card, dockBar);
}

// Draws the bar of a card: its own, or the one beside the player.
function drawBar(card, view, barSize = { width: view.bar.clientWidth, height: view.bar.clientHeight }) {
  const scale = window.devicePixelRatio || 1;
  const width = Math.round(barSize.width * scale), height = Math.round(barSize.height * scale);
  if (width === 0) return;
  const position = card === current && player.duration > 0 && isFinite(player.duration)
    ? player.currentTime / player.duration : null;
  const head = position === null ? null : Math.round(position * width);
  // Nothing is painted again that looks the same.
  const look = [width, height, head, card.length, card.stored.join()].join("|");
  if (look === view.drawn) return;
  view.drawn = look;
  view.bar.classList.toggle("seekable", head !== null);
  if (view.bar.width !== width) view.bar.width = width;
  if (view.bar.height !== height) view.bar.height = height;
  paint(card, view.bar.getContext("2d"), width, height, head, scale);
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
  dockBar.bar.setAttribute("aria-label", "Stored ranges of " + card.title);
  dockBar.drawn = "";
  player.src = proxied(card.path);
  player.play().catch(() => {});
  if (last) { showButton(last); draw(last); }
}

function toggle(card) {
  // After an error, only a new start plays again.
  if (card !== current || player.error) return start(card);
  if (player.paused) player.play().catch(() => {}); else player.pause();
}

function seek(card, part) {
  if (card === current && player.duration > 0 && isFinite(player.duration)) player.currentTime = part * player.duration;
}

player.onplay = player.onpause = () => { if (current) showButton(current); };
player.onloadedmetadata = () => byId("dock").classList.toggle("picture", player.videoWidth > 0);
player.onerror = async () => {
  if (!current || !player.error) return;
  const card = current, source = player.src;
  const because = await reasonOfFailure(source) || player.error?.message || "unknown media";
  if (card === current && player.src === source) text(byId("now"), `${card.title} can't be played: ${because}`);
};

// A player reports no status. The proxy's answer to one byte has the reason.
async function reasonOfFailure(source) {
  try {
    const response = await fetch(source, { headers: { Range: "bytes=0-0" }, cache: "no-store" });
    if (response.status >= 400) {
      const said = /^text\/plain/.test(response.headers.get("Content-Type") || "") ? (await response.text()).split("\n")[0] : "";
      return (said || `the origin answered ${response.status}`).slice(0, 300);
    }
    response.body?.cancel();
    const type = response.headers.get("Content-Type") || "";
    return /^text\//.test(type) ? `the origin sent a page (${type.split(";")[0]}), and no media` : "";
  } catch {
    return "the proxy does not answer";
  }
}

function closePlayer() {
  if (!current) return;
  const card = current;
  current = null;
  player.pause();
  player.removeAttribute("src");
  player.load();
  byId("dock").hidden = true;
  byId("dock").classList.remove("picture");
  card.node.classList.remove("current");
  showButton(card);
  card.drawn = "";
  draw(card);
  // The keyboard goes on where the play began.
  (card.node.isConnected ? card.play : byId("url")).focus();
}

byId("close").onclick = closePlayer;
addEventListener("keydown", event => { if (event.key === "Escape" && !byId("question").open) closePlayer(); });

// Moves the play head. Nothing runs while nothing plays.
function follow() {
  if (!current) return;
  draw(current);
  if (!player.paused) requestAnimationFrame(follow);
}
player.onplaying = follow;
player.onseeked = player.onseeking = () => { if (current) draw(current); };

// MARK: All of them

function nameOf(resource) {
  const path = resource.url.split(/[?#]/)[0];
  const last = path.slice(path.lastIndexOf("/") + 1);
  try { return decodeURIComponent(last) || resource.key; } catch { return last || resource.key; }
}

// The host and the folder of a resource, and its query: what its name lacks.
function placeOf(resource) {
  const [, rest, query] = /^(?:\w+:\/\/)?([^?#]*)(\?.*)?/.exec(resource.url);
  return rest.slice(0, rest.lastIndexOf("/") + 1) + (query ? " " + query : "");
}

// Shows all of an answer but the rows of the list.
function show(answer) {
  byId("demo").hidden = answer.demo.length === 0;
  text(byId("list-title"), answer.demo.length === 0 ? "Resources" : "Other resources");
  for (const track of answer.demo) {
    const id = "demo " + track.play;
    showCard(cards.get(id) || makeCard(id, byId("demo-list")), track.title, track.resource, track.play);
  }
  // A resource that plays, and whose row is out of sight.
  if (current && answer.named?.play === current.path) showCard(current, current.title, answer.named, current.path);
  showCount();
  showDemo(answer);
  showTotals(answer);
}

// The limits and the disk, which only some answers have.
const room = { total: null, quotaBytes: null, freeBytes: null };

function showRoom() {
  if (room.total === null) return;
  const facts = [plural(room.total, "resource")];
  if (room.quotaBytes !== null) facts.unshift("of " + size(room.quotaBytes));
  if (room.freeBytes !== null) facts.push(size(room.freeBytes) + " free on the disk");
  text(byId("count"), facts.join(" · "));
}

function showTotals({ total, storedBytes, statistics }) {
  const given = statistics.bytesFromStore + statistics.bytesFromOrigin;
  lead("stored", size(storedBytes));
  room.total = total;
  showRoom();
  lead("ratio", given ? Math.round(statistics.hitRatio * 100) + " %" : "–");
  text(byId("played"), "of " + size(given));
  lead("fetched", size(statistics.fetchedBytes));
  lead("requests", String(statistics.originRequests));
  // Only some transports count the bytes that cancelled requests left in buffers.
  const sent = statistics.sentByOriginsBytes;
  text(byId("sent"), sent === null ? "one for each gap" : size(sent) + " sent by origins");
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

// Other colours or another width: everything is painted anew.
const repaint = () => {
  colors = {};
  rows.bar = null;
  dockBar.drawn = "";
  for (const card of cards.values()) if (card.bar) { card.drawn = ""; draw(card); }
};
matchMedia("(prefers-color-scheme: dark)").onchange = repaint;
addEventListener("resize", repaint);
player.addEventListener("timeupdate", showSteps);
setUpList();
setUpOpen();
setUpActions();
setUpDemo();
setUpNotices();
setUpLive();
