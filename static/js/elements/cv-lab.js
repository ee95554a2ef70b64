import { compact, fetchFigure, inTurn, numbers, plotly, resolved, thin, whyNot } from "../figure.js";
import { callAt, drag, overlay, stepped } from "../scrub.js";

const NARROW = 700;

/** The Lab's scrubber: plotly draws a lane a run once; the play-head and a what-if's cuts are light overlays on its axis. */
class Lab extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.track = this.querySelector(".track");
    this.plot = this.querySelector(".plot");
    this.first = 1;
    this.last = Number(this.dataset.calls) || 1;
    this.call = Number(this.dataset.call) || this.last;
    this.marks = [];
    [this.head, this.cursor, this.tried] = ["head", "cursor", "tried"].map((name) => overlay(this.track, name));
    this.place();
    this.track.addEventListener("keydown", (event) => this.key(event), { signal });
    document.addEventListener("keydown", (event) => { if (this.meta && event.shiftKey && /^Arrow(Left|Right)$/.test(event.key) && !event.target.closest?.("input, textarea, select, dialog")) this.key(event); }, { signal, capture: true });
    this.track.addEventListener("pointerdown", (event) => this.press(event), { signal });
    this.track.addEventListener("pointermove", (event) => this.hover(event), { signal });
    this.track.addEventListener("pointerleave", () => { this.cursor.hidden = true; }, { signal });
    document.addEventListener("cv:theme", () => this.draw(), { signal });
    document.addEventListener("htmx:afterSettle", () => this.follow(), { signal });
    document.addEventListener("input", (event) => this.tell(event), { signal });
    this.sized = new ResizeObserver(() => { clearTimeout(this.timer); this.timer = setTimeout(() => this.draw(), 60); });
    this.load();
  }

  disconnectedCallback() {
    this.stop.abort();
    this.sized.disconnect();
    clearTimeout(this.timer);
    clearTimeout(this.asking);
    if (this.plot) window.Plotly?.purge(this.plot);
    for (const part of this.track.querySelectorAll("i")) part.remove();
  }

  async load() {
    try {
      [this.figure] = await Promise.all([fetchFigure(this.dataset.src, this.stop.signal), plotly()]);
      const meta = this.figure.layout.meta ?? {};
      this.first = meta.first ?? 1;
      this.last = meta.last ?? this.last;
      this.meta = meta;
      const marks = this.figure.data.filter((trace) => trace.meta === "boundary").flatMap((trace) => [...numbers(trace.x)]);
      this.marks = [...new Set(marks)].sort((one, other) => one - other);
      this.track.setAttribute("aria-valuemin", this.first);
      this.track.setAttribute("aria-valuemax", this.last);
      await inTurn(() => this.draw());
      this.sized.observe(this);
    } catch (error) {
      if (this.stop.signal.aborted) return;
      this.plot.replaceChildren(whyNot(error));
    } finally {
      this.removeAttribute("aria-busy");
      this.place();
      this.follow();
    }
  }

  async draw() {
    if (!this.figure || !this.clientWidth) return;
    const { data, layout } = resolved(this.figure, this);
    if (innerWidth <= NARROW) {
      thin(layout.xaxis);
      layout.margin = { ...layout.margin, r: 14 };
      layout.annotations = layout.annotations?.filter((note) => note.name !== "edge");
    }
    this.style.setProperty("--left", `${layout.margin.l}px`);
    this.style.setProperty("--right", `${layout.margin.r}px`);
    this.style.setProperty("--bottom", `${layout.margin.b}px`);
    this.style.setProperty("--top", `${layout.margin.t}px`);
    await window.Plotly.react(this.plot, data, { ...layout, width: this.clientWidth, height: this.clientHeight }, { staticPlot: true, displayModeBar: false });
    this.place();
  }

  percent(call) { return ((call + 0.5 - this.first) / (this.last + 1 - this.first)) * 100; }

  place() {
    this.head.hidden = false;
    this.head.dataset.name = `call ${this.call.toLocaleString("en")}`;
    const at = this.percent(Math.min(Math.max(this.call, this.first), this.last));
    this.head.style.left = `${at}%`;
    this.head.classList.toggle("at-left", at < 6);
    this.head.classList.toggle("at-right", at > 94);
  }

  callAt(event) { return callAt(this.track, this.first, this.last, event); }

  press(event) { drag(this.track, event, (move) => this.set(this.callAt(move))); }

  hover(event) {
    if (event.pointerType === "touch") return;
    this.cursor.hidden = false;
    this.cursor.style.left = `${this.percent(this.callAt(event))}%`;
  }

  key(event) {
    const call = stepped(event, this.call, this.first, this.last, this.marks);
    if (call !== undefined) this.set(call);
  }

  /** Move the play-head: at once on screen and in the URL; what stands under it follows when it rests. */
  set(call) {
    if (this.call === call) return;
    this.call = call;
    this.place();
    const url = new URL(location.href);
    for (const name of ["from", "boundary", "node"]) url.searchParams.delete(name);
    url.searchParams.set("call", call);
    if (this.dataset.runs && !url.searchParams.has("run")) url.searchParams.set("runs", this.dataset.runs); // whatever is replayed later
    url.hash = "";
    history.replaceState(history.state, "", url);
    this.track.setAttribute("aria-valuenow", call);
    this.track.setAttribute("aria-valuetext", `call ${call} of ${this.last}`);
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.ask(), 120);
  }

  ask() {
    const target = this.dataset.target;
    if (!window.htmx || !document.querySelector(target)) return;
    window.htmx.ajax("GET", location.pathname + location.search, { source: this, target, swap: "outerHTML" });
  }

  /** What stands under the play-head was changed, by this or by a link in it. */
  follow() {
    const at = document.querySelector(this.dataset.target);
    const call = Number(at?.dataset.call);
    if (call) {
      this.call = call;
      this.place();
      this.track.setAttribute("aria-valuenow", call);
      this.track.setAttribute("aria-valuetext", at.dataset.said);
    }
    this.overlayTried();
  }

  /** The cuts and the limit of a what-if, over the lane of the run that it starts from. */
  overlayTried() {
    const found = document.querySelector("#lab-tried[data-tried]");
    const calls = (found?.dataset.tried || "").split(",").filter(Boolean).map(Number);
    this.tried.hidden = !found || !this.meta || (calls.length === 0 && !found.dataset.limit);
    if (this.tried.hidden) return;
    const { lanes, area, top } = this.meta;
    const lane = Number(found.dataset.lane) - 1;
    this.tried.style.top = `${(lane / lanes) * 100}%`;
    this.tried.style.height = `${100 / lanes}%`;
    const parts = calls.map((call) => {
      const part = document.createElement("i");
      part.className = "cut-mark";
      part.style.left = `${((call - this.first) / (this.last + 1 - this.first)) * 100}%`;
      return part;
    });
    const limit = Number(found.dataset.limit);
    if (limit && limit <= top) {
      const line = document.createElement("i");
      line.className = "limit";
      line.dataset.name = `${compact(limit)} tok`;
      line.style.bottom = `${(area[0] + (area[1] - area[0]) * (limit / top)) * 100}%`;
      parts.push(line);
    }
    this.tried.replaceChildren(...parts);
  }

  /** A slider says its number while it is dragged. */
  tell(event) {
    const field = event.target;
    if (!(field instanceof HTMLInputElement) || field.type !== "range") return;
    const output = field.parentElement.querySelector("output");
    if (output) output.textContent = Number(field.value).toLocaleString("en");
  }
}
customElements.define("cv-lab", Lab);
