import { advance, collect, dismissal, isPassedBy, newRow, newSum, refusal, tell } from "../upload-rows.js";

/** Files dropped anywhere on the page or chosen. What was chosen at once is sent in one request, since the server reads
 *  it together: a session and its sub-agents belong to each other. Each file has its progress; without a script a plain form. */
const MOST_FILES = 2000;
const KEPT = "cv-upload";
const KEPT_MS = 20000;

class Upload extends HTMLElement {
  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.form = this.querySelector("form[enctype]");
    this.rows = this.querySelector(".upload-rows");
    this.inputs = [...this.querySelectorAll("input[type=file]")];
    this.queue = [];
    this.told = [];
    this.depth = 0;
    this.restore();
    window.addEventListener("pagehide", () => this.keep(), { signal });
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

  /** The empty Library is loaded anew once there is a session: what was told of the files is told again after it. */
  keep() {
    if (this.told.length) sessionStorage.setItem(KEPT, JSON.stringify({ at: Date.now(), page: location.pathname, told: this.told.slice(0, MOST_FILES).map(({ name, found }) => ({ name, found })) }));
  }

  restore() {
    let kept = null;
    try { kept = JSON.parse(sessionStorage.getItem(KEPT)); } catch { /* written by another version */ }
    sessionStorage.removeItem(KEPT);
    if (!kept || kept.page !== location.pathname || Date.now() - kept.at > KEPT_MS) return;
    this.tellAll(kept.told.map(({ name, found }) => ({ entry: { name, row: this.row({ name: name.split("/").pop(), size: 0 }) }, found })));
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
    const made = newRow(file);
    this.rows.append(made.row);
    this.rows.tabIndex = 0; // many rows scroll, also by keys
    return made;
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
    request.addEventListener("error", () => this.end(group, () => ({ ok: false, sentence: "The server did not answer. Is contextviz still running? Then drop the file again." })));
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
    this.tellAll(group.map((entry, at) => ({ entry, found: answer(entry, at) })));
    this.next();
  }

  tellAll(answers) {
    const reading = new Map();
    for (const { entry, found } of answers) {
      this.told.push({ name: entry.name, found, row: entry.row.row });
      this.show(entry.row, found, entry.name);
      if (found.ok && found.job_url?.startsWith("/")) reading.set(found.job_url, [...(reading.get(found.job_url) ?? []), entry]);
    }
    for (const [address, entries] of reading) this.follow(address, entries, answers.length > 1 ? this.sum(answers) : null);
    if (!this.querySelector(".upload-dismiss")) this.rows.before(dismissal(() => this.dismiss()));
  }

  /** What is over goes from the page; what is still sent or read stays. */
  dismiss() {
    for (const row of this.rows.querySelectorAll("[data-over]")) row.remove();
    this.told = this.told.filter(({ row }) => row.isConnected);
    if (this.rows.childElementCount) return;
    this.rows.removeAttribute("tabindex");
    this.querySelector(".upload-dismiss")?.remove();
  }

  /** A line before files that were sent together: what reading all of them came to is said once. */
  sum(answers) {
    return answers[0].entry.row.row.parentElement.insertBefore(newSum(answers.length), answers[0].entry.row.row);
  }

  /** How far reading the files is, file by file, and what each came to. */
  async follow(address, entries, sum) {
    const { signal } = this.stop;
    for (let tries = 0; tries < 600 && !signal.aborted; tries += 1) {
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
      const response = await fetch(address, { headers: { "HX-Request": "true" }, signal }).catch(() => null);
      if (!response || ![200, 286].includes(response.status)) return;
      const state = new DOMParser().parseFromString(await response.text(), "text/html");
      const job = {
        isOver: response.status === 286,
        isFailed: state.querySelector("[data-outcome]")?.classList.contains("lost") ?? false,
        sentence: state.querySelector("[data-outcome]")?.textContent.trim() ?? "",
        progress: state.querySelector(".progress span")?.textContent.trim() ?? "",
        links: [...state.querySelectorAll("a[data-result]")].map((link) => link.getAttribute("href")),
        files: [...state.querySelectorAll("tr[data-file]")].map((line) => line.dataset),
      };
      for (const { name, row } of entries) {
        const members = job.files.filter(({ file }) => file.startsWith(`${name}/`));
        tell(row, job, members.length ? members : job.files.filter(({ file }) => file === name), { name, isSummed: Boolean(sum) });
      }
      if (sum && job.isOver) {
        sum.dataset.over = "";
        sum.querySelector(".outcome").textContent = job.sentence;
        sum.firstElementChild.textContent = job.isFailed ? "✕" : "✓";
        sum.classList.toggle("failed", job.isFailed);
      }
      if (job.isOver) return;
    }
  }

  /** The row's end: the sentence, and where to go. */
  show(row, answer, name = "") {
    const passedBy = !answer.ok && isPassedBy(name, answer.sentence);
    row.row.classList.toggle("failed", !answer.ok && !passedBy);
    if (!answer.ok) row.row.dataset.over = "";
    row.progress.replaceWith(Object.assign(document.createElement("span"), { className: "outcome", textContent: (passedBy ? answer.sentence.replace(/(not a transcript\.).*/s, "$1") : answer.sentence) ?? (answer.ok ? "Imported." : "It could not be imported.") }));
    row.mark.textContent = answer.ok ? "✓" : passedBy ? "–" : "✕";
    const address = answer.session_url || answer.job_url;
    if (typeof address === "string" && address.startsWith("/")) {
      row.action.replaceWith(Object.assign(document.createElement("a"), { className: "btn small", href: address, textContent: answer.session_url ? "Open" : "Follow the job" }));
    } else row.action.remove();
  }
}

customElements.define("cv-upload", Upload);
