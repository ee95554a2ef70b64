/** What scrolls the transcript: its pane, on a narrow screen the grid round it. */
function scroller(part) {
  const pane = part?.closest(".pane");
  return pane && getComputedStyle(pane).overflowY === "visible" ? pane.parentElement : pane;
}

/** Follows a session that grows: the stream says that something changed, a fragment says what. Rows are added after
 *  the last one or replace those with the same id; folds, focus and scroll stay; B follows while it is at the last call. */
class Follow extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    this.last = Number(this.dataset.last);
    this.revision = Number(this.dataset.revision);
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()), { signal: this.stop.signal });
    document.addEventListener("cv:call", (event) => this.show(event.detail), { signal: this.stop.signal });
    if (!document.hidden) this.open();
    this.wait();
    const b = Number(this.strip?.dataset.b);
    if (b && !location.hash && !/[?&](after|before)=/.test(location.search)) this.show({ name: "b", call: b });
  }

  disconnectedCallback() {
    this.stop.abort();
    clearTimeout(this.quiet);
    this.close();
  }

  open() {
    if (this.source) return;
    const address = new URL(this.dataset.src, location.href);
    address.searchParams.set("after", this.revision);
    this.source = new EventSource(address);
    this.source.addEventListener("revision", (event) => this.changed(Number(event.data)));
    this.source.addEventListener("gone", () => this.close());
  }

  close() {
    this.source?.close();
    this.source = undefined;
  }

  get strip() { return document.querySelector("cv-strip"); }

  /** Whether B is on the last call by itself: it was not set by the address, or it stands at the end. */
  get follows() {
    const b = new URL(location.href).searchParams.get("b");
    return !b || Number(b) >= (this.strip?.last ?? 0);
  }

  async changed(revision) {
    if (this.busy) { this.again = revision; return; }
    if (revision === this.revision) return;
    this.busy = true;
    try {
      let more = true;
      while (more && !this.stop.signal.aborted) more = await this.take();
    } catch { /* the next event asks again */ } finally {
      this.busy = false;
    }
    const again = this.again;
    this.again = undefined;
    if (again && again !== this.revision) this.changed(again);
  }

  async take() {
    const here = new URL(location.href).searchParams;
    const address = new URL(this.dataset.fresh, location.href);
    for (const name of ["agent", "a", "b"]) if (here.get(name)) address.searchParams.set(name, here.get(name));
    address.searchParams.set("after", this.last);
    const follows = this.follows;
    if (follows) address.searchParams.set("follow", "1");
    const answer = await fetch(address, { signal: this.stop.signal, headers: { "HX-Request": "true" }, credentials: "same-origin" });
    if (!answer.ok) return false;
    const part = document.createElement("template");
    part.innerHTML = await answer.text();
    const state = part.content.querySelector("#follow-state");
    state?.remove();
    // A play-head that was moved meanwhile has brought its own.
    const moves = ["a", "b"].some((name) => new URL(location.href).searchParams.get(name) !== here.get(name));
    if (moves) part.content.querySelectorAll("#readout, #inspector").forEach((one) => one.remove());
    this.apply([...part.content.children]);
    this.wait();
    if (state) this.count(Number(state.dataset.added), Number(state.dataset.total));
    const moved = Number(state?.dataset.last) > this.last;
    this.last = Number(state?.dataset.last ?? this.last);
    this.revision = Number(state?.dataset.revision ?? this.revision);
    this.redraw(follows, Number(state?.dataset.calls));
    return moved && state.hasAttribute("data-more-rows");
  }

  apply(parts) {
    const list = document.getElementById("rows");
    const pane = scroller(list);
    const atEnd = pane && pane.scrollHeight - pane.scrollTop - pane.clientHeight < 80;
    for (const fresh of parts) {
      const id = fresh.id || fresh.firstElementChild?.id;
      const found = id && document.getElementById(id);
      const old = found && fresh.matches("li") ? found.closest("li") : found;
      if (old) this.replace(old, fresh);
      else if (fresh.matches("li") && "end" in this.dataset) list?.append(fresh);
      else continue;
      window.htmx?.process(fresh);
    }
    if (atEnd) pane.scrollTop = pane.scrollHeight;
  }

  replace(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    const within = "a, button, input, summary, [tabindex]", top = old.scrollTop;
    const at = [...old.querySelectorAll(within)].indexOf(document.activeElement);
    const open = [...old.querySelectorAll("details")].map((details) => details.open);
    fresh.querySelectorAll("details").forEach((details, index) => { details.open = open[index] ?? false; });
    const call = old.querySelector(".call > a");
    if (call && !fresh.querySelector(".call > a")) fresh.querySelector(".call")?.append(call);
    const focused = old === document.activeElement || old.contains(document.activeElement);
    old.replaceWith(fresh);
    fresh.scrollTop = top;
    if (at >= 0) fresh.querySelectorAll(within)[at]?.focus({ preventScroll: true });
    else if (focused && fresh.tabIndex === -1) fresh.focus({ preventScroll: true });
  }

  redraw(follows, calls) {
    const strip = this.strip;
    if (!strip) { if (calls) location.reload(); return; }
    if (follows && calls) { strip.b = calls; this.mark(calls); }
    strip.load();
  }

  /** The row of the call that B stands on is the current one; nothing scrolls. */
  mark(call) {
    for (const old of document.querySelectorAll("#rows > [aria-current]")) old.removeAttribute("aria-current");
    const row = document.getElementById(`call-${call}`)?.closest("li");
    row?.setAttribute("aria-current", "true");
    return row;
  }

  /** The line under the transcript counts what was added. */
  count(added, total) {
    const line = document.querySelector(".transcript-foot > [data-shown]");
    if (!line) return;
    const shown = Number(line.dataset.shown) + ("end" in this.dataset ? added : 0);
    line.dataset.shown = shown;
    line.textContent = `${shown.toLocaleString("en")} message${shown === 1 ? "" : "s"} shown, ${total.toLocaleString("en")} in the session`;
  }

  /** While the head says that the session grows it is asked for again once that may be over. */
  wait() {
    clearTimeout(this.quiet);
    if (!document.querySelector("#session-name[data-state=running]")) return;
    this.quiet = setTimeout(() => { if (!document.hidden && !this.busy) this.take().catch(() => {}); }, 301_000);
  }

  /** The transcript shows the call that B stands on, where it is on this page. */
  show({ name, call }) {
    if (name !== "b") return;
    const row = this.mark(call);
    const pane = scroller(row);
    // The pane alone: scrollIntoView would also move what round it is not meant to scroll.
    if (pane) pane.scrollTop += row.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 2;
  }
}
customElements.define("cv-follow", Follow);
