const POLL_MS = 2_000, AGAIN_MS = 10_000, LOOK_MS = 5_000, DEAD_MS = 40_000;

/** The way by which news reach the page: a stream of server-sent events, or asking every two seconds while there is none.
 *  Both go on behind `feed.last`, so that a change from one to the other misses nothing; what comes by both is known by
 *  its number. `feed` has last, take(number, rows), resync() and state(name). */
export class Line {
  constructor(feed, { src, poll, signal }) {
    Object.assign(this, { feed, src, address: poll, signal });
    const on = (target, name, act) => target.addEventListener(name, act, { signal });
    on(document, "visibilitychange", () => (document.hidden ? this.close() : this.open()));
    on(window, "online", () => { this.close(); this.open(); });
    this.ticker = setInterval(() => this.look(), LOOK_MS);
    on(signal, "abort", () => { clearInterval(this.ticker); this.close(); });
    this.open();
  }

  open() {
    if (this.source || document.hidden) return;
    clearTimeout(this.again);
    if (!("EventSource" in window)) { this.poll(true); return; }
    const address = new URL(this.src, location.href);
    address.searchParams.set("after", this.feed.last);
    const source = this.source = new EventSource(address);
    this.heard = performance.now();
    const on = (name, act) => source.addEventListener(name, (event) => { if (this.source === source) { this.heard = performance.now(); act(event); } });
    const goesOn = () => { this.poll(false); this.feed.state("connected"); };
    const take = (event) => this.feed.take(Number(event.lastEventId), JSON.parse(event.data));
    on("ready", goesOn);
    on("news", take);
    on("quiet", take);
    on("resync", () => { goesOn(); this.feed.resync(); });
    source.onerror = () => {
      if (this.source !== source) return;
      this.poll(true);
      if (source.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
      this.source = undefined;
      this.again = setTimeout(() => this.open(), AGAIN_MS);
    };
  }

  close() {
    clearTimeout(this.again);
    this.poll(false);
    this.source?.close();
    this.source = undefined;
  }

  /** A line that says nothing for longer than two of its heartbeats is dead, whatever the browser thinks. */
  look() {
    if (this.source && performance.now() - this.heard > DEAD_MS) { this.close(); this.open(); }
  }

  poll(wanted) {
    if (wanted && !this.asking) {
      this.asking = setInterval(() => this.ask(), POLL_MS);
      this.ask();
    } else if (!wanted) {
      clearInterval(this.asking);
      this.asking = undefined;
    }
  }

  async ask() {
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      let more = true;
      while (more && this.asking) {
        const address = new URL(this.address, location.href);
        address.searchParams.set("after", this.feed.last);
        const answer = await fetch(address, { signal: this.signal, credentials: "same-origin" });
        if (!answer.ok) throw new Error(`answered ${answer.status}`);
        const told = await answer.json();
        if (this.asking) this.feed.state("polling");
        if (told.resync) await this.feed.resync();
        else this.feed.take(told.last, told.events);
        more = told.events.length > 0;
      }
    } catch { if (this.asking) this.feed.state("away"); } finally { this.isAsking = false; }
  }
}
