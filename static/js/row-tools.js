import { say } from "./say.js";

const ROWS = ".t-row[id], .c-row[id], .call-item[id]";
const SHOWN = "pre, .text, .summary";

/** The address of a row: this page's state, and the row, wherever the page was opened. */
export function addressOf(row) {
  const url = new URL(location.href);
  const message = /^m-(\d+)/.exec(row.id);
  if (message && row.matches(".t-row")) {
    for (const name of ["after", "before", "call"]) url.searchParams.delete(name);
    url.searchParams.set("message", message[1]);
  }
  url.hash = row.id;
  return url;
}

/** What a row shows, secrets masked as it shows them. */
function textOf(row) {
  const parts = [...row.querySelectorAll(SHOWN)].filter((part) => !part.parentElement.closest(SHOWN));
  return parts.map((part) => part.textContent.trim()).filter(Boolean).join("\n\n");
}

function button(icon, label) {
  const part = document.createElement("button");
  part.type = "button";
  part.className = "btn ghost small square";
  part.title = label;
  part.innerHTML = `<svg class="icon" role="img"><use/></svg>`;
  part.firstChild.setAttribute("aria-label", label);
  part.firstChild.firstChild.setAttribute("href", `${document.body.dataset.icons}#${icon}`);
  return part;
}

async function copy(part, text) {
  const use = part.querySelector("use");
  const kept = use.getAttribute("href");
  try { await navigator.clipboard.writeText(text); } catch { say("The browser did not allow copying; select the text instead.", "warning"); return; }
  use.setAttribute("href", kept.replace(/#.*/, "#check"));
  setTimeout(() => use.setAttribute("href", kept), 1500);
}

/** One small bar for the row under the pointer or the focus: a link to it, and what it shows to copy. */
export function rowTools() {
  if (!navigator.clipboard || !document.querySelector(ROWS)) return;
  const bar = document.createElement("span");
  bar.className = "row-tools";
  const link = button("link", "Copy a link to this row");
  const text = button("copy", "Copy the text shown");
  bar.append(link, text);
  link.addEventListener("click", () => {
    const url = addressOf(bar.parentElement);
    history.replaceState(history.state, "", url);
    copy(link, url.href);
  });
  text.addEventListener("click", () => copy(text, textOf(bar.parentElement)));
  const move = (event) => {
    const row = event.target instanceof Element && event.target.closest(ROWS);
    if (!row || bar.parentElement === row || (event.type === "pointerover" && bar.contains(document.activeElement))) return;
    text.hidden = !row.querySelector(SHOWN);
    row.append(bar);
  };
  document.addEventListener("pointerover", move);
  document.addEventListener("focusin", move);
}
