/** Files dropped anywhere on the page or chosen, each sent by itself with its progress; without a script a plain form. */
class Upload extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.form = this.querySelector("form[enctype]");
    this.rows = this.querySelector(".upload-rows");
    this.inputs = [...this.querySelectorAll("input[type=file]")];
    this.queue = [];
    this.depth = 0;
    for (const input of this.inputs) input.addEventListener("change", () => { this.take(input.files); input.value = ""; }, { signal });
    this.form?.addEventListener("submit", (event) => { event.preventDefault(); for (const input of this.inputs) this.take(input.files); }, { signal });
    const carries = (event) => event.dataTransfer?.types.includes("Files");
    document.addEventListener("dragenter", (event) => { if (carries(event)) { this.depth += 1; this.cover(true); } }, { signal });
    document.addEventListener("dragleave", (event) => { if (carries(event) && --this.depth <= 0) this.cover(false); }, { signal });
    document.addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); }, { signal });
    document.addEventListener("drop", (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      this.cover(false);
      const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
      if (entries.some((entry) => entry.isDirectory)) this.takeFolders(entries);
      else this.take(event.dataTransfer.files);
    }, { signal });
    window.addEventListener("beforeunload", (event) => { if (this.sending) event.preventDefault(); }, { signal });
  }

  disconnectedCallback() {
    this.stop.abort();
    this.cover(false);
  }

  cover(on) {
    if (!on) { this.depth = 0; this.shade?.remove(); this.shade = undefined; return; }
    this.shade ??= document.body.appendChild(Object.assign(document.createElement("p"), { className: "drop-cover", textContent: "Drop to import" }));
  }

  take(files) {
    for (const file of files) this.queue.push({ file, name: file.webkitRelativePath || file.cvPath || file.name, row: this.row(file) });
    if (!this.sending) this.next();
  }

  /** Dropped folders, with all that is below them; names keep the path within the folder. */
  async takeFolders(entries) {
    const files = [];
    for (const entry of entries) await collect(entry, files);
    this.take(files);
  }

  row(file) {
    const row = document.createElement("div");
    row.className = "upload-row";
    const mark = document.createElement("span");
    const name = Object.assign(document.createElement("span"), { className: "name", textContent: file.name, title: file.name });
    const progress = Object.assign(document.createElement("span"), { className: "progress" });
    const bar = document.createElement("progress");
    bar.max = Math.max(file.size, 1);
    bar.value = 0;
    bar.setAttribute("aria-label", `Upload of ${file.name}`);
    const text = document.createElement("span");
    text.textContent = "waiting";
    progress.append(bar, text);
    const action = Object.assign(document.createElement("button"), { className: "btn small ghost", type: "button", textContent: "Cancel" });
    row.append(mark, name, progress, action);
    this.rows.append(row);
    return { row, mark, progress, bar, text, action };
  }

  next() {
    const entry = this.queue.shift();
    this.sending = Boolean(entry);
    if (!entry) { this.dispatchEvent(new CustomEvent("cv:uploaded", { bubbles: true })); return; }
    const { file, name, row } = entry;
    const data = new FormData();
    const token = this.form.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
    data.append("csrfmiddlewaretoken", token);
    data.append("files", file, name);
    const request = new XMLHttpRequest();
    request.open("POST", this.dataset.action || this.form.action);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", token);
    request.setRequestHeader("X-Requested-With", "XMLHttpRequest");
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => {
      row.bar.value = event.loaded;
      row.text.textContent = `${mb(event.loaded)} of ${mb(event.total)} MB`;
    });
    request.upload.addEventListener("load", () => { row.bar.removeAttribute("value"); row.text.textContent = "received, being read"; });
    row.action.addEventListener("click", () => request.abort());
    const done = (answer) => { this.show(row, answer); this.next(); };
    request.addEventListener("load", () => {
      const answers = request.response?.files;
      const found = answers?.find((answer) => answer.name === name) ?? answers?.[0];
      done(found ?? { ok: false, sentence: refusal(request.status, request.response) });
    });
    request.addEventListener("error", () => done({ ok: false, sentence: "The server did not answer. Is “contextviz up” still running? Then drop the file again." }));
    request.addEventListener("abort", () => done({ ok: false, sentence: "Cancelled; nothing of it was kept." }));
    request.send(data);
  }

  /** The row's end: the sentence, and where to go. */
  show(row, answer) {
    row.row.classList.toggle("failed", !answer.ok);
    row.progress.replaceWith(Object.assign(document.createElement("span"), { className: "outcome", textContent: answer.sentence ?? (answer.ok ? "Imported." : "It could not be imported.") }));
    row.mark.textContent = answer.ok ? "✓" : "✕";
    const address = answer.session_url || answer.job_url;
    if (typeof address === "string" && address.startsWith("/")) {
      row.action.replaceWith(Object.assign(document.createElement("a"), { className: "btn small", href: address, textContent: answer.session_url ? "Open" : "Follow the job" }));
    } else row.action.remove();
  }
}

/** The files at or below a dropped entry; what cannot be read is left out, as the browser does it. */
async function collect(entry, files) {
  if (entry.isFile) {
    const file = await new Promise((resolve) => { entry.file(resolve, () => resolve(null)); });
    if (file) files.push(Object.assign(file, { cvPath: entry.fullPath.replace(/^\//, "") }));
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    // A reader gives a hundred entries at a time, and an empty list at the end.
    const part = await new Promise((resolve) => { reader.readEntries(resolve, () => resolve([])); });
    if (part.length === 0) return;
    for (const below of part) await collect(below, files);
  }
}

function mb(bytes) { return (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0); }

function refusal(status, body) {
  if (typeof body?.detail === "string") return body.detail;
  if (typeof body?.sentence === "string") return body.sentence;
  if (status === 413) return "The file is larger than this server takes. Import it with “contextviz import PATH”.";
  if (status === 403) return "You are signed out, or the page is too old. Reload it and drop the file again.";
  return `The server refused it (status ${status}).`;
}
customElements.define("cv-upload", Upload);
