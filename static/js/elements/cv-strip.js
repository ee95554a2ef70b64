import { fetchFigure, numbers, plotly, resolved, thin, whyNot } from "../figure.js";
import { callAt, drag, isFree, overlay, stepped } from "../scrub.js";
import { HoverBox, Table } from "../strip-table.js";

const NARROW = 700;
const calls = (first, last) => Array.from({ length: last + 1 - first }, (_, at) => first + at);

/** The context strip: plotly draws the areas once; play-heads, cursor and readout are light overlays on the same axis. */
class Strip extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.track = this.querySelector(".track");
    this.plot = this.querySelector(".plot");
    this.last = Number(this.dataset.calls) || 1;
    this.first = 1;
    this.own = calls(1, this.last);
    this.marks = (this.dataset.compactions || "").split(",").filter(Boolean).map((call, index) => [Number(call), index + 1]);
    this.a = Number(this.dataset.a) || undefined;
    this.b = Number(this.dataset.b) || undefined;
    this.box = new HoverBox();
    this.cursor = overlay(this.track, "cursor");
    this.heads = { a: overlay(this.track, "head a"), b: overlay(this.track, "head b") };
    this.heads.a.dataset.name = "A";
    this.heads.b.dataset.name = "B";
    this.place();
    this.track.addEventListener("keydown", (event) => this.key(event), { signal });
    if (this.dataset.inspector) document.addEventListener("keydown", (event) => this.anywhere(event), { signal });
    this.track.addEventListener("pointerdown", (event) => this.press(event), { signal });
    this.track.addEventListener("pointermove", (event) => this.hover(event), { signal });
    this.track.addEventListener("pointerleave", () => this.unhover(), { signal });
    document.addEventListener("cv:theme", () => this.draw(), { signal });
    this.sized = new ResizeObserver(() => { clearTimeout(this.timer); this.timer = setTimeout(() => this.draw(), 60); });
    this.load();
  }

  disconnectedCallback() {
    this.stop.abort();
    this.sized.disconnect();
    clearTimeout(this.timer);
    clearTimeout(this.asking);
    if (this.plot) window.Plotly?.purge(this.plot);
    this.box.hide();
    for (const part of this.querySelectorAll(".head, .cursor")) part.remove();
  }

  async load() {
    try {
      [this.figure] = await Promise.all([fetchFigure(this.dataset.src, this.stop.signal), plotly()]);
      const meta = this.figure.layout.meta ?? {};
      this.first = meta.first ?? 1;
      this.last = meta.last ?? this.last;
      this.marks = meta.compactions ?? this.marks;
      this.table = new Table(this.figure);
      this.own = meta.calls ? numbers(meta.calls) : calls(this.first, this.last);
      this.even = meta.even; // side by side, where a sub-agent's numbers have gaps
      this.draw();
      this.sized.observe(this);
    } catch (error) {
      if (this.stop.signal.aborted) return;
      this.plot.replaceChildren(whyNot(error));
    } finally {
      this.removeAttribute("aria-busy");
      this.place();
    }
  }

  draw() {
    if (!this.figure || !this.clientWidth) return;
    const { data, layout } = resolved(this.figure, this);
    const style = getComputedStyle(this);
    layout.margin = { ...layout.margin, l: parseFloat(style.getPropertyValue("--left")), r: parseFloat(style.getPropertyValue("--right")) };
    layout.width = this.clientWidth;
    layout.height = this.clientHeight;
    if (layout.margin.r < 60) layout.annotations = layout.annotations?.filter((note) => note.name !== "edge");
    if (innerWidth <= NARROW) thin(layout.xaxis);
    window.Plotly.react(this.plot, data, layout, { staticPlot: true, displayModeBar: false });
    this.place();
  }

  /** A call stands in the middle of its step, in percent of the track. */
  percent(call) {
    const [at, count] = this.even ? [this.at(call), this.own.length] : [call - this.first, this.last + 1 - this.first];
    return ((at + 0.5) / count) * 100;
  }

  /** Which of the window's own calls a call is, or the one before it. */
  at(call) { return Math.max(this.own.findLastIndex((own) => own <= call), 0); }

  place() {
    const near = this.a !== undefined && this.b !== undefined && Math.abs(this.percent(this.a) - this.percent(this.b)) * this.track.clientWidth < 1600;
    for (const [name, head] of Object.entries(this.heads)) {
      const call = this[name];
      head.hidden = call === undefined;
      if (call === undefined) continue;
      head.style.left = `${this.percent(call)}%`;
      head.classList.toggle("near", near);
    }
  }

  callAt(event) { return this.own[this.even ? callAt(this.track, 0, this.own.length - 1, event) : this.at(callAt(this.track, this.first, this.last, event))]; }

  press(event) {
    const name = event.shiftKey ? "a" : "b";
    drag(this.track, event, (move) => this.set(name, this.callAt(move)));
  }

  key(event) {
    const at = stepped(event, this.at(this.b ?? this.last), 0, this.own.length - 1, this.marks.map(([call]) => this.at(call)));
    if (at !== undefined) this.set("b", this.own[at]);
  }

  /** On the session's page the arrows move B from wherever the focus is; a row gives it up, so that j goes on from B. */
  anywhere(event) {
    if (!isFree(event)) return;
    this.key(event);
    event.target.closest("[data-row]")?.blur();
  }

  /** Move a play-head: at once on screen, in the URL, and to whoever listens; the inspector follows when it rests. */
  set(name, call) {
    if (this[name] === call) return;
    this[name] = call;
    this.place();
    const url = new URL(location.href);
    url.searchParams.set(name, call);
    history.replaceState(history.state, "", url);
    if (name === "b") {
      this.track.setAttribute("aria-valuenow", call);
      this.track.setAttribute("aria-valuetext", this.words(call));
    }
    this.dispatchEvent(new CustomEvent("cv:call", { bubbles: true, detail: { name, call, a: this.a, b: this.b } }));
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.ask(), 120);
  }

  ask() {
    if (this.dataset.go) {
      const page = new URL(this.dataset.go.replace("/calls/0/", `/calls/${this.b}/`), location.href);
      if (this.a !== undefined) page.searchParams.set("a", this.a);
      location.assign(page);
      return;
    }
    const target = this.dataset.target;
    if (!this.dataset.inspector || !window.htmx || !document.querySelector(target)) return;
    const url = new URL(this.dataset.inspector, location.href);
    if (this.a !== undefined) url.searchParams.set("a", this.a);
    if (this.b !== undefined) url.searchParams.set("b", this.b);
    window.htmx.ajax("GET", url.pathname + url.search, { source: this, target, swap: "outerHTML" });
  }

  words(call) {
    const last = this.marks.findLast(([at, number]) => number && at <= call);
    const since = last ? `, ${call - last[0] + 1} after compaction ${last[1]}` : "";
    return `call ${call} of ${this.last}, ${this.table?.size(call) ?? "size unknown"}${since}`;
  }

  hover(event) {
    if (event.pointerType === "touch" || !this.table) return;
    const call = this.callAt(event);
    this.cursor.hidden = false;
    this.cursor.style.left = `${this.percent(call)}%`;
    const track = this.track.getBoundingClientRect();
    this.box.show(this.table, call, track.left + (this.percent(call) / 100) * track.width, track.top + 20);
  }

  unhover() {
    this.cursor.hidden = true;
    this.box.hide();
  }
}
customElements.define("cv-strip", Strip);
