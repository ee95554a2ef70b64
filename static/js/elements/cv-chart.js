import { fetchFigure, inTurn, plotly, resolved, thin, whyNot } from "../figure.js";

/** A plotly figure from data-src: drawn when seen, again on a new theme or size, purged when removed. */
class Chart extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    this.setAttribute("aria-busy", "true");
    this.seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      this.seen.disconnect();
      this.load();
    }, { rootMargin: "200px" });
    this.seen.observe(this);
    this.sized = new ResizeObserver(() => this.later(() => this.draw()));
    document.addEventListener("cv:theme", () => this.draw(), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop.abort();
    this.seen.disconnect();
    this.sized.disconnect();
    clearTimeout(this.timer);
    if (this.plot) window.Plotly?.purge(this.plot);
    this.plot?.remove();
    this.plot = undefined;
  }

  later(action) {
    clearTimeout(this.timer);
    this.timer = setTimeout(action, 80);
  }

  async load() {
    try {
      [this.figure] = await Promise.all([fetchFigure(this.dataset.src, this.stop.signal), plotly()]);
      this.querySelector(".chart-error")?.remove();
      this.plot ??= this.appendChild(document.createElement("div"));
      this.plot.style.height = "100%";
      await inTurn(() => this.draw());
      this.listen();
      this.sized.observe(this);
    } catch (error) {
      if (!this.stop.signal.aborted) this.fail(error);
    } finally {
      this.removeAttribute("aria-busy");
    }
  }

  async draw() {
    if (!this.figure || !this.plot || !this.clientWidth) return;
    const { data, layout } = resolved(this.figure, this);
    if (this.clientWidth < 480) thin(layout.xaxis);
    const size = { ...layout, width: this.clientWidth, height: this.clientHeight };
    const options = { displaylogo: false, responsive: false, scrollZoom: false, showTips: false, doubleClick: "reset",
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"], ...(this.figure.config ?? {}) };
    await window.Plotly.react(this.plot, data, size, options);
  }

  /** A click follows the point's link, or sets the URL parameter that the figure's points stand for. */
  listen() {
    this.plot.on("plotly_click", (event) => this.follow(event.points[0]));
    for (const kind of ["plotly_treemapclick", "plotly_icicleclick", "plotly_sunburstclick"]) {
      this.plot.on(kind, (event) => this.follow(event.points[0]) ?? true);
    }
    this.points = this.figure.layout.meta?.links ?? [];
    if (this.points.length === 0) return;
    this.tabIndex = 0;
    this.addEventListener("keydown", (event) => this.walk(event), { signal: this.stop.signal });
  }

  follow(point) {
    const meta = this.figure.layout.meta ?? {};
    const link = meta.links?.[point.pointNumber ?? point.i] ?? (typeof point.customdata === "string" ? point.customdata : undefined);
    const inside = typeof link === "string" && (link.startsWith("/") || link.startsWith("?")) && !link.startsWith("//");
    if (inside) { location.assign(link); return false; }
    const param = this.dataset.param || meta.param;
    if (!param || point.x === undefined) return undefined;
    const url = new URL(location.href);
    url.searchParams.set(param, point.x);
    location.assign(url);
    return false;
  }

  /** Left and right walk the points that have links, Enter follows. */
  walk(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const last = this.points.length - 1;
      this.at = Math.min(Math.max((this.at ?? (step > 0 ? -1 : last + 1)) + step, 0), last);
      try { window.Plotly.Fx.hover(this.plot, [{ curveNumber: 0, pointNumber: this.at }]); } catch { /* not a trace with hover by number */ }
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === "Enter" && this.at !== undefined) this.follow({ pointNumber: this.at });
  }

  fail(error) {
    const line = whyNot(error);
    const again = document.createElement("button");
    again.className = "btn small";
    again.textContent = "Retry";
    again.addEventListener("click", () => { line.remove(); this.setAttribute("aria-busy", "true"); this.load(); });
    line.append(again);
    this.append(line);
  }
}
customElements.define("cv-chart", Chart);
