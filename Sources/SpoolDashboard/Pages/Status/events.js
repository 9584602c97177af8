"use strict";
// The list of what happened and why. The proxy keeps a bounded number of notices, the newest first,
// and the page shows the first of them until it is asked for all.
const noticesAtFirst = 6;
const happened = { notices: [], shown: "", isWhole: false };

const noticeNames = {
  notStored: "Not stored", evicted: "Evicted", refused: "Refused", originFailed: "Origin failed", damaged: "Damaged bytes",
  changed: "New version", gone: "Gone", unconfirmed: "Not confirmed", paused: "Paused", resumed: "Goes on",
  downloadFailed: "Download failed", store: "Store", becameWriter: "Store", bucket: "Bucket"
};

// The reasons of notices that have none of their own.
const noticeReasons = {
  damaged: "they differ from their checksums, and are fetched again when they are needed",
  changed: "the origin has another version; the stored one is replaced", gone: "the origin no longer has it",
  becameWriter: "the process that had the store is gone: fetched bytes are kept from now on"
};

function noticeTime(seconds) {
  const time = new Date(seconds * 1000);
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? time.toLocaleTimeString() : time.toLocaleString();
}

function noticeText({ kind, because, bytes, count }) {
  const parts = [because || noticeReasons[kind] || ""];
  if (bytes !== null) parts.unshift(size(bytes));
  if (count > 1) parts.push(count + " times");
  return parts.filter(part => part !== "").join(" · ");
}

function makeNotice(notice) {
  const node = element("li", "happened"), time = element("time"), kind = element("strong"), reason = element("span", "why");
  time.dateTime = new Date(notice.time * 1000).toISOString();
  time.textContent = noticeTime(notice.time);
  kind.textContent = noticeNames[notice.kind] || notice.kind;
  kind.dataset.kind = notice.kind;
  reason.textContent = noticeText(notice);
  node.append(time, kind);
  if (notice.key !== null) {
    const name = element("span", "which");
    name.textContent = nameOf({ url: notice.key, key: notice.key });
    name.title = notice.key;
    node.append(name);
  }
  node.append(reason);
  return node;
}

// Shows the notices of an event of the proxy. Nothing is made again that looks the same.
function showNotices(notices) {
  const look = JSON.stringify(notices) + happened.isWhole;
  if (look === happened.shown) return;
  happened.notices = notices;
  happened.shown = look;
  const shown = happened.isWhole ? notices : notices.slice(0, noticesAtFirst);
  byId("happened").replaceChildren(...shown.map(makeNotice));
  byId("calm").hidden = notices.length > 0;
  const more = byId("more");
  more.hidden = notices.length <= noticesAtFirst;
  more.setAttribute("aria-expanded", String(happened.isWhole));
  text(more, happened.isWhole ? "Show fewer" : `Show all ${notices.length}`);
}

function setUpNotices() {
  byId("more").onclick = () => {
    happened.isWhole = !happened.isWhole;
    showNotices(happened.notices);
  };
}
