/** The keys of a page: rows by j and k, kinds by c, J and x, links and controls by data-key. Sits in the help dialog. */
const KINDS = { c: ["compaction", 1], C: ["compaction", -1], J: ["user", 1], K: ["user", -1], x: ["error", 1], X: ["error", -1] };

class Keys extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.dialog = this.closest("dialog");
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    const button = document.querySelector("[data-help]");
    if (button) button.hidden = false;
    button?.addEventListener("click", () => this.dialog.showModal(), { signal });
  }

  disconnectedCallback() { this.stop.abort(); }

  key(event) {
    if (event.defaultPrevented || event.isComposing) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "b" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      this.tell("Ctrl-b");
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : document.body;
    if (target.matches("input:not([type=checkbox], [type=radio], [type=file]), textarea, select, [contenteditable]")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (this.dialog?.open) { if (event.key === "?") this.dialog.close(); return; }
    if (this.act(event.key, target)) event.preventDefault();
  }

  act(key, target) {
    if (key === "?") { this.dialog?.showModal(); return true; }
    if (key === "t") { this.tell("t"); return true; }
    const field = this.named("data-key-focus", key);
    if (field) { field.focus(); field.select?.(); return true; }
    const control = this.named("data-key", key);
    if (control) { control.click(); return true; }
    if (key === "j" || key === "k") return this.step(key === "j" ? 1 : -1);
    if (key === "g" || key === "G") return this.end(key === "G");
    if (KINDS[key]) return this.step(KINDS[key][1], KINDS[key][0]);
    if (key === "Enter" && target.matches("[data-row]")) return this.open(target);
    if (key === "Escape") return this.back(target);
    return false;
  }

  named(attribute, key) {
    const value = CSS.escape(key);
    return [...document.querySelectorAll(`[${attribute}="${value}"]`)].find((element) => this.visible(element) || element.matches("[type=file]"));
  }

  visible(element) { return element.checkVisibility?.() ?? element.offsetParent !== null; }

  rows(kind) {
    const scope = document.querySelector("[data-rows]") ?? document.getElementById("main");
    const rows = scope.querySelectorAll(kind ? `[data-row][data-kind~="${kind}"]` : "[data-row]");
    return [...rows].filter((row) => this.visible(row));
  }

  /** The next row of a kind, counted from the focused or the selected one. */
  step(by, kind) {
    const rows = this.rows(kind);
    if (rows.length === 0) return false;
    const active = document.activeElement?.closest("[data-row]");
    const here = active ?? document.querySelector("[data-row][aria-current], [data-row]:target");
    const follows = (row) => here && here.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING;
    const later = rows.filter((row) => row !== here && (!here || follows(row)));
    const earlier = rows.filter((row) => row !== here && here && !follows(row));
    const next = by > 0 ? later[0] : earlier.at(-1);
    if (next) this.focusRow(next);
    else this.beyond(by);
    return true;
  }

  /** Past the last row of a list that goes on: ask its pager or its "more" link. */
  beyond(by) {
    const link = document.querySelector(by > 0 ? "[data-more], a[rel=next]" : "[data-earlier], a[rel=prev]");
    if (link?.matches("[data-more], [data-earlier]")) link.click();
  }

  end(last) {
    const rows = this.rows();
    const row = last ? rows.at(-1) : rows[0];
    if (row) this.focusRow(row);
    return Boolean(row);
  }

  focusRow(row) {
    if (!row.hasAttribute("tabindex")) row.tabIndex = -1;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  open(row) {
    const link = row.querySelector("[data-open]");
    if (link) { link.click(); return true; }
    const summary = row.querySelector("summary");
    summary?.click();
    return Boolean(summary);
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
