/** Find in a session: the server knows where the words stand; this goes there, on the page or to another one. */
class Find extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.form = this.querySelector("form");
    this.state = this.querySelector("[data-find-state]");
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.go(event.submitter?.value ?? "next"); }, { signal });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "F3" || !this.words()) return;
      event.preventDefault();
      this.go(event.shiftKey ? "previous" : "next");
    }, { signal });
    if (this.words()) this.begin();
  }

  disconnectedCallback() { this.stop.abort(); CSS.highlights?.delete("cv-find"); }

  words() { return this.form.elements.q.value.trim(); }

  /** What the address brought: its place among the hits, and the words marked. */
  async begin() {
    this.mark();
    const found = await this.ask("next");
    const here = found?.messages.indexOf(Number(this.form.elements.from.value || -1)) ?? -1;
    if (found) this.tell(here < 0 ? `${found.messages.length.toLocaleString("en")}${found.more ? "+" : ""} found` : this.counted(found, here + 1));
  }

  async go(step) {
    if (!this.words()) { this.tell(""); this.form.elements.q.focus(); return; }
    const found = await this.ask(step);
    if (!found) return;
    this.tell([found.text, ...found.notices].filter(Boolean).join(" · "));
    if (!found.number) return;
    const message = found.messages[found.number - 1];
    const row = document.getElementById(`m-${message}`);
    if (!row) { location.assign(found.url); return; }
    this.form.elements.from.value = message;
    history.replaceState(history.state, "", found.url);
    this.mark();
    for (let at = row; at; at = at.parentElement?.closest("details")) if (at.matches("details")) at.open = true;
    const target = row.closest("[data-row]") ?? row;
    target.querySelector(":scope > .body > details")?.setAttribute("open", "");
    document.querySelector("#rows .selected")?.classList.remove("selected");
    target.classList.add("selected");
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true }); // so that n and N go on from here
  }

  async ask(step) {
    const data = new FormData(this.form);
    data.set("step", step);
    try {
      const answer = await fetch(`${this.form.action}?${new URLSearchParams(data)}`, { headers: { Accept: "application/json" }, signal: this.stop.signal });
      if (answer.ok) return await answer.json();
      this.tell("It could not be looked for. Try again.");
    } catch (error) {
      if (error.name !== "AbortError") this.tell("The server did not answer. Try again.");
    }
    return null;
  }

  counted(found, number) { return `${number.toLocaleString("en")} of ${found.messages.length.toLocaleString("en")}${found.more ? "+" : ""}`; }

  tell(text) { this.state.textContent = text; }

  /** Mark the words in the rows on the page; the text itself stays as it is. */
  mark() {
    if (!CSS.highlights) return;
    const words = this.words().toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1).slice(0, 24);
    const ranges = [];
    const walker = document.createTreeWalker(document.getElementById("rows"), NodeFilter.SHOW_TEXT);
    while (words.length && walker.nextNode() && ranges.length < 2000) {
      const text = walker.currentNode.data.toLowerCase();
      if (text.length !== walker.currentNode.data.length) continue; // a letter that grows when it is made small
      for (const word of words) {
        for (let at = text.indexOf(word); at >= 0 && ranges.length < 2000; at = text.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(walker.currentNode, at);
          range.setEnd(walker.currentNode, at + word.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("cv-find", new Highlight(...ranges));
  }
}
customElements.define("cv-find", Find);
