/** Files dropped anywhere on the page or chosen. What was chosen at once is sent in one request, since the server reads
 *  it together: a session and its sub-agents belong to each other. Each file has its progress; without a script a plain form. */
const MOST_FILES = 2000;

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
    const group = [...files].map((file) => ({ file, name: file.webkitRelativePath || file.cvPath || file.name, row: this.row(file) }));
    for (let at = 0; at < group.length; at += MOST_FILES) {
      const part = group.slice(at, at + MOST_FILES);
      for (const entry of part) entry.row.action.addEventListener("click", () => this.cancel(part, entry));
      this.queue.push(part);
    }
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
    const group = this.queue.shift();
    this.sending = Boolean(group);
    if (!group) { this.dispatchEvent(new CustomEvent("cv:uploaded", { bubbles: true })); return; }
    const data = new FormData();
    const token = this.form.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
    data.append("csrfmiddlewaretoken", token);
    const box = this.form.querySelector("[name=private][type=checkbox]");
    if (box) data.append("private", box.checked ? "yes" : "no");
    for (const { file, name } of group) data.append("files", file, name);
    const request = new XMLHttpRequest();
    request.open("POST", this.dataset.action || this.form.action);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", token);
    request.setRequestHeader("X-Requested-With", "XMLHttpRequest");
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => advance(group, event.loaded / event.total));
    request.upload.addEventListener("load", () => advance(group, 1));
    group.request = request;
    request.addEventListener("load", () => {
      // The server answers in the order of the form, and stops where the rest is not worth reading.
      const answers = request.response?.files ?? [];
      const refused = { ok: false, sentence: answers.length ? "It was not read, since a file before it was refused. Send it again." : refusal(request.status, request.response) };
      this.end(group, (entry, at) => answers[at] ?? refused);
    });
    request.addEventListener("error", () => this.end(group, () => ({ ok: false, sentence: "The server did not answer. Is “contextviz up” still running? Then drop the file again." })));
    request.addEventListener("abort", () => this.end(group, (entry) => (entry.arrived
      ? { ok: true, sentence: "It had arrived before the rest was cancelled, and is read." }
      : { ok: false, sentence: "Cancelled; nothing of it was kept." })));
    request.send(data);
  }

  /** One file of a group that waits is left out; once a group is on its way the rest of it is stopped. */
  cancel(group, entry) {
    if (group.request) { group.request.abort(); return; }
    group.splice(group.indexOf(entry), 1);
    this.show(entry.row, { ok: false, sentence: "Cancelled; nothing of it was kept." });
    if (group.length === 0) this.queue.splice(this.queue.indexOf(group), 1);
  }

  end(group, answer) {
    const reading = new Map();
    group.forEach((entry, at) => {
      const found = answer(entry, at);
      this.show(entry.row, found);
      if (found.ok && found.job_url?.startsWith("/")) reading.set(found.job_url, [...(reading.get(found.job_url) ?? []), entry.row]);
    });
    for (const [address, rows] of reading) this.follow(address, rows);
    this.next();
  }

  /** What reading the files came to, once it has ended: its sentence, and the session where there is one. */
  async follow(address, rows) {
    const { signal } = this.stop;
    for (let tries = 0; tries < 600 && !signal.aborted; tries += 1) {
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
      const response = await fetch(address, { headers: { "HX-Request": "true" }, signal }).catch(() => null);
      if (!response || ![200, 286].includes(response.status)) return;
      if (response.status !== 286) continue;
      const state = new DOMParser().parseFromString(await response.text(), "text/html");
      const sentence = state.querySelector("[data-outcome]")?.textContent;
      const links = state.querySelectorAll("a[data-result]");
      for (const row of rows) {
        const outcome = row.row.querySelector(".outcome");
        if (outcome && sentence) outcome.textContent = sentence;
        const action = row.row.querySelector("a.btn");
        if (action && links.length === 1) Object.assign(action, { href: links[0].getAttribute("href"), textContent: "Open the session" });
      }
      return;
    }
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

/** How far each file of a group is, from the share of the whole that was sent: they go one after the other. */
function advance(group, share) {
  let left = share * group.reduce((sum, { file }) => sum + file.size, 0);
  for (const entry of group) {
    const { file, row } = entry;
    const sent = Math.min(file.size, left);
    left -= sent;
    entry.arrived = share === 1 || (file.size > 0 && sent === file.size && left > 0);
    if (entry.arrived) { row.bar.removeAttribute("value"); row.text.textContent = "received"; continue; }
    row.bar.value = sent;
    row.text.textContent = sent ? `${mb(sent)} of ${mb(file.size)} MB` : "waiting";
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
