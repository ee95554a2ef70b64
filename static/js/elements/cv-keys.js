import { hints } from "../hints.js";
import { addressOf } from "../row-tools.js";

/** The keys of a page: rows by j and k, kinds by letters, links and controls by data-key. Sits in the help dialog. */
const KINDS = { c: "compaction", j: "user", x: "error", u: "subagent agent_spawn", m: "miss", d: "difference" };
const TOLD = { t: "t", l: "l" };
const FIELDS = "input:not([type=checkbox], [type=radio], [type=file]), textarea, select, [contenteditable]";

/** "J" goes on and "K" back by prompts; of the other kinds small goes on and capital back. */
function kindOf(key) {
  if (key === "J" || key === "K") return ["user", key === "J" ? 1 : -1];
  const small = key.toLowerCase();
  return KINDS[small] && small !== "j" ? [KINDS[small], key === small ? 1 : -1] : undefined;
}

class Keys extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.dialog = this.closest("dialog");
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    document.addEventListener("cv:key", (event) => { if (event.detail === "?") this.help(); }, { signal });
    const button = document.querySelector("[data-help]");
    if (button) button.hidden = false;
    button?.addEventListener("click", () => this.help(), { signal });
    const tell = hints();
    for (const name of ["focusin", "focusout", "htmx:afterSettle", "cv:rows"]) document.addEventListener(name, tell, { signal });
    tell();
  }

  disconnectedCallback() { this.stop.abort(); }

  help() { if (!this.dialog.open) this.dialog.showModal(); }

  key(event) {
    if (event.defaultPrevented || event.isComposing) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.metaKey || event.altKey) {
      if (!event.shiftKey && !event.altKey && this.chord(event.key.toLowerCase(), target)) event.preventDefault();
      return;
    }
    if (target.matches(FIELDS)) {
      if (event.key === "Escape" && !target.closest("dialog")) { event.preventDefault(); target.blur(); } // a search field would empty itself
      return;
    }
    if (this.dialog?.open) { if (event.key === "?") this.dialog.close(); return; }
    if (target.closest("dialog")) return;
    if (this.act(event.key, target)) event.preventDefault();
  }

  chord(key, target) {
    if (key === "b" && !target.matches(FIELDS)) { this.tell("Ctrl-b"); return true; }
    const field = key === "f" && this.named("data-key-focus", "/");
    if (!field || field === target) return false; // pressed once more, it is the browser's own
    this.enter(field);
    return true;
  }

  act(key, target) {
    if (key === "?") { this.help(); return true; }
    if (TOLD[key]) { this.tell(key); return true; }
    const field = this.named("data-key-focus", key);
    if (field) { this.enter(field); return true; }
    if (key === "/") { document.dispatchEvent(new CustomEvent("cv:palette")); return true; }
    const step = { "[": document.body.dataset.newer, "]": document.body.dataset.older }[key];
    if (step) { location.assign(step); return true; }
    const control = this.named("data-key", key);
    if (control) { control.click(); return true; }
    if (key === "j" || key === "k") return this.step(key === "j" ? 1 : -1);
    if (key === "g" || key === "G") return this.end(key === "G");
    const kind = kindOf(key);
    if (kind) return this.step(kind[1], kind[0]);
    if (key === "Enter" && target.matches("[data-row]")) return this.open(target);
    return key === "Escape" && this.back(target);
  }

  enter(field) { field.focus(); field.select?.(); }

  named(attribute, key) {
    return [...document.querySelectorAll(`[${attribute}="${CSS.escape(key)}"]`)].find((one) => this.visible(one) || one.matches("[type=file]"));
  }

  visible(element) { return element.checkVisibility?.() ?? element.offsetParent !== null; }

  get scope() { return document.querySelector("[data-rows]") ?? document.getElementById("main"); }

  /** The rows of a kind; where the page's list has none, those beside it. */
  rows(kinds) {
    const find = (scope) => [...scope.querySelectorAll(kinds ? kinds.split(" ").map((kind) => `[data-row][data-kind~="${kind}"]`).join() : "[data-row]")].filter((row) => this.visible(row));
    const found = find(this.scope);
    return found.length ? found : find(document.getElementById("main"));
  }

  /** Whether a row, or its beginning, is seen where the page stands now. */
  inView(row) {
    const top = row.getBoundingClientRect().top;
    const box = (row.closest(".pane, .table-wrap") ?? document.getElementById("main")).getBoundingClientRect();
    return top >= Math.max(box.top, 0) - 1 && top < Math.min(box.bottom, innerHeight);
  }

  /** The next row of a kind, counted from the focused or the selected one; true where there are any. The first key of
   *  a page goes to the selected row itself, or the first in view; to the nearest of a kind where none is further on. */
  step(by, kinds) {
    const rows = this.rows(kinds);
    const more = this.more(by);
    if (rows.length === 0 && !(kinds && more)) return false;
    const held = document.activeElement?.closest("[data-row]");
    const here = held ?? document.querySelector("[data-row][aria-current], [data-row]:target");
    if (!held && !kinds) {
      const isSeen = rows.includes(here) && this.inView(here);
      if (by > 0 || !isSeen) { this.focusRow(isSeen ? here : rows.find((row) => this.inView(row)) ?? rows[0]); return true; }
    }
    const follows = (row) => here && here.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING;
    const next = by > 0
      ? rows.find((row) => row !== here && (!here || follows(row)))
      : rows.findLast((row) => row !== here && here && !follows(row));
    if (next) this.focusRow(next);
    else if (more) this.beyond(by, kinds, more);
    else if (!held) this.focusRow(by > 0 ? rows.at(-1) : rows[0]);
    return true;
  }

  /** What goes on past the rows that are here: the transcript's own pages, or a link to the next page. */
  more(by) {
    const rows = document.querySelector("cv-rows");
    if (rows && this.scope.contains(rows)) return rows.goesOn(by) ? rows : undefined;
    return this.scope.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]") ?? undefined;
  }

  async beyond(by, kinds, more) {
    if (more.matches("a")) { more.click(); return; }
    for (let pages = 0; pages < 20; pages += 1) { // of a kind that is rare: not the whole session
      if (!(await more.read(by))) return;
      const here = document.activeElement?.closest("[data-row]");
      const rows = this.rows(kinds);
      const next = by > 0
        ? rows.find((row) => !here || (row !== here && here.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING))
        : rows.findLast((row) => here && row !== here && here.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_PRECEDING);
      if (next) { this.focusRow(next); return; }
      if (!more.goesOn(by)) return;
    }
  }

  end(last) {
    const more = this.more(last ? 1 : -1);
    const go = () => { const rows = this.rows(); if (rows.length) this.focusRow(last ? rows.at(-1) : rows[0]); return rows.length > 0; };
    if (!more?.matches("cv-rows")) return go();
    more.read(last ? 1 : -1, true).then(go);
    return true;
  }

  focusRow(row) {
    if (!row.hasAttribute("tabindex")) row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
    if (row.matches(".t-row[id], .call-item[id]")) history.replaceState(history.state, "", addressOf(row));
  }

  open(row) {
    const link = row.querySelector("[data-open]");
    const summary = row.querySelector("summary");
    (link ?? summary)?.click();
    return Boolean(link ?? summary);
  }

  back(target) {
    if (target.closest("[data-row]")) { target.blur(); return true; }
    const link = document.querySelector("[data-back]");
    link?.click();
    return Boolean(link);
  }

  tell(name) { document.dispatchEvent(new CustomEvent("cv:key", { detail: name })); }
}
customElements.define("cv-keys", Keys);
