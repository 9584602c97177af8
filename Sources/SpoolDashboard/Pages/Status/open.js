"use strict";
// The form that plays a URL, and the URL by which any other player gets it from this proxy.
const exampleURL = "https://example.com/film.mp4";

// The path at this proxy of a URL, or null for a text that is none yet.
function proxiedPath(text) {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null;
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  return base + url.protocol.slice(0, -1) + "/" + url.host + url.pathname + url.search;
}

// Shows the proxied URL of what is typed so far.
function showProxied() {
  const path = proxiedPath(byId("url").value);
  text(byId("form"), location.origin + (path ?? proxiedPath(exampleURL)));
  byId("copy").disabled = byId("show-code").disabled = path === null;
  if (path === null) closeCode(); else if (!byId("code").hidden) showCode();
}

async function copyProxied() {
  const range = document.createRange();
  range.selectNodeContents(byId("form"));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  // Only pages of this machine and of HTTPS have the clipboard.
  let isCopied = false;
  try { await navigator.clipboard.writeText(byId("form").textContent); isCopied = true; }
  catch { isCopied = document.execCommand("copy"); }
  notice(isCopied ? "Copied." : "The browser does not copy; the URL is selected.");
}

function showCode() {
  const rows = qrCode(byId("form").textContent);
  byId("code").querySelector("svg")?.remove();
  if (rows) {
    const picture = qrPicture(rows);
    picture.setAttribute("aria-label", "QR code of " + byId("form").textContent);
    byId("code").prepend(picture);
  }
  const isHere = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  text(byId("code-note"), !rows ? "The URL is too long for a QR code."
    : isHere ? "This address works on this machine only. For another device, run spool serve with --listen and --token." : "");
  byId("code").hidden = false;
  byId("show-code").setAttribute("aria-expanded", "true");
}

function closeCode() {
  byId("code").hidden = true;
  byId("show-code").setAttribute("aria-expanded", "false");
}

function playTyped(event) {
  event.preventDefault();
  const path = proxiedPath(byId("url").value);
  if (!path) return;
  const url = new URL(byId("url").value.trim());
  const id = "row " + path;
  const card = cards.get(id) || cards.get("demo " + path) || makeCard(id, null);
  if (!card.path) {
    // Its row comes once the list has it.
    cards.delete(id);
    card.url = url.href;
    showCard(card, url.pathname.split("/").pop() || url.host, null, path);
  }
  start(card);
}

function setUpOpen() {
  byId("open").onsubmit = playTyped;
  byId("url").oninput = showProxied;
  byId("copy").onclick = copyProxied;
  byId("show-code").onclick = () => byId("code").hidden ? showCode() : closeCode();
  showProxied();
}
