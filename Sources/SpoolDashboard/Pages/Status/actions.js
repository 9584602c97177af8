"use strict";
// The actions of a browser that has logged in with a link of `spool login`. The cookie
// is out of reach of scripts. Only pages of this port have the second secret.
const proofKey = "spool-proof:" + location.pathname;
let proof = localStorage.getItem(proofKey);

// Sends an action. Throws its error text.
async function act(verb, parameters = {}, fields = {}) {
  const query = Object.entries(parameters).map(([name, value]) => name + "=" + encodeURIComponent(value)).join("&");
  const response = await fetch("page/" + verb + (query ? "?" + query : ""), {
    method: "POST", cache: "no-store", headers: { "Spool-Page": proof || "", ...fields }
  });
  return answerOf(response);
}

async function answerOf(response) {
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401 && proof !== null) {
    setProof(null);
    notice("Logged out: the session is over.");
  }
  if (!response.ok) throw new Error(answer.error || "the proxy refuses: " + response.status);
  return answer;
}

function setProof(value) {
  proof = value;
  if (value) localStorage.setItem(proofKey, value); else localStorage.removeItem(proofKey);
  byId("access").hidden = value !== null;
  byId("logout").hidden = value === null;
  for (const button of document.querySelectorAll("[data-open], [data-store]")) button.hidden = value === null;
  document.body.classList.toggle("in", value !== null);
  for (const card of cards.values()) if (card.tools) showTools(card);
  forgetSizes();
  placeRows();
  if (value === null) byId("jobs").hidden = byId("downloads").hidden = true;
}

function notice(message, isBad) {
  byId("notice").hidden = !message;
  byId("notice").classList.toggle("bad", isBad === true);
  text(byId("notice"), message);
}

async function logIn(link) {
  // The link counts once, and does not stay in the address.
  history.replaceState(null, "", location.pathname);
  try {
    // A used link ends no session, so its 401 is not that of one.
    const response = await fetch("page/login", { method: "POST", cache: "no-store", headers: { "Spool-Page": proof || "", "Spool-Link": link } });
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(answer.error || "the proxy refuses: " + response.status);
    setProof(answer.proof);
    notice("Logged in: this browser can change what is stored.");
  } catch (error) {
    notice("Not logged in: " + error.message, true);
  }
}

// The login link, also when it is opened in a tab that shows the page already.
function takeLink() {
  const link = location.hash.match(/^#login=([0-9a-f]+)$/);
  if (link) logIn(link[1]);
}

function setUpActions() {
  setProof(proof);
  addEventListener("hashchange", takeLink);
  byId("logout").onclick = async () => {
    try { await act("logout"); } catch { /* The session is over in either case. */ }
    setProof(null);
    notice("Logged out.");
  };
  for (const button of document.querySelectorAll("[data-open]")) {
    button.onclick = async () => {
      if (!byId("url").reportValidity()) return;
      try {
        await act(button.dataset.open, { url: byId("url").value });
        notice(button.textContent + ": begun.");
        refresh();
      } catch (error) { notice(error.message, true); }
    };
  }
  for (const button of document.querySelectorAll("[data-store]")) button.onclick = () => removeMany(button.dataset.store);
  takeLink();
}

async function removeMany(verb) {
  const isClearing = verb === "clear";
  const question = isClearing
    ? "Everything except downloads and pinned resources is deleted."
    : "Everything is deleted: downloads, pins and the history, too.";
  if (!await confirmed(question)) return;
  try {
    const answer = await act(verb);
    const kept = answer.kept ? ` ${size(answer.keptBytes)} of downloads and pinned resources stay.` : "";
    notice(`${size(answer.bytes)} were deleted.${kept}`);
    refresh();
  } catch (error) { notice(error.message, true); }
}

// MARK: The tools of a card

function addTools(card) {
  card.tools = element("div", "tools");
  card.tools.hidden = true;
  card.more = element("button", "quiet");
  card.more.type = "button";
  card.more.setAttribute("aria-expanded", "false");
  card.more.onclick = () => toggleTools(card);
  card.tools.append(card.more);
  card.node.append(card.tools);
}

const toolNames = [
  ["fetch", "Fetch whole"], ["preload", "Preload 30 s"], ["pin", "Pin"], ["verify", "Verify"], ["remove", "Remove…"]
];

// Most cards are never opened, so their buttons are made at the first use.
function toggleTools(card) {
  // The list has room for the actions of one row.
  if (card.isRow && rows.open && rows.open !== card && rows.open.row && !rows.open.row.hidden) toggleTools(rows.open);
  if (!card.buttons) {
    card.buttons = new Map();
    card.row = element("div", "tools");
    card.row.setAttribute("role", "group");
    card.row.setAttribute("aria-label", "Actions for " + card.title);
    for (const [verb, name] of toolNames) {
      const button = element("button", "quiet");
      button.type = "button";
      button.textContent = name;
      button.dataset.verb = verb;
      button.onclick = () => run(card, verb, button);
      card.buttons.set(verb, button);
      card.row.append(button);
    }
    card.result = element("p");
    card.result.setAttribute("role", "status");
    card.row.append(card.result);
    card.row.hidden = true;
    card.node.append(card.row);
  }
  card.row.hidden = !card.row.hidden;
  card.more.setAttribute("aria-expanded", String(!card.row.hidden));
  showTools(card);
  if (!card.isRow) return;
  rows.open = card.row.hidden ? null : card;
  card.node.classList.toggle("open", !card.row.hidden);
  place();
}

function showTools(card) {
  const isUsable = proof !== null && Boolean(card.resource);
  card.tools.hidden = !isUsable;
  text(card.more, "Actions");
  const label = "Actions for " + card.title;
  if (card.more.getAttribute("aria-label") !== label) card.more.setAttribute("aria-label", label);
  if (!card.row) return;
  if (!isUsable) {
    card.row.hidden = true;
    card.more.setAttribute("aria-expanded", "false");
    card.node.classList.remove("open");
    if (rows.open === card) rows.open = null;
    return;
  }
  const { pinned, complete } = { ...card.resource, ...card.resource.presentation };
  text(card.buttons.get("pin"), pinned ? "Unpin" : "Pin");
  card.buttons.get("fetch").disabled = complete;
  card.buttons.get("preload").disabled = complete;
}

function result(card, message, isBad) {
  card.result.classList.toggle("bad", isBad === true);
  text(card.result, message);
  // A long message takes another line.
  if (card.isRow) placeRows();
}

async function run(card, verb, button) {
  const { key, url, pinned, presentation } = card.resource;
  const amount = size((presentation ?? card.resource).storedBytes), end = pinned ? " Its pin ends." : "";
  if (verb === "remove" && !await confirmed(`${amount} of ${card.title} (${url}) are deleted.${end}`)) return;
  const name = verb === "pin" && pinned ? "unpin" : verb;
  button.setAttribute("aria-busy", "true");
  try {
    const answer = await act(name, { key });
    result(card, outcome(name, answer));
    if (name === "remove") focusAfterRemoval(card);
  } catch (error) {
    result(card, error.message, true);
  }
  button.removeAttribute("aria-busy");
  refresh();
}

function outcome(verb, answer) {
  switch (verb) {
  case "pin": return "Pinned: it stays, whatever room is needed.";
  case "unpin": return "Unpinned: it may go when room is needed.";
  case "remove": return answer.removed ? "Removed." : "Nothing of it was stored.";
  default: return "Begun; see the list of actions.";
  }
}

// The button disappears with its card, and the keyboard should not begin at the top again.
function focusAfterRemoval(card) {
  notice(card.title + " was removed.");
  const title = byId("list-title");
  title.tabIndex = -1;
  title.focus();
}

function confirmed(question) {
  const dialog = byId("question");
  text(byId("question-text"), question);
  dialog.returnValue = "keep";
  dialog.showModal();
  return new Promise(done => {
    dialog.onclose = () => {
      // On a busy machine the event of an earlier question comes when this one is open.
      if (!dialog.open) done(dialog.returnValue === "remove");
    };
  });
}

// MARK: Jobs

// Shows the actions under way, and returns whether one of them runs.
async function showJobs() {
  if (proof === null) return false;
  try {
    const { jobs } = await answerOf(await fetch("page/jobs", { cache: "no-store", headers: { "Spool-Page": proof } }));
    byId("jobs").hidden = jobs.length === 0;
    const list = byId("job-list");
    const known = new Map([...list.children].map(node => [node.dataset.id, node]));
    jobs.forEach((job, index) => {
      const node = known.get(String(job.id)) || makeJob(job);
      known.delete(String(job.id));
      showJob(node, job);
      if (list.children[index] !== node) list.insertBefore(node, list.children[index] || null);
    });
    for (const node of known.values()) node.remove();
    return jobs.some(job => job.state === "running");
  } catch {
    return false;
  }
}

const jobNames = { fetch: "Fetch", preload: "Preload", verify: "Verify" };

function makeJob(job) {
  const node = element("li", "job");
  node.dataset.id = job.id;
  node.append(element("p"), element("progress"));
  for (const verb of ["pause", "cancel"]) {
    const button = element("button", "quiet");
    button.type = "button";
    button.onclick = async () => {
      const name = verb === "pause" && node.dataset.state === "paused" ? "resume" : verb;
      try { await act(name, { id: job.id }); } catch (error) { notice(error.message, true); }
      refresh();
    };
    node.append(button);
  }
  return node;
}

function showJob(node, job) {
  const [line, progress, pause, cancel] = node.children;
  const isOver = job.state === "done" || job.state === "failed";
  const name = nameOf({ url: job.key, key: job.key });
  const done = job.totalBytes ? `${size(job.doneBytes)} of ${size(job.totalBytes)}` : size(job.doneBytes);
  node.dataset.state = job.state;
  text(line, `${jobNames[job.action]} ${name}: ${isOver ? job.text : job.state === "paused" ? "paused at " + done : done}`);
  line.classList.toggle("bad", job.state === "failed");
  progress.hidden = isOver;
  progress.setAttribute("aria-label", `${jobNames[job.action]} ${name}`);
  if (job.totalBytes) { progress.max = job.totalBytes; progress.value = job.doneBytes; } else progress.removeAttribute("value");
  pause.hidden = cancel.hidden = isOver || !job.canPause;
  text(pause, job.state === "paused" ? "Resume" : "Pause");
  text(cancel, "Cancel");
  pause.setAttribute("aria-label", `${pause.textContent} ${name}`);
  cancel.setAttribute("aria-label", `Cancel ${name}`);
}

// MARK: Downloads

let downloadsRun = false;
// More would drown the page; spool download lists all.
const shownDownloads = 20;

// Shows the list of downloads, whose states a person can change by pausing and resuming.
async function showDownloads() {
  if (proof === null) return;
  try {
    const { downloads, next } = await answerOf(await fetch("page/downloads", { cache: "no-store", headers: { "Spool-Page": proof } }));
    byId("downloads").hidden = downloads.length === 0;
    downloadsRun = downloads.some(download => download.state === "running");
    const nodes = downloads.slice(0, shownDownloads).map(makeDownload);
    if (downloads.length > shownDownloads || next !== null) {
      const more = element("li", "hint");
      more.textContent = "More are in the list: spool download ls shows all.";
      nodes.push(more);
    }
    replaceChanged(byId("download-list"), nodes);
  } catch {
    // The line at the top says so.
  }
}

function makeDownload(download) {
  const node = element("li", "job"), line = element("p"), button = element("button", "quiet");
  const done = download.totalBytes ? `${size(download.doneBytes)} of ${size(download.totalBytes)}` : size(download.doneBytes);
  const facts = [download.url, download.state, done, ...(download.reason ? [download.reason] : [])];
  line.textContent = facts.join(" · ");
  line.classList.toggle("bad", download.state === "failed");
  const isPaused = download.state === "paused";
  button.type = "button";
  button.textContent = isPaused || download.state === "failed" ? "Resume" : "Pause";
  button.hidden = download.state === "complete";
  button.setAttribute("aria-label", `${button.textContent} ${download.url}`);
  button.onclick = async () => {
    const verb = button.textContent === "Pause" ? "download-pause" : "download-resume";
    try { await act(verb, { key: download.key }); } catch (error) { notice(error.message, true); }
    refresh();
  };
  node.append(line, button);
  return node;
}

// Replaces the members that look different, so that the others keep the focus.
function replaceChanged(list, nodes) {
  nodes.forEach((node, index) => {
    const old = list.children[index];
    if (!old) list.append(node); else if (old.outerHTML !== node.outerHTML) old.replaceWith(node);
  });
  while (list.children.length > nodes.length) list.lastChild.remove();
}
