// The one module of every page: theme, side bar, requests of htmx; the elements set themselves up.
import "./elements/cv-chart.js";
import "./elements/cv-strip.js";
import "./elements/cv-lab.js";
import "./elements/cv-upload.js";
import "./elements/cv-keys.js";
import "./elements/cv-copy.js";
import "./elements/cv-follow.js";
import "./elements/cv-feed.js";
import "./elements/cv-cards.js";
import "./elements/cv-notify.js";
import "./elements/cv-find.js";
import "./elements/cv-palette.js";
import "./elements/cv-rows.js";
import { rowTools } from "./row-tools.js";
import { say } from "./say.js";

const root = document.documentElement;

/** Keep a choice on this machine; without storage it holds for the page. */
function keep(name, value) {
  try { localStorage.setItem(`contextviz-${name}`, value); } catch { /* private mode */ }
}

/** Is the page dark now, by choice or by the system? */
function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  root.dataset.theme = theme;
  keep("theme", theme);
  document.cookie = `contextviz_theme=${theme}; path=/; max-age=31536000; samesite=strict`;
  document.dispatchEvent(new CustomEvent("cv:theme"));
}

function forgetTheme() {
  try { localStorage.removeItem("contextviz-theme"); } catch { /* nothing was kept */ }
  document.cookie = "contextviz_theme=; path=/; max-age=0; samesite=strict";
}

function toggleSide() {
  const shell = document.body;
  const narrow = matchMedia("(max-width: 1100px)").matches;
  if (narrow) { shell.classList.toggle("side-open"); return; }
  shell.classList.toggle("rail");
}

const DENSITIES = ["compact", "normal", "roomy"];

function keepDensity(density) {
  keep("density", density);
  document.cookie = `contextviz_density=${density}; path=/; max-age=31536000; samesite=strict`;
}

function nextDensity() {
  const next = DENSITIES[(DENSITIES.indexOf(root.dataset.density ?? "normal") + 1) % DENSITIES.length];
  if (next === "normal") delete root.dataset.density;
  else root.dataset.density = next;
  keepDensity(next);
  say(`Rows are ${next === "roomy" ? "comfortable" : next}.`);
  document.dispatchEvent(new CustomEvent("cv:density", { detail: next }));
}

document.addEventListener("submit", (event) => {
  if (!(event.target instanceof HTMLFormElement)) return;
  if (event.target.matches("[data-theme-form]")) {
    event.preventDefault();
    toggleTheme();
  } else if (event.target.elements.theme) forgetTheme(); // the settings page decides anew
});
// The settings page's choice holds for this machine too: "as the system" forgets what the button kept.
document.addEventListener("submit", (event) => {
  if (!(event.target instanceof HTMLFormElement) || !event.target.matches("[data-theme-settings]")) return;
  const theme = new FormData(event.target).get("theme");
  if (theme === "light" || theme === "dark") keep("theme", theme);
  else try { localStorage.removeItem("contextviz-theme"); } catch { /* private mode */ }
  keepDensity(new FormData(event.target).get("density") ?? "normal");
});
document.addEventListener("cv:key", (event) => {
  if (event.detail === "t") toggleTheme();
  if (event.detail === "l") nextDensity();
  if (event.detail === "Ctrl-b") toggleSide();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.dispatchEvent(new CustomEvent("cv:theme"));
});

// A menu or filter closes when the pointer or the focus goes elsewhere, and with Escape.
const closable = "details.menu[open], details.filter[open]";
function closeMenus(except) {
  for (const menu of document.querySelectorAll(closable)) if (!menu.contains(except)) menu.open = false;
}
document.addEventListener("pointerdown", (event) => closeMenus(event.target));
document.addEventListener("focusin", (event) => closeMenus(event.target));
document.addEventListener("keydown", (event) => {
  const open = event.key === "Escape" && document.querySelector(closable);
  if (open) { open.open = false; open.querySelector("summary").focus(); event.stopImmediatePropagation(); }
}, true);

// Requests: the target says that it is busy; a failure that brings no fragment is said in #notices.
document.addEventListener("htmx:beforeRequest", (event) => event.detail.target?.setAttribute("aria-busy", "true"));
document.addEventListener("htmx:afterRequest", (event) => event.detail.target?.removeAttribute("aria-busy"));
for (const [name, text] of [
  ["htmx:sendError", "The server did not answer. Is contextviz still running? Then try again."],
  ["htmx:timeout", "The server took too long to answer. Try again."],
]) document.addEventListener(name, () => say(text, "error"));

// A result that asks for it gets the focus once, so that a reader hears where it is, and is scrolled into view.
document.addEventListener("htmx:afterSettle", () => {
  const heading = document.querySelector("[data-focus]");
  heading?.removeAttribute("data-focus");
  heading?.focus({ preventScroll: true });
  heading?.parentElement.scrollIntoView({ block: "nearest" });
});

rowTools();
