import { compact, numbers } from "./figure.js";

/** What the strip's figure says of one call. */
export class Table {
  constructor(figure) {
    const stacked = figure.data.filter((trace) => trace.stackgroup);
    this.calls = numbers((stacked[0] ?? figure.data[0])?.x);
    this.rows = stacked.map((trace) => ({ name: trace.name, key: trace.meta, values: numbers(trace.y) }));
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

  /** The parts of a call's window that hold something, largest first, and their sum. */
  parts(call) {
    const at = this.row(call);
    const parts = this.rows.map((row) => ({ name: row.name, key: row.key, value: row.values[at] })).filter((part) => part.value > 0);
    parts.sort((one, other) => other.value - one.value);
    return { parts, total: parts.reduce((sum, part) => sum + part.value, 0) };
  }

  /** A call's size in words. */
  size(call) {
    const { total } = this.parts(call);
    return total ? `${compact(total)} tokens` : "size unknown";
  }
}

/** The box beside the pointer: total first, the five largest, then how many more. */
export class HoverBox {
  show(table, call, x, y) {
    this.box ??= document.body.appendChild(Object.assign(document.createElement("div"), { className: "hover-box" }));
    const { parts, total } = table.parts(call);
    const lines = [this.line("total", "", `Call ${call}`, total ? `${compact(total)} tok` : "— size unknown")];
    for (const part of parts.slice(0, 5)) lines.push(this.line("", part.key, part.name, compact(part.value)));
    const rest = parts.slice(5);
    if (rest.length) lines.push(this.line("", "", `${rest.length} more`, compact(rest.reduce((sum, part) => sum + part.value, 0))));
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
