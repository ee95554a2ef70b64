// What the strip and the Lab's scrubber share: calls under the pointer, dragging, and the keys of a slider over calls.

/** A light part over a track's plot (a play-head, the cursor), hidden until it is placed. */
export function overlay(track, name) {
  const part = document.createElement("i");
  part.className = name;
  part.hidden = true;
  track.append(part);
  return part;
}

/** The call under the pointer, on a track that shows the calls from first to last. */
export function callAt(track, first, last, event) {
  const box = track.getBoundingClientRect();
  const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  return Math.min(Math.floor(first + share * (last + 1 - first)), last);
}

/** Tell where the pointer is from now until it is let go. */
export function drag(track, event, tell) {
  if (event.button !== 0) return;
  track.setPointerCapture(event.pointerId);
  tell(event);
  const moving = new AbortController();
  track.addEventListener("pointermove", tell, { signal: moving.signal });
  for (const end of ["pointerup", "pointercancel"]) track.addEventListener(end, () => moving.abort(), { signal: moving.signal });
}

const OWN = "input, textarea, select, [contenteditable], dialog, [role=slider]";

/** Whether an arrow key may move the play-head from wherever the focus is: not from what the arrows mean something to
 *  (a field, another slider, text that is selected by Shift, a part that scrolls sideways). */
export function isFree(event) {
  if (event.defaultPrevented || !/^Arrow(Left|Right)$/.test(event.key) || !(event.target instanceof Element)) return false;
  if (event.target.closest(OWN) || (event.shiftKey && !getSelection().isCollapsed)) return false;
  for (let part = event.target; part; part = part.parentElement) {
    if (part.scrollWidth > part.clientWidth && /auto|scroll/.test(getComputedStyle(part).overflowX)) return false;
  }
  return true;
}

/** The call that a key leads to, undefined where it is none of the slider's; `marks` are the calls at boundaries. */
export function stepped(event, at, first, last, marks) {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const page = Math.max(Math.round((last - first) / 20), 10);
  const next = {
    ArrowRight: event.shiftKey ? marks.find((call) => call > at) ?? last : at + 1,
    ArrowLeft: event.shiftKey ? marks.findLast((call) => call < at) ?? first : at - 1,
    ArrowUp: at + 1, ArrowDown: at - 1, PageUp: at + page, PageDown: at - page, Home: first, End: last,
  }[event.key];
  if (next === undefined) return undefined;
  event.preventDefault();
  event.stopPropagation();
  return Math.min(Math.max(next, first), last);
}
