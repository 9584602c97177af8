"use strict";
// The list of resources. It may be long, so only the rows in sight exist, and the proxy searches,
// sorts and sends it in windows. All rows have one height, except the one with open actions.
const windowRows = 60;
const rowsBeyondSight = 5;
// A row takes a millisecond or two to make. A jump needs all rows anew, so they are made in several
// frames, those in sight first.
const newRowsPerFrame = 6;
const searchPauseMilliseconds = 150;
const rows = {
  box: document.getElementById("scroller"), node: document.getElementById("list"), matching: 0, total: 0,
  // The resources by their places, the windows that are as new as the last look, and the number of
  // that look.
  known: new Map(), fresh: new Set(), look: 0, isLoading: false,
  // The row that Tab reaches. Arrow keys choose another one.
  active: 0, focusWhenLoaded: null,
  // The height of a row, and the size of its bar, or null until they are measured.
  height: 0, gap: 12, bar: null, open: null
};

const order = () => byId("order").getAttribute("aria-pressed") === "true" ? "desc" : "asc";

function rowTop(index) {
  const extra = rows.open && index > rows.open.index ? rows.open.node.offsetHeight + rows.gap - rows.height : 0;
  return index * rows.height + extra;
}

function rowAt(y) {
  const index = Math.floor(y / rows.height);
  if (!rows.open || index <= rows.open.index) return index;
  const extra = rows.open.node.offsetHeight + rows.gap - rows.height;
  return Math.max(rows.open.index, Math.floor((y - extra) / rows.height));
}

// MARK: Rows in sight

let isPlaced = true;

// Asks for one placement in the next frame, however often the list scrolls before.
function placeRows() {
  if (!isPlaced) return;
  isPlaced = false;
  requestAnimationFrame(() => { isPlaced = true; place(); });
}

function forgetSizes() {
  rows.height = 0;
  rows.bar = null;
}

function measureRow() {
  const style = getComputedStyle(rows.box);
  rows.height = parseFloat(style.getPropertyValue("--row")) * parseFloat(getComputedStyle(document.documentElement).fontSize);
}

function place() {
  if (rows.height === 0) measureRow();
  const top = rows.box.scrollTop, bottom = top + rows.box.clientHeight;
  const { shown, isWhole } = rowsBetween(Math.max(0, rowAt(top)), Math.min(rows.matching - 1, rowAt(bottom)));
  // A row with the focus stays, wherever the list is scrolled.
  const held = [...cards.values()].find(card => card.isRow && card.node.contains(document.activeElement));
  if (held && !shown.includes(held) && rows.known.get(held.index)?.play === held.path) shown.push(held);
  shown.sort((one, other) => one.index - other.index);
  for (const card of [...cards.values()]) {
    if (card.isRow && !shown.includes(card)) {
      if (card === rows.open) rows.open = null;
      card.node.remove();
      cards.delete(card.id);
    }
  }
  shown.forEach((card, position) => {
    const before = rows.node.children[position];
    if (before !== card.node) rows.node.insertBefore(card.node, before || null);
  });
  for (const card of shown) card.node.style.transform = `translateY(${rowTop(card.index)}px)`;
  const height = Math.max(0, rowTop(rows.matching) - rows.gap) + "px";
  if (rows.node.style.height !== height) rows.node.style.height = height;
  // All bars have the size of the first one. To ask for a size lays the page out.
  const bar = shown.find(card => card.resource)?.bar;
  if (bar && !(rows.bar?.width > 0)) rows.bar = { width: bar.clientWidth, height: bar.clientHeight };
  for (const card of shown) if (card.resource) draw(card);
  setStops();
  focusLoaded();
  loadRows();
  if (!isWhole) placeRows();
}

// Returns the cards of the rows in sight and around it, and whether no further frame is needed for
// them. Until a row in sight is made, a blank one stands for it.
function rowsBetween(first, last) {
  const shown = [];
  let made = 0, isWhole = true;
  const add = (index, isInSight) => {
    const resource = rows.known.get(index);
    const isMade = resource && (cards.has("row " + resource.play) || current?.id === "row " + resource.play);
    if (resource && !isMade && made >= newRowsPerFrame) {
      isWhole = false;
      if (isInSight) shown.push(showBlank(index));
      return;
    }
    if (resource && !isMade) made += 1;
    shown.push(resource ? showRow(index, resource) : showBlank(index));
  };
  for (let index = first; index <= last; index += 1) add(index, true);
  for (let index = Math.max(0, first - rowsBeyondSight); index < first; index += 1) add(index, false);
  for (let index = last + 1; index <= Math.min(rows.matching - 1, last + rowsBeyondSight); index += 1) add(index, false);
  return { shown, isWhole };
}

function showRow(index, resource) {
  const id = "row " + resource.play;
  let card = cards.get(id);
  if (!card) {
    // A resource that plays keeps its card while it is out of sight.
    card = current?.id === id ? current : makeCard(id, rows.node);
    card.isRow = true;
    cards.set(id, card);
  }
  setPlace(card, index);
  if (card.resource !== resource) showCard(card, nameOf(resource), resource, resource.play, false);
  return card;
}

function showBlank(index) {
  const id = "blank " + index;
  const known = cards.get(id);
  if (known) return known;
  const card = { id, isRow: true, node: element("li", "card blank") };
  setPlace(card, index);
  cards.set(id, card);
  return card;
}

function setPlace(card, index) {
  if (card.index === index && card.size === rows.matching) return;
  card.index = index;
  card.size = rows.matching;
  card.node.setAttribute("aria-posinset", index + 1);
  card.node.setAttribute("aria-setsize", rows.matching);
}

// MARK: The keyboard

// Tab reaches the buttons of one row only. Otherwise the way past a long list were long.
function setStops() {
  rows.active = Math.max(0, Math.min(rows.active, rows.matching - 1));
  for (const card of cards.values()) {
    if (!card.isRow || !card.play) continue;
    const stop = card.index === rows.active ? 0 : -1;
    for (const button of card.node.querySelectorAll("button")) if (button.tabIndex !== stop) button.tabIndex = stop;
  }
}

function focusLoaded() {
  if (rows.focusWhenLoaded === null) return;
  const card = [...cards.values()].find(card => card.isRow && card.play && card.index === rows.focusWhenLoaded);
  if (!card) return;
  rows.focusWhenLoaded = null;
  card.play.focus({ preventScroll: true });
}

function goToRow(index) {
  index = Math.max(0, Math.min(index, rows.matching - 1));
  rows.active = rows.focusWhenLoaded = index;
  const top = rowTop(index), bottom = top + rows.height;
  if (top < rows.box.scrollTop) rows.box.scrollTop = top;
  else if (bottom > rows.box.scrollTop + rows.box.clientHeight) rows.box.scrollTop = bottom - rows.box.clientHeight;
  place();
}

function moveByKey(event) {
  const page = Math.max(1, Math.floor(rows.box.clientHeight / rows.height) - 1);
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.matching, End: rows.matching };
  const step = steps[event.key];
  if (step === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  goToRow(rows.active + step);
}

// MARK: Loading

// The path of a window of the list.
function listPath(offset, limit) {
  const parts = { without: "demo,parts", search: byId("search").value.trim(), sort: byId("sort").value, order: order(), offset, limit };
  if (current?.resource) parts.key = current.resource.key; else if (current?.url) parts.url = current.url;
  return "api/resources?" + Object.entries(parts).map(([name, value]) => name + "=" + encodeURIComponent(value)).join("&");
}

async function ask(offset, limit) {
  const response = await fetch(listPath(offset, limit), { cache: "no-store" });
  if (!response.ok) throw new Error(response.status);
  return response.json();
}

// Loads the windows in sight that are missing or older than the last look, one after the other.
async function loadRows() {
  if (rows.isLoading) return;
  rows.isLoading = true;
  try {
    for (let offset = missingWindow(); offset !== null; offset = missingWindow()) {
      const look = rows.look;
      take(await ask(offset, windowRows), offset, look);
      tell(true);
    }
  } catch {
    tell(false);
  }
  rows.isLoading = false;
}

function missingWindow() {
  if (rows.height === 0) measureRow();
  const first = Math.floor(Math.max(0, rowAt(rows.box.scrollTop)) / windowRows);
  const last = Math.floor(Math.max(0, Math.min(rows.matching - 1, rowAt(rows.box.scrollTop + rows.box.clientHeight))) / windowRows);
  for (let part = first; part <= last; part += 1) if (!rows.fresh.has(part)) return part * windowRows;
  return null;
}

function take(answer, offset, look) {
  // The search or the order may have changed while the proxy answered.
  if (look !== rows.look) return;
  if (answer.matching !== rows.matching) {
    for (const index of rows.known.keys()) if (index >= answer.matching) rows.known.delete(index);
  }
  rows.matching = answer.matching;
  rows.total = answer.total;
  for (let index = offset; index < offset + windowRows; index += 1) rows.known.delete(index);
  answer.resources.forEach((resource, position) => rows.known.set(offset + position, resource));
  rows.fresh.add(offset / windowRows);
  show(answer);
  // In a task of its own: this one has read the answer.
  placeRows();
}

// Asks the proxy anew for the rows in sight. The known ones stay until their successors arrive.
function lookAgain() {
  rows.look += 1;
  rows.fresh.clear();
  return loadRows();
}

// Begins at the top with another search or order.
function changeList() {
  rows.known.clear();
  rows.active = 0;
  rows.box.scrollTop = 0;
  lookAgain();
}

let searchPause = 0;

function setUpList() {
  rows.box.addEventListener("scroll", placeRows, { passive: true });
  new ResizeObserver(() => { forgetSizes(); placeRows(); }).observe(rows.box);
  rows.node.addEventListener("keydown", moveByKey);
  rows.node.addEventListener("focusin", event => {
    const card = [...cards.values()].find(card => card.isRow && card.node.contains(event.target));
    if (card && card.index !== rows.active) { rows.active = card.index; setStops(); }
  });
  byId("search").oninput = () => { clearTimeout(searchPause); searchPause = setTimeout(changeList, searchPauseMilliseconds); };
  byId("sort").onchange = changeList;
  byId("order").onclick = () => {
    const isDown = order() === "asc";
    byId("order").setAttribute("aria-pressed", String(isDown));
    changeList();
  };
}

function showCount() {
  const isSearch = byId("search").value.trim() !== "";
  text(byId("matching"), isSearch ? `${rows.matching} of ${plural(rows.total, "resource")}` : plural(rows.matching, "resource"));
  byId("empty").hidden = rows.matching > 0;
  text(byId("empty"), isSearch ? "No resource matches the search."
    : "Nothing here yet. A resource that is played through this proxy appears with its stored ranges.");
}
