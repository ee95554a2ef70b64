/** One event stream a page: each event's data is HTML whose elements replace those with the same id. It rests while
 *  the page is hidden and resumes after the last id it saw; when the stream fails for good it says so. */
class Live extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()), { signal: this.stop.signal });
    if (!document.hidden) this.open();
  }

  disconnectedCallback() {
    this.stop.abort();
    this.close();
  }

  open() {
    if (this.source || !this.dataset.src) return;
    const address = new URL(this.dataset.src, location.href);
    if (this.seen) address.searchParams.set("after", this.seen);
    this.source = new EventSource(address);
    this.source.onmessage = (event) => this.take(event);
    for (const name of (this.dataset.events ?? "").split(" ").filter(Boolean)) {
      this.source.addEventListener(name, (event) => this.take(event));
    }
    this.source.addEventListener("end", () => this.close());
    this.source.onopen = () => this.state("connected");
    this.source.onerror = () => this.state(this.source?.readyState === EventSource.CLOSED ? "lost" : "waiting");
  }

  close() {
    this.source?.close();
    this.source = undefined;
  }

  state(name) {
    this.dataset.state = name;
    const words = { connected: "connected", waiting: "reconnecting", lost: "the stream ended; reload to follow again" };
    const place = this.querySelector("[data-live-state]");
    if (place) place.textContent = words[name];
  }

  take(event) {
    if (event.lastEventId) this.seen = event.lastEventId;
    if (!event.data.trim()) return;
    const part = document.createElement("template");
    part.innerHTML = event.data;
    for (const fresh of [...part.content.children]) {
      const old = fresh.id && document.getElementById(fresh.id);
      if (old) old.replaceWith(fresh);
      else this.add(fresh);
      window.htmx?.process(fresh);
    }
  }

  add(fresh) {
    const list = this.dataset.prepend && document.querySelector(this.dataset.prepend);
    if (!list) return;
    list.prepend(fresh);
    const limit = Number(this.dataset.limit) || 200;
    while (list.children.length > limit) list.lastElementChild.remove();
  }
}
customElements.define("cv-live", Live);
