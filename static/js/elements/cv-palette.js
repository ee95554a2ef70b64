/** The palette: the top bar's form, and with a script a dialog over any page that answers while one types. */
class Palette extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.form = this.querySelector("form");
    this.field = this.form.elements.q;
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
      event.preventDefault();
      if (this.dialog?.open) this.shut();
      else this.open();
    }, { signal });
    document.addEventListener("cv:palette", () => this.open(), { signal });
    this.field.addEventListener("pointerdown", (event) => { event.preventDefault(); this.open(this.field.value); }, { signal });
    this.field.addEventListener("input", () => { const text = this.field.value; this.field.value = ""; this.open(text); }, { signal });
    this.field.addEventListener("keydown", (event) => { if (event.key === "ArrowDown") { event.preventDefault(); this.open(); } }, { signal });
  }

  disconnectedCallback() { this.stop.abort(); this.dialog?.remove(); this.dialog = undefined; clearTimeout(this.timer); }

  build() {
    const page = document.createElement("template");
    page.innerHTML = `<dialog class="palette" aria-label="Go to"><form method="get">
      <div class="ask"><input name="q" type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-label="Go to" maxlength="2000" autocomplete="off" spellcheck="false"></div>
      <div class="go-list" id="palette-list" role="listbox" aria-label="Places and actions"></div>
      <p class="foot"><span><kbd>↑</kbd> <kbd>↓</kbd> choose</span><span><kbd>Enter</kbd> go</span><span><kbd>Esc</kbd> close</span><span role="status"></span></p></form></dialog>`;
    this.dialog = page.content.firstElementChild;
    this.input = this.dialog.querySelector("input");
    this.input.placeholder = this.field.placeholder;
    this.list = this.dialog.querySelector("[role=listbox]");
    this.state = this.dialog.querySelector("[role=status]");
    const { signal } = this.stop;
    this.input.addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.ask(), 90); }, { signal });
    this.input.addEventListener("keydown", (event) => this.key(event), { signal });
    this.dialog.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); this.enter(); }, { signal });
    this.list.addEventListener("click", (event) => { const row = event.target.closest("[role=option]"); if (row) this.take(Number(row.dataset.at), event.ctrlKey || event.metaKey); }, { signal });
    this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.shut(); }, { signal });
    this.dialog.addEventListener("close", () => this.opener?.isConnected && this.opener.focus({ preventScroll: true }), { signal });
    document.body.append(this.dialog);
  }

  open(text = "") {
    if (!this.dialog) this.build();
    if (this.dialog.open) return;
    document.querySelector("dialog[open]")?.close();
    this.opener = document.activeElement;
    this.input.value = text;
    this.pressed = false;
    this.answered = undefined;
    this.dialog.showModal();
    this.input.focus();
    this.ask();
  }

  /** Where nothing had the focus, the hidden field would keep it until the next frame, and the next key with it. */
  shut() { this.dialog.close(); this.input.blur(); this.opener?.focus?.({ preventScroll: true }); }

  async ask() {
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    const text = this.input.value;
    const query = new URLSearchParams({ q: text });
    const session = this.form.elements.session?.value;
    if (session) query.set("session", session);
    this.dialog.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`${this.form.action}?${query}`, { headers: { Accept: "application/json" }, signal: asking.signal });
      if (!answer.ok) throw new Error("It could not be looked up. Sign in again, or try once more.");
      this.show((await answer.json()).results);
      this.answered = text;
    } catch (error) {
      if (asking.signal.aborted) return;
      this.show([]);
      this.pressed = false;
      this.state.textContent = error instanceof TypeError ? "The server did not answer. Is it still running?" : error.message;
    }
    this.dialog.removeAttribute("aria-busy");
    if (this.pressed) this.take(this.at);
  }

  show(results) {
    this.results = results;
    this.list.replaceChildren(...results.map((one, at) => {
      const row = document.createElement("div");
      row.id = `palette-${at}`;
      row.dataset.at = at;
      row.setAttribute("role", "option");
      for (const [name, text] of [["kind", one.kind], ["name", one.title], ["detail", one.key || one.detail]]) {
        const part = document.createElement("span");
        part.className = name;
        part.textContent = text;
        if (name !== "kind") part.title = text;
        row.append(part);
      }
      return row;
    }));
    this.state.textContent = results.length ? `${results.length} found` : "Nothing here is called that.";
    this.choose(0);
  }

  choose(at) {
    const rows = this.list.children;
    if (!rows.length) { this.input.removeAttribute("aria-activedescendant"); return; }
    this.at = (at + rows.length) % rows.length;
    for (const row of rows) row.setAttribute("aria-selected", String(row === rows[this.at]));
    this.input.setAttribute("aria-activedescendant", rows[this.at].id);
    rows[this.at].scrollIntoView({ block: "nearest" });
  }

  key(event) {
    // The browser's own closing comes a moment later: a key pressed right after would still be typed here.
    if (event.key === "Escape" && !event.isComposing) { event.preventDefault(); this.shut(); return; }
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (!by || event.isComposing) return;
    event.preventDefault();
    this.choose(Math.abs(by) === 1 ? this.at + by : Math.min(Math.max(this.at + by, 0), this.list.children.length - 1));
  }

  /** Enter waits for the answer to what is in the field: what was found for fewer letters is not meant. */
  enter() {
    if (this.answered === this.input.value) { this.take(this.at); return; }
    clearTimeout(this.timer);
    this.pressed = true;
    this.ask();
  }

  take(at, apart) {
    const one = this.results?.[at];
    this.pressed = false;
    if (!one) return;
    if (apart && one.url) { open(one.url, "_blank", "noopener"); return; }
    this.shut();
    if (one.action) document.dispatchEvent(new CustomEvent("cv:key", { detail: one.action }));
    else location.assign(one.url);
  }
}
customElements.define("cv-palette", Palette);
