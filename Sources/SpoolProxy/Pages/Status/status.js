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
  addTools(card);
  list.append(node);
  cards.set(key, card);
  return card;
}

function showCard(card, title, resource, path) {
  const length = resource ? resource.length : null;
  const storedBytes = resource ? resource.storedBytes : 0;
  card.path = path;
  card.title = title;
  card.resource = resource;
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
  showTools(card);
  draw(card);
}

function facts(resource) {
  if (!resource) return "not played yet";
  const parts = [resource.type || "unknown type"];
  parts.push(resource.length === null ? "length unknown" : size(resource.storedBytes) + " of " + size(resource.length));
  parts.push(plural(resource.stored.length, "range"));
  if (resource.pinned) parts.push("pinned");
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
  // After an error, only a new start plays again.
  if (card !== current || player.error) return start(card);
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
    // A resource that plays stays, although nothing may be stored of it.
    if (seen.has(key) || card === current) continue;
    card.node.remove();
    cards.delete(key);
  }
  byId("empty").hidden = byId("list").children.length > 0;
  showDemo(answer);
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

// The counts of each day are kept over restarts, and change slowly.
async function pollDays() {
  try {
    const response = await fetch("api/status", { cache: "no-store" });
    if (!response.ok) throw new Error(response.status);
    const { days, recent } = await response.json();
    showPlots(days, recent);
    const saved = Math.max(0, days.reduce((sum, day) => sum + day.savedBytes, 0));
    const last = days.at(-1);
    const today = last?.day === new Date().toISOString().slice(0, 10) ? Math.max(0, last.savedBytes) : 0;
    lead("saved", size(saved));
    text(byId("today"), size(today) + " today");
  } catch {
    // The line at the top says so.
  }
  setTimeout(pollDays, document.hidden ? 300_000 : 20_000);
}

function tell(isLive) {
  byId("live").classList.toggle("lost", !isLive);
  text(byId("live"), isLive ? "live" : "the proxy does not answer");
}

// While nothing moves, the proxy is asked less often, so that an open page costs it almost nothing.
const pollMilliseconds = { busy: 500, idle: 2_000, hidden: 30_000 };
let nextPoll = 0;

function schedule(isBusy) {
  const pause = document.hidden ? pollMilliseconds.hidden : isBusy ? pollMilliseconds.busy : pollMilliseconds.idle;
  clearTimeout(nextPoll);
  nextPoll = setTimeout(poll, pause);
}

async function poll() {
  let isBusy = false;
  try {
    const response = await fetch("api/resources", { cache: "no-store" });
    if (!response.ok) throw new Error(response.status);
    const answer = await response.json();
    show(answer);
    isBusy = !player.paused || answer.resources.some(resource => resource.readers > 0 || resource.fetches > 0);
    tell(true);
  } catch {
    tell(false);
  }
  if (await showJobs()) isBusy = true;
  schedule(isBusy);
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
document.onvisibilitychange = () => { if (!document.hidden) schedule(true); };
player.addEventListener("play", () => schedule(true));
setUpActions();
setUpDemo();
poll();
pollDays();
