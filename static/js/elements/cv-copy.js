/** A copy button; a tick for a moment says that it worked. */
class Copy extends HTMLElement {
  connectedCallback() {
    this.button = this.querySelector("button");
    if (!this.button || !navigator.clipboard) return;
    this.button.hidden = false;
    this.stop = new AbortController();
    this.button.addEventListener("click", () => this.copy(), { signal: this.stop.signal });
  }

  disconnectedCallback() {
    this.stop?.abort();
    clearTimeout(this.timer);
  }

  async copy() {
    const use = this.button.querySelector("use");
    const address = use?.getAttribute("href") ?? "";
    try {
      await navigator.clipboard.writeText(this.dataset.text ?? "");
    } catch {
      this.button.title = "The browser did not allow copying; select the text instead.";
      return;
    }
    this.classList.add("done");
    if (address.endsWith("#copy")) use.setAttribute("href", address.replace(/#copy$/, "#check"));
    this.timer = setTimeout(() => { use?.setAttribute("href", address); this.classList.remove("done"); }, 1500);
  }
}
customElements.define("cv-copy", Copy);
