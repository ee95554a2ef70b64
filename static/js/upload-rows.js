/** What the rows of an upload show: one for each file, from its first byte to what reading it came to. */
/** A row for a file: its mark, name, progress and button. */
export function newRow(file) {
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
  return { row, mark, progress, bar, text, action };
}

/** A line before the rows of files that were sent together. */
export function newSum(count) {
  const row = document.createElement("div");
  row.className = "upload-row sum";
  row.append(
    document.createElement("span"),
    Object.assign(document.createElement("span"), { className: "name", textContent: `${count} files, sent together` }),
    Object.assign(document.createElement("span"), { className: "outcome", textContent: "Being read." }),
  );
  return row;
}

/** The button that takes away what was said of files that are done. */
export function dismissal(act) {
  const line = document.createElement("p");
  line.className = "upload-dismiss";
  const button = Object.assign(document.createElement("button"), { className: "btn small ghost", type: "button", textContent: "Dismiss what is done" });
  button.addEventListener("click", act);
  line.append(button);
  return line;
}

/** Whether a file of a chosen folder is only no transcript: nobody asked for it by itself, so it is no failure. */
export function isPassedBy(name, sentence) { return name.includes("/") && /\bnot a transcript\b/.test(sentence ?? ""); }

/** What a row says of its file while a job reads it and afterwards. `found` is what became of it so far: one entry, or
 *  one for each file in an archive. `isSummed`: what the job came to stands on the line before. */
export function tell(row, job, found, { name = "", isSummed = false } = {}) {
  const outcome = row.row.querySelector(".outcome");
  const said = reading(job, found, isSummed);
  if (outcome && job.isOver) row.row.dataset.over = "";
  if (!outcome) return;
  const isLeftOut = found.length > 0 && found.every(({ role }) => role === "ignored");
  const isPassed = isLeftOut && name.includes("/");
  const isFailed = job.isFailed || (isLeftOut && !isPassed);
  if (said !== outcome.textContent) outcome.textContent = said; // the region is read out when it changes
  row.row.classList.toggle("failed", job.isOver && isFailed);
  if (job.isOver) row.mark.textContent = isFailed ? "✕" : isPassed ? "–" : "✓";
  const own = [...new Set(found.map(({ session }) => session).filter(Boolean))];
  const target = own.length === 1 ? own[0] : job.links.length === 1 && !isLeftOut ? job.links[0] : null;
  const action = row.row.querySelector("a.btn");
  if (action && job.isOver && target?.startsWith("/")) Object.assign(action, { href: target, textContent: "Open the session" });
}

function reading(job, found, isSummed) {
  const left = found.filter(({ role }) => role === "ignored");
  if (found.length > 1) {
    const parts = [`${found.length - left.length} of its ${found.length} files read`];
    if (left.length) parts.push(`left out: ${left[0].reason}${left.length > 1 ? ` and ${left.length - 1} more` : ""}`);
    return `${parts.join("; ")}.${job.isOver && !isSummed ? ` ${job.sentence}` : ""}`;
  }
  if (found.length === 1 && found[0].reason) return `${left.length ? "Not read" : "Read beside the sessions"}: ${found[0].reason}.`;
  if (job.isOver) return (isSummed && !job.isFailed && "Read.") || job.sentence || "Read.";
  if (found.length === 1) return "Read; the rest of what was sent with it is still being read.";
  return job.progress ? `Arrived. Reading: ${job.progress}.` : "Arrived; it waits to be read.";
}

/** The files at or below a dropped entry; what cannot be read is left out, as the browser does it. */
export async function collect(entry, files) {
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
export function advance(group, share) {
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

export function refusal(status, body) {
  if (typeof body?.detail === "string") return body.detail;
  if (typeof body?.sentence === "string") return body.sentence;
  if (typeof body?.error?.sentence === "string") return body.error.sentence;
  if (status === 413) return `The file is larger than this server takes. Import it with “${document.body.dataset.import}”.`;
  if (status === 403) return "You are signed out, or the page is too old. Reload it and drop the file again.";
  return `The server refused it (status ${status}).`;
}
