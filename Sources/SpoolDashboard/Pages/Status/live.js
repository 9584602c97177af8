"use strict";
// The events of the proxy: one stream for a page in sight, none for a hidden one. An event has the
// whole state, so a page that missed some needs the newest only.
const reopenMilliseconds = 10_000;
const plotsMilliseconds = { moving: 10_000, still: 60_000 };
let stream = null;
let reopening = 0;
let seenRevision = null, seenJobs = null, jobsRun = false;
let plotsDrawn = -Infinity, plotsTimer = 0;

function openStream() {
  clearTimeout(reopening);
  if (stream || document.hidden) return;
  stream = new EventSource("api/events");
  stream.onopen = () => tell(true);
  stream.addEventListener("status", event => takeStatus(JSON.parse(event.data)));
  stream.onerror = () => {
    tell(false);
    // The browser itself opens a broken stream again. A refused one it gives up.
    if (stream.readyState === EventSource.CLOSED) closeStream(true);
  };
}

function closeStream(reopens) {
  stream?.close();
  stream = null;
  if (reopens) reopening = setTimeout(() => { refresh(); openStream(); }, reopenMilliseconds);
}

// Asks for all that the page shows.
async function refresh() {
  await lookAgain();
  jobsRun = await showJobs();
  await showDownloads();
}

function takeStatus(status) {
  tell(true);
  room.quotaBytes = status.store.quotaBytes;
  showTotals({ total: status.store.resources, storedBytes: status.store.bytes, statistics: status.statistics });
  takeActive(status.active);
  showNotices(status.notices);
  // The first event comes while the page asks for everything anyway.
  if (seenRevision !== null && seenRevision !== status.revision) lookAgain();
  if (seenRevision !== null && (seenRevision !== status.revision || downloadsRun)) showDownloads();
  seenRevision = status.revision;
  if (seenJobs !== status.jobs || jobsRun) showJobs().then(isRunning => { jobsRun = isRunning; });
  seenJobs = status.jobs;
  if (performance.now() - plotsDrawn > plotsMilliseconds.moving) drawPlots();
}

// Fills the bars of resources in use. The list itself is asked for only when its members change.
function takeActive(active) {
  const changed = new Map(active.map(resource => [resource.key, resource]));
  const updated = resource => {
    const now = resource && changed.get(resource.key);
    if (!now) return resource;
    const { length, stored, storedBytes, readers, fetches, notStored } = now;
    return { ...resource, length, stored, storedBytes, readers, fetches, notStored, complete: length !== null && storedBytes >= length };
  };
  for (const [index, resource] of rows.known) rows.known.set(index, updated(resource));
  for (const card of new Set([...cards.values(), ...(current ? [current] : [])])) {
    const resource = updated(card.resource);
    if (resource === card.resource) continue;
    showCard(card, card.title, card.isRow ? rows.known.get(card.index) ?? resource : resource, card.path);
  }
  showSteps();
}

// The counts of each day are kept over restarts, and change slowly.
async function drawPlots() {
  clearTimeout(plotsTimer);
  plotsDrawn = performance.now();
  try {
    const response = await fetch("api/status", { cache: "no-store" });
    if (!response.ok) throw new Error(response.status);
    const { days, recent, store } = await response.json();
    room.freeBytes = store.freeBytes;
    showRoom();
    showPlots(days, recent);
    const saved = Math.max(0, days.reduce((sum, day) => sum + day.savedBytes, 0));
    const last = days.at(-1);
    const today = last?.day === new Date().toISOString().slice(0, 10) ? Math.max(0, last.savedBytes) : 0;
    lead("saved", size(saved));
    text(byId("today"), size(today) + " today");
  } catch {
    // The line at the top says so.
  }
  if (!document.hidden) plotsTimer = setTimeout(drawPlots, plotsMilliseconds.still);
}

function setUpLive() {
  // A hidden page costs the proxy nothing.
  document.onvisibilitychange = () => {
    if (document.hidden) { clearTimeout(plotsTimer); clearTimeout(reopening); return closeStream(false); }
    refresh();
    openStream();
    drawPlots();
  };
  // A page that leaves for the browser's memory of pages comes back with a closed stream.
  addEventListener("pagehide", () => closeStream(false));
  addEventListener("pageshow", event => { if (event.persisted) { refresh(); openStream(); } });
  refresh();
  openStream();
  drawPlots();
}
