"use strict";
// The first minute of the demo, and the switches of its origin. The switches are the
// origin's own, at another port of this machine.
let switches = null;
let origin = null;
const passed = [false, false, false, false];

function setUpDemo() {
  for (const button of document.querySelectorAll("[data-switch]")) {
    button.onclick = () => setSwitch(button.dataset.switch, button.getAttribute("aria-pressed") !== "true");
  }
}

async function setSwitch(name, isOn) {
  try {
    const response = await fetch(`${switches}/${name}?on=${isOn ? 1 : 0}`, { method: "POST", headers: { "Spool-Demo": "1" } });
    if (!response.ok) throw new Error(await response.text());
    showSwitches(await response.json());
  } catch (error) {
    text(byId("switch-state"), "The switches of the origin do not answer: " + error.message);
  }
}

function showSwitches(state) {
  origin = state;
  for (const button of document.querySelectorAll("[data-switch]")) {
    button.setAttribute("aria-pressed", String(state[button.dataset.switch]));
  }
  text(document.querySelector("[data-switch=stopped]"), state.stopped ? "Start the origin" : "Stop the origin");
  const parts = [];
  if (state.stopped) parts.push("does not answer");
  else {
    if (state.slow) parts.push("is slower than the music");
    if (state.wrong) parts.push("sends a web page instead of music, as a hotel's network does");
  }
  showSteps();
  text(byId("switch-state"), parts.length ? "The origin " + parts.join(" and ") + "." : "The origin works.");
}

function showDemo(answer) {
  if (!answer.demoSwitches) return;
  if (!switches) {
    switches = answer.demoSwitches;
    byId("guide").hidden = false;
    askSwitches();
  }
  showSteps();
}

function showSteps() {
  if (!switches) return;
  const stored = [...cards.values()].filter(card => card.id.startsWith("demo ") && card.resource).map(card => card.resource);
  const isPlaying = current !== null && current.id.startsWith("demo ") && !player.paused && player.readyState >= 3;
  passed[0] ||= stored.some(resource => resource.storedBytes > 0);
  passed[1] ||= stored.some(resource => resource.stored.length > 1);
  passed[2] ||= passed[0] && isPlaying && origin?.stopped === true;
  passed[3] ||= passed[2] && origin?.stopped === false && stored.some(resource => resource.fetches > 0 || resource.complete);
  const next = passed.indexOf(false);
  [...byId("steps").children].forEach((step, index) => {
    step.classList.toggle("done", passed[index]);
    if (index === next) step.setAttribute("aria-current", "step"); else step.removeAttribute("aria-current");
  });
}

async function askSwitches() {
  try {
    const response = await fetch(switches + "/", { headers: { "Spool-Demo": "1" } });
    if (!response.ok) throw new Error(await response.text());
    showSwitches(await response.json());
  } catch (error) {
    text(byId("switch-state"), "The switches of the origin do not answer: " + error.message);
  }
}
