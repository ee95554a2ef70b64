const MOST_PAGES = 5;

/** The transcript reads on where it stands: the page before or after is fetched into place, the far one is let go. */
class Rows extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    this.list = this.querySelector("#rows");
    if (!this.list) return;
    this.pages = [this.page(this)];
    this.addEventListener("click", (event) => {
      const link = event.target.closest("[data-earlier], [data-more]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      this.read(link.matches("[data-more]") ? 1 : -1);
    }, { signal: this.stop.signal });
  }

  disconnectedCallback() { this.stop.abort(); }

  /** What a page of the transcript brings: its rows, and the feet that lead on. */
  page(root) {
    const list = root.querySelector("#rows");
    return { rows: [...list.children], last: list.dataset.last, shown: Number(list.dataset.shown), before: root.querySelector("[data-earlier]")?.closest("p"), after: root.querySelector(":scope > .transcript-foot:last-child") };
  }

  /** Whether there is more in this direction. */
  goesOn(by) { return Boolean(this.querySelector(by > 0 ? "[data-more]" : "[data-earlier]")); }

  /** Fetch the page after (1) or before (-1) what is here; true when rows came. */
  async read(by, whole = false) {
    const link = this.querySelector(by > 0 ? "[data-more]" : "[data-earlier]");
    if (!link || this.busy) return false;
    this.busy = true;
    link.setAttribute("aria-busy", "true");
    try {
      const address = new URL(whole ? link.dataset.end : link.href, location.href);
      address.hash = "";
      address.searchParams.set("part", "transcript");
      const answer = await fetch(address, { signal: this.stop.signal, credentials: "same-origin" });
      if (!answer.ok) throw new Error(answer.status);
      const part = document.createElement("template");
      part.innerHTML = `<div>${await answer.text()}</div>`;
      this.take(this.page(part.content.firstElementChild), by, whole);
      return true;
    } catch {
      if (!this.stop.signal.aborted) location.assign(whole ? link.dataset.end : link.href); // the page itself says what is wrong
      return false;
    } finally {
      this.busy = false;
      link.removeAttribute("aria-busy");
    }
  }

  take(page, by, whole) {
    const pane = this.closest(".pane");
    const held = document.activeElement?.closest("#rows > li");
    const anchor = by > 0 ? this.list.lastElementChild : this.list.firstElementChild;
    const top = anchor?.getBoundingClientRect().top;
    const known = new Set([...this.list.children].map((row) => row.id).filter(Boolean));
    if (whole) { this.list.replaceChildren(); this.pages = []; known.clear(); }
    page.rows = page.rows.filter((row) => !known.has(row.id));
    if (by > 0) { this.list.append(...page.rows); this.pages.push(page); }
    else { this.list.prepend(...page.rows); this.pages.unshift(page); }
    while (this.pages.length > MOST_PAGES) {
      const gone = by > 0 ? this.pages.shift() : this.pages.pop();
      for (const row of gone.rows) if (row !== held) row.remove();
    }
    this.feet();
    for (const row of page.rows) window.htmx?.process(row);
    if (!whole && anchor?.isConnected && pane) pane.scrollTop += anchor.getBoundingClientRect().top - top;
    else if (pane) pane.scrollTop = by > 0 ? pane.scrollHeight : 0;
    document.dispatchEvent(new CustomEvent("cv:rows"));
  }

  /** The feet are those of the outermost pages; at the session's end, following goes on from there. */
  feet() {
    const first = this.pages[0];
    const last = this.pages.at(-1);
    this.querySelector("[data-earlier]")?.closest("p").remove();
    if (first.before) this.prepend(first.before);
    this.querySelector(":scope > .transcript-foot:last-child")?.remove();
    if (last.after) this.append(last.after);
    const said = last.after?.querySelector("span");
    const shown = this.pages.reduce((sum, page) => sum + page.shown, 0);
    if (said) said.textContent = said.textContent.replace(/^[\d,]+ messages?/, `${shown.toLocaleString("en")} message${shown === 1 ? "" : "s"}`);
    const follow = document.querySelector("cv-follow");
    if (!follow) return;
    if (this.goesOn(1)) delete follow.dataset.end;
    else if (!("end" in follow.dataset)) { follow.dataset.end = ""; follow.last = Number(last.last); }
  }
}
customElements.define("cv-rows", Rows);
