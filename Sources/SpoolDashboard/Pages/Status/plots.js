"use strict";
// The plots are SVG that this script draws, each with a table of its figures.
const plotNodes = new Map();
const leastBars = 14;

function svgElement(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// Makes the frame of a plot at its first use.
function plotNode(name, title) {
  const known = plotNodes.get(name);
  if (known) return known;
  const figure = element("figure");
  const caption = element("figcaption");
  const summary = element("span");
  caption.append(title, summary);
  const svg = svgElement("svg", { role: "img", preserveAspectRatio: "none" });
  const ends = element("div", "ends");
  const details = element("details");
  const opener = element("summary");
  opener.textContent = "Figures";
  const scroll = element("div", "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Figures: " + title);
  const table = element("table");
  scroll.append(table);
  details.append(opener, scroll);
  figure.append(caption, svg, ends, details);
  byId("plots").append(figure);
  const node = { summary, svg, ends, table, drawn: "" };
  plotNodes.set(name, node);
  return node;
}

// Draws bars, and a line above them if there are `others`.
function plot(name, { title, summary, label, values, others = [], ends, head, rows, top }) {
  const node = plotNode(name, title);
  const look = JSON.stringify([summary, values, others, ends]);
  if (look === node.drawn) return;
  node.drawn = look;
  node.summary.replaceChildren(...summary);
  node.svg.setAttribute("aria-label", label);
  // A few days are not drawn as wide as the whole plot. The last value is at the right.
  const count = Math.max(values.length, leastBars), height = 100, first = count - values.length;
  const most = top || Math.max(1, ...values, ...others);
  node.svg.setAttribute("viewBox", `0 0 ${count} ${height}`);
  const gap = .15;
  const bars = values.map((value, index) => {
    const tall = Math.max(0, value) / most * height;
    return svgElement("rect", { class: "mark", x: first + index + gap, y: height - tall, width: 1 - 2 * gap, height: tall });
  });
  const points = others.map((value, index) => `${first + index + .5},${height - Math.max(0, value) / most * height}`).join(" ");
  node.svg.replaceChildren(...bars, ...(points ? [svgElement("polyline", { class: "other", points })] : []));
  node.ends.replaceChildren(...ends.map(end => {
    const place = element("span");
    place.textContent = end;
    return place;
  }));
  fillTable(node.table, head, rows);
}

function fillTable(table, head, rows) {
  const line = (cells, tag) => {
    const row = element("tr");
    cells.forEach((value, index) => {
      const cell = element(index === 0 ? "th" : tag);
      cell.scope = tag === "th" ? "col" : index === 0 ? "row" : "";
      if (!cell.scope) cell.removeAttribute("scope");
      cell.textContent = value;
      row.append(cell);
    });
    return row;
  };
  const top = element("thead"), body = element("tbody");
  top.append(line(head, "th"));
  body.append(...rows.map(row => line(row, "td")));
  table.replaceChildren(top, body);
}

const percent = ratio => Math.round(ratio * 100) + " %";

// More is fetched than played when, for example, a download waits for its first play.
const savedText = bytes => bytes > 0 ? size(bytes) : "nothing yet";

function keyed(name, isSecond) {
  const node = element("span", isSecond ? "key second" : "key");
  node.textContent = name;
  return node;
}

function showPlots(days, recent) {
  const names = days.map(day => day.day);
  const ends = names.length === 0 ? ["no traffic yet", ""] : names.length < leastBars ? ["", names.at(-1)] : [names[0], names.at(-1)];
  const saved = days.map(day => day.savedBytes);
  const sum = saved.reduce((a, b) => a + b, 0);
  plot("saved", {
    title: "Saved by day", summary: [savedText(sum)], label: `Traffic saved by day: ${savedText(sum)} in ${plural(days.length, "day")}`,
    values: saved, ends, head: ["Day", "Saved", "Fetched"],
    rows: days.map(day => [day.day, savedText(day.savedBytes), size(day.counts.fetchedBytes)])
  });
  const given = days.reduce((sum, { counts }) => sum + counts.bytesFromStore + counts.bytesFromOrigin, 0);
  const ratio = given ? days.reduce((sum, { counts }) => sum + counts.bytesFromStore, 0) / given : 0;
  plot("ratio", {
    title: "Hit ratio by day", summary: [percent(ratio)], label: `Share of bytes from the store by day: ${percent(ratio)} of all`,
    values: days.map(day => day.counts.hitRatio), top: 1, ends, head: ["Day", "Hit ratio"],
    rows: days.map(day => [day.day, percent(day.counts.hitRatio)])
  });
  showThroughput(recent);
}

// Returns the mean rate of each minute of the last hour, in bytes a second. Minutes
// before the start of the server are empty.
function minutes(steps, seconds) {
  const perMinute = 60 / seconds;
  return Array.from({ length: 60 }, (_, index) => {
    const end = steps.length - (59 - index) * perMinute;
    const minute = end > 0 ? steps.slice(Math.max(0, end - perMinute), end) : [];
    return minute.reduce((a, b) => a + b, 0) / 60;
  });
}

function showThroughput({ seconds, served, fetched }) {
  const [given, taken] = [minutes(served, seconds), minutes(fetched, seconds)];
  const most = Math.max(0, ...given, ...taken);
  const rate = value => size(Math.round(value)) + "/s";
  const rows = given.map((value, index) => [`${60 - index} min ago`, rate(value), rate(taken[index])])
    .filter((_, index) => given[index] > 0 || taken[index] > 0).reverse();
  plot("throughput", {
    title: "The last hour", summary: [keyed("served"), keyed("fetched", true)],
    label: `Throughput of the last hour: at most ${rate(most)} in a minute`, values: given, others: taken,
    ends: ["1 h ago", most > 0 ? `up to ${rate(most)}` : "no traffic", "now"],
    head: ["Minute", "Served", "Fetched"], rows: rows.length ? rows : [["no traffic", "", ""]]
  });
}
