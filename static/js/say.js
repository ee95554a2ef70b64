/** Put a sentence into the page's live region. */
export function say(text, kind = "info") {
  const notice = document.createElement("p");
  notice.className = `notice ${kind}`;
  notice.textContent = text;
  document.getElementById("notices")?.replaceChildren(notice);
}
