import { compact, numbers } from "./figure.js";

const OVER = /, over the report$/;
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toLocaleString("en")}`;

/** What the strip's figure says of one call. */
export class Table {
  constructor(figure) {
    const stacked = figure.data.filter((trace) => trace.stackgroup);
    this.calls = numbers(figure.layout.meta?.calls ?? (stacked[0] ?? figure.data[0])?.x);
    // What of a category hangs over the reported prompt is a trace of its own.
    this.rows = stacked.map(({ name, meta, y }) => ({ name: name.replace(OVER, ""), key: meta.replace(/^over-/, ""), over: meta.startsWith("over-"), values: numbers(y) }));
  }

  /** The row that a call falls in: the last one at or before it. */
  row(call) {
    let low = 0;
    let high = Math.max(this.calls.length - 1, 0);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.calls[middle] <= call) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The parts of a call's window that hold something, largest first, the signed residual, and both together. */
  parts(call) {
    const at = this.row(call);
    const found = {};
    let [residual, total] = [0, 0];
    for (const { name, key, over, values } of this.rows.filter((row) => row.values[at] > 0)) {
      if (over) residual -= values[at];
      else total += values[at];
      if (key === "residual") residual += values[at];
      else found[key] = { name, key, value: (found[key]?.value ?? 0) + values[at] };
    }
    return { parts: Object.values(found).sort((one, other) => other.value - one.value), total, residual };
  }

  /** A call's size in words. */
  size(call) {
    const { total, residual } = this.parts(call);
    if (!total) return "size unknown";
    const over = residual < 0 ? `, its parts ${(-residual).toLocaleString("en")} more than was reported` : "";
    return `${compact(total)} tokens${over}`;
  }
}

/** The box beside the pointer: total first, the five largest, how many more, and the signed residual. */
export class HoverBox {
  show(table, call, x, y) {
    this.box ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "hover-box" }));
    const { parts, total, residual } = table.parts(call);
    const lines = [this.line("total", "", `Call ${table.calls[table.row(call)] ?? call}`, total ? `${compact(total)} tok` : "— size unknown")];
    for (const part of parts.slice(0, 5)) lines.push(this.line("", part.key, part.name, compact(part.value)));
    const rest = parts.slice(5);
    if (rest.length) lines.push(this.line("", "", `${rest.length} more`, compact(rest.reduce((sum, part) => sum + part.value, 0))));
    if (residual) lines.push(this.line("", "", "Residual", signed(residual)));
    this.box.replaceChildren(...lines);
    const width = this.box.offsetWidth;
    this.box.style.left = `${x + 12 + width > innerWidth ? x - 12 - width : x + 12}px`;
    this.box.style.top = `${y}px`;
  }

  line(className, key, name, value) {
    const row = document.createElement("p");
    row.className = className;
    const mark = key ? Object.assign(document.createElement("i"), { className: `swatch c-${key}` }) : "";
    row.append(mark, name, Object.assign(document.createElement("span"), { textContent: value }));
    return row;
  }

  hide() {
    this.box?.remove();
    this.box = undefined;
  }
}
