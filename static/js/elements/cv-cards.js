const LEAST_MS = 1_000, ANEW_MS = 15_000;

/** The cards of the Live page, asked for again when the feed has news, once a second at most, and every 15 seconds,
 *  since a session that nothing is told of falls idle. They stand still while the feed is held. */
class Cards extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("cv:news", () => this.redraw(), { signal });
    document.addEventListener("visibilitychange", () => this.redraw(), { signal });
    this.ticker = setInterval(() => this.redraw(), ANEW_MS);
  }

  disconnectedCallback() {
    this.stop.abort();
    clearInterval(this.ticker);
    clearTimeout(this.later);
  }

  get isHeld() { return document.hidden || Boolean(document.querySelector("cv-feed")?.paused); }

  redraw() {
    if (this.isHeld) return;
    if (this.later) { this.isWanted = true; return; }
    const wait = Math.max(0, (this.drawn ?? -LEAST_MS) + LEAST_MS - performance.now());
    this.later = setTimeout(() => this.draw(), wait);
  }

  async draw() {
    this.drawn = performance.now();
    this.isWanted = false;
    try {
      const address = new URL(this.dataset.src, location.href);
      const answer = await fetch(address, { signal: this.stop.signal, headers: { "HX-Request": "true" }, credentials: "same-origin" });
      const part = document.createElement("template");
      if (answer.ok) part.innerHTML = await answer.text();
      if (part.content.children.length && !this.isHeld) this.apply(part.content);
    } catch { /* the next news ask again */ } finally {
      this.later = undefined;
      if (this.isWanted) this.redraw();
    }
  }

  /** Each card in its place. None moves while somebody points at them or stands in one. */
  apply(part) {
    document.getElementById("live-count")?.replaceWith(part.querySelector("#live-count"));
    const list = this.querySelector("ul");
    const fresh = [...part.querySelectorAll("#cards > li")];
    const ids = new Set(fresh.map((card) => card.id));
    for (const old of [...list.children]) if (!ids.has(old.id) && !old.contains(document.activeElement)) old.remove();
    for (const card of fresh) {
      const old = document.getElementById(card.id);
      if (old) this.exchange(old, card);
      else list.append(card);
    }
    const now = fresh.map((card) => document.getElementById(card.id));
    const isStill = list.matches(":hover") || list.contains(document.activeElement);
    if (!isStill && now.some((card, place) => list.children[place] !== card)) list.append(...now);
    document.dispatchEvent(new CustomEvent("cv:rows"));
  }

  /** The card itself stays, so that the focus on it does; what is in it is new. */
  exchange(old, card) {
    if (old.outerHTML === card.outerHTML) return;
    const here = document.activeElement;
    const link = here !== old && old.contains(here) ? here.getAttribute("href") : undefined;
    old.className = card.className;
    old.dataset.kind = card.dataset.kind ?? "";
    old.replaceChildren(...card.childNodes);
    if (link) [...old.querySelectorAll("a")].find((one) => one.getAttribute("href") === link)?.focus({ preventScroll: true });
  }
}

/** Seconds that go on from what the server said they were, so that a wrong clock of this machine does not matter. */
class Since extends HTMLElement {
  connectedCallback() {
    const from = performance.now() - Number(this.dataset.seconds) * 1_000;
    this.ticker = setInterval(() => {
      const seconds = Math.floor((performance.now() - from) / 1_000);
      this.textContent = `${String(Math.floor(seconds / 60)).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}`;
    }, 1_000);
  }

  disconnectedCallback() { clearInterval(this.ticker); }
}
customElements.define("cv-since", Since);
customElements.define("cv-cards", Cards);
