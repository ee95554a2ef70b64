/** What each hint needs to be true now: the element it would act on. Keys that are not listed always hold. */
const NEEDS = {
  j: "[data-row]", c: "[data-row][data-kind~=compaction], [data-key=c]", J: "[data-row][data-kind~=user]", x: "[data-row][data-kind~=error]",
  "[": "[data-key='['], [data-key=']']", "<": "[data-key='<'], [data-key='>']",
  u: "[data-row][data-kind~=subagent], [data-row][data-kind~=agent_spawn]", m: "[data-row][data-kind~=miss]",
  "/": "[data-key-focus='/']", n: "cv-find input[name=q]:not(:placeholder-shown)", "←": "cv-strip, [data-key=ArrowLeft], [data-key=ArrowRight]", d: "[data-row][data-kind~=difference], [data-key=d]", v: "[data-key=v], [data-key-focus=v]", e: "[data-key=e]", s: "[data-key=s]", o: "[data-key=o]", p: "[data-key=p]:not([hidden])", f: "[data-key=f]:not([hidden])",
};
const MORE = [["u", ["u", "U"], "sub-agent"], ["m", ["m", "M"], "miss"], ["e", ["e"], "export"], ["s", ["s"], "keep"]];

function hint(keys, words) {
  const part = document.createElement("li");
  for (const key of keys) { const mark = document.createElement("kbd"); mark.textContent = key; part.append(mark, " "); }
  part.append(words);
  part.dataset.own = "";
  return part;
}

/** The bar at the foot says which keys do something now. */
export function hints() {
  const bar = document.querySelector("[data-keys]");
  if (!bar) return () => {};
  const tell = () => {
    for (const part of bar.querySelectorAll("[data-own]")) part.remove();
    const said = new Set();
    for (const part of bar.children) {
      const key = part.querySelector("kbd")?.textContent;
      said.add(key);
      const needs = NEEDS[key];
      part.hidden = Boolean(needs) && !document.querySelector(needs);
    }
    const here = document.activeElement;
    const front = [];
    if (here?.matches("cv-strip .track, cv-lab .track")) front.push(hint(["←", "→"], "call"), hint(["Shift", "←", "→"], "compaction"), hint(["Home", "End"], "first, last"));
    else if (here?.matches("input, textarea, select")) front.push(hint(["Esc"], "leave the field"));
    else if (here?.closest("[data-row]")) front.push(hint(["Esc"], "leave the row"));
    const rest = MORE.filter(([key]) => !said.has(key) && document.querySelector(NEEDS[key])).map(([, keys, words]) => hint(keys, words));
    if (document.body.dataset.older && !said.has("[")) rest.push(hint(["[", "]"], "session"));
    bar.prepend(...front);
    (bar.lastElementChild ?? bar).before(...rest);
    // What does not fit is left out whole, from the end; the last one leads to all of them.
    const shown = [...bar.children].filter((part) => !part.hidden).slice(0, -1);
    while (bar.scrollWidth > bar.clientWidth && shown.length) shown.pop().hidden = true;
  };
  let asked = 0;
  return () => { cancelAnimationFrame(asked); asked = requestAnimationFrame(tell); };
}
