import { say } from "../say.js";

// New alerts as notifications of the browser: asked for by a click on the Alerts page, kept on this machine, and only
// while a page is open here. Every page asks, so the number of the last one that was shown is shared between them.
const EVERY_MS = 15_000, SWITCH = "contextviz-alerts", LAST = "contextviz-alerts-last";
const address = document.body.dataset.alerts;
let timer;

function kept(name) {
  try { return localStorage.getItem(name); } catch { return null; }
}

const isAble = () => "Notification" in window && window.isSecureContext;
const isOn = () => isAble() && kept(SWITCH) === "on" && Notification.permission === "granted";

function show(alert) {
  // Two pages that show the same one at once show it once: the tag is the same.
  const note = new Notification(alert.rule, { body: `${alert.title}: ${alert.sentence}`, tag: `contextviz-alert-${alert.id}` });
  note.addEventListener("click", () => { window.focus(); location.assign(alert.url); note.close(); });
}

async function ask() {
  if (!isOn()) return;
  try {
    const last = kept(LAST);
    const url = new URL(address, location.href);
    if (last !== null) url.searchParams.set("after", last);
    const answer = await fetch(url, { credentials: "same-origin", headers: { Accept: "application/json" }, redirect: "error" });
    if (answer.ok) {
      const told = await answer.json();
      localStorage.setItem(LAST, String(told.last));
      told.alerts.forEach(show);
    }
  } catch { /* no answer, signed out, or a browser that lets pages show none: the next time asks again */ }
}

function follow() {
  clearInterval(timer);
  if (!address || !isOn()) return;
  timer = setInterval(ask, EVERY_MS);
  ask();
}

/** The button that switches notifications of this browser on and off. */
class Notify extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    this.button.hidden = !isAble();
    this.button.addEventListener("click", () => this.toggle());
    this.draw();
  }

  draw() {
    this.button.setAttribute("aria-pressed", String(isOn()));
    this.button.textContent = isOn() ? "Stop notifying in this browser" : "Notify me in this browser";
  }

  async toggle() {
    try {
      if (isOn()) localStorage.removeItem(SWITCH);
      else if ((await Notification.requestPermission()) !== "granted") say("This browser lets contextviz show no notifications. Allow them for this site in its settings, then try again.", "warning");
      else {
        localStorage.setItem(LAST, this.dataset.last);
        localStorage.setItem(SWITCH, "on");
        say("New alerts are shown by this browser while a page of contextviz is open.", "success");
      }
    } catch { say("This browser keeps nothing for this site, so it cannot be switched on.", "warning"); }
    this.draw();
    follow();
  }
}
customElements.define("cv-notify", Notify);
window.addEventListener("storage", (event) => { if (event.key === SWITCH) follow(); });
follow();
