import { Line } from "../feed-line.js";

const MOST_ROWS = 500;
const WORDS = {
  connected: "connected",
  polling: "no stream; asking every 2 seconds",
  away: "the server does not answer; trying again",
};

/** A form of times in the person's zone; in the browser's, where it does not know that one. */
function formOf(options, timeZone) {
  try { return new Intl.DateTimeFormat("en-GB", { ...options, timeZone }); } catch { return new Intl.DateTimeFormat("en-GB", options); }
}

/** Hours, minutes and seconds, behind the date where it is not today's, as the server writes them. */
function clockOf(timeZone) {
  const clock = formOf({ timeStyle: "medium" }, timeZone), date = formOf({ day: "numeric", month: "short", year: "numeric" }, timeZone);
  return (moment) => {
    const [day, month, year] = date.format(moment).split(" "), today = date.format(new Date()).split(" ");
    const time = clock.format(moment);
    if ([day, month, year].join() === today.join()) return time;
    return `${day}\u00a0${month.slice(0, 3)}${year === today[2] ? "" : ` ${year}`} ${time}`;
  };
}

/** The feed of the Live page: rows from the stream of data-src, or by asking data-poll every two seconds while there is
 *  none. data-last is the number up to which everything is known: what comes twice is dropped by it, and after an
 *  interruption both ways go on behind it, so that nothing is missing. */
class Feed extends HTMLElement {
  connectedCallback() {
    if (!this.dataset.src) return;
    this.stop = new AbortController();
    this.last = Number(this.dataset.last);
    this.marks = JSON.parse(this.dataset.marks);
    this.kinds = JSON.parse(this.dataset.kinds);
    this.clock = clockOf(this.dataset.zone);
    this.held = [];
    this.heldCount = this.unseen = 0;
    const { signal } = this.stop;
    this.pauseButton.addEventListener("click", () => this.pause(!this.paused), { signal });
    this.newButton.addEventListener("click", () => this.follow(), { signal });
    document.addEventListener("scroll", () => { if (this.unseen && this.isAtTop()) this.seen(); }, { signal, capture: true, passive: true });
    this.pauseButton.hidden = false;
    this.line = new Line(this, { src: this.dataset.src, poll: this.dataset.poll, signal });
  }

  disconnectedCallback() { this.stop?.abort(); }

  get list() { return document.getElementById("feed"); }
  get pauseButton() { return this.querySelector("[data-feed-pause]"); }
  get newButton() { return this.querySelector("[data-feed-new]"); }

  state(name) {
    const place = this.querySelector("[data-live-state]");
    if (this.dataset.state === name || !place) return;
    this.dataset.state = name;
    place.textContent = WORDS[name];
  }

  /** Too much was missed to tell it row by row: the list is taken from the page as it is now. */
  async resync() {
    if (this.waiting) return;
    this.waiting = []; // what comes meanwhile
    try {
      const answer = await fetch(location.href, { signal: this.stop.signal, credentials: "same-origin" });
      const page = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page && page.querySelector("cv-feed");
      if (fresh) {
        this.held = [];
        this.heldCount = this.unseen = 0;
        this.list.replaceChildren(...fresh.querySelectorAll("#feed > li"));
        this.last = Number(fresh.dataset.last);
        this.tell();
      }
    } finally {
      const came = this.waiting;
      this.waiting = undefined;
      for (const [number, rows] of came) this.take(number, rows);
    }
  }

  take(number, rows) {
    if (this.waiting) { this.waiting.push([number, rows]); return; }
    const fresh = rows.filter((row) => row.id > this.last);
    const moved = number > this.last;
    this.last = Math.max(this.last, number);
    if (fresh.length && this.paused) {
      this.held = this.held.concat(fresh).slice(-MOST_ROWS);
      this.heldCount += fresh.length;
      this.tell();
    } else if (fresh.length) this.add(fresh, fresh.length);
    if (moved) document.dispatchEvent(new CustomEvent("cv:news"));
  }

  /** The newest stands first; who reads further down keeps the place. */
  add(rows, count) {
    const list = this.list, pane = this.scroller;
    const atTop = this.isAtTop(), before = list.scrollHeight;
    const fresh = rows.slice(-MOST_ROWS).map((row) => this.row(row)).reverse();
    if (!atTop && !this.unseen) fresh.at(-1).classList.add("new-from");
    list.prepend(...fresh);
    if (!atTop) pane.scrollTop += list.scrollHeight - before;
    while (list.children.length > MOST_ROWS) list.lastElementChild.remove();
    if (!atTop) this.unseen += count;
    this.tell();
    document.dispatchEvent(new CustomEvent("cv:rows"));
  }

  row(row) {
    const part = this.querySelector("[data-feed-row]").content.firstElementChild.cloneNode(true);
    part.id = `ev-${row.id}`;
    part.classList.add(row.kind);
    if (this.kinds[row.kind]) part.dataset.kind = this.kinds[row.kind];
    const at = row.shown_at, time = part.querySelector("time"), link = part.querySelector("a");
    time.dateTime = at;
    time.title = row.at ?? at; // its own time, where it is another
    time.textContent = this.clock(new Date(at));
    part.querySelector("use").setAttribute("href", `${document.body.dataset.icons}#${this.marks[row.kind] ?? "unknown"}`);
    link.href = row.href;
    link.textContent = row.sentence;
    part.querySelector("small").textContent = row.title;
    return part;
  }

  get scroller() {
    const pane = this.list.closest(".pane");
    return getComputedStyle(pane).overflowY === "visible" ? document.getElementById("main") : pane;
  }

  isAtTop() {
    const pane = this.scroller;
    return pane.scrollTop < 8 || this.list.getBoundingClientRect().top >= pane.getBoundingClientRect().top;
  }

  /** "12 new", while the page is held still or read further down. */
  tell() {
    const number = this.unseen + this.heldCount;
    this.newButton.hidden = number === 0;
    this.newButton.textContent = `${number.toLocaleString("en")} new`;
  }

  seen() {
    this.unseen = 0;
    this.list.querySelector(".new-from")?.classList.remove("new-from");
    this.tell();
  }

  pause(wanted) {
    this.paused = wanted;
    this.pauseButton.setAttribute("aria-pressed", String(wanted));
    if (wanted) return;
    const held = this.held, count = this.heldCount;
    this.held = [];
    this.heldCount = 0;
    if (held.length) this.add(held, count);
    document.dispatchEvent(new CustomEvent("cv:news"));
  }

  follow() {
    if (this.paused) this.pause(false);
    const pane = this.scroller;
    pane.scrollTop = pane.matches("main") ? pane.scrollTop + this.list.getBoundingClientRect().top - pane.getBoundingClientRect().top : 0;
    this.seen();
  }
}
customElements.define("cv-feed", Feed);
