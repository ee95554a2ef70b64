// Shared by the elements that draw: fetching a figure, resolving colours, loading plotly once.

let loading;

/** Plotly, loaded with the first chart that needs it (same origin; 1.4 MB). */
export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    if (window.Plotly) { resolve(window.Plotly); return; }
    const script = document.createElement("script");
    script.src = document.body.dataset.plotly || "/static/vendor/plotly-contextviz.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { loading = undefined; reject(new Error("The chart library could not be loaded.")); };
    document.head.append(script);
  });
  return loading;
}

let turn;

/** Draw the charts of a page one after the other, each on the screen before the next: together the last one's work would
 * keep the first from being seen. */
export function inTurn(draw) {
  const shown = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 200); }); // no frames in a tab behind
  const mine = turn ? turn.then(shown).then(draw) : draw();
  turn = Promise.resolve(mine).catch(() => {});
  return mine;
}

/** The figure at an address. Throws an Error with a sentence. */
export async function fetchFigure(address, signal) {
  const answer = await fetch(address, { signal, headers: { Accept: "application/json" }, credentials: "same-origin" });
  if (!answer.ok) throw new Error(`The chart's data could not be read (status ${answer.status}).`);
  return answer.json();
}

/** The line that stands where a chart would: why there is none. */
export function whyNot(error) {
  const line = document.createElement("p");
  line.className = "chart-error";
  line.textContent = error.message;
  return line;
}

/** A copy of a figure in which each var(--name) is the colour it has at this element now. */
export function resolved(figure, element) {
  const probe = document.createElement("i");
  element.append(probe);
  const known = new Map();
  const colour = (text) => {
    if (!known.has(text)) {
      probe.style.color = text;
      known.set(text, getComputedStyle(probe).color);
    }
    return known.get(text);
  };
  const walk = (value) => {
    if (typeof value === "string") return value.includes("var(--") ? value.replace(/var\(--[\w-]+\)/g, colour) : value;
    if (Array.isArray(value)) return value.map(walk);
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, walk(v)]));
    return value;
  };
  const copy = walk({ data: figure.data, layout: figure.layout });
  probe.remove();
  copy.layout.font = { ...copy.layout.font, family: getComputedStyle(document.body).fontFamily };
  return copy;
}

const KINDS = { i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

/** The numbers of a typed array as figures hold it, or of a plain list. */
export function numbers(value) {
  if (Array.isArray(value)) return value;
  if (!value?.bdata) return [];
  const bytes = Uint8Array.from(atob(value.bdata), (letter) => letter.charCodeAt(0));
  return new KINDS[value.dtype](bytes.buffer);
}

/** Fewer labels on an axis with given ones, for a narrow screen: the first, the last, and each third between. */
export function thin(axis) {
  const values = axis?.tickvals;
  if (!Array.isArray(values) || values.length < 5) return;
  const last = values.length - 1;
  const keep = values.map((_, index) => index === last || (index % 3 === 0 && index < last - 1));
  axis.tickvals = values.filter((_, index) => keep[index]);
  axis.ticktext = axis.ticktext?.filter((_, index) => keep[index]);
}

/** A count in few digits, as the server writes it. */
export function compact(value) {
  const size = Math.abs(value);
  const text = size < 10_000 ? Math.round(size).toLocaleString("en") : size < 999_950 ? `${(size / 1000).toFixed(1)}\u00a0k` : `${(size / 1e6).toFixed(2)}\u00a0M`;
  return (value < 0 ? "−" : "") + text;
}
