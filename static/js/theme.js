// Before the first paint: the theme chosen on this machine, so that a page never flashes in the other one.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const kept = localStorage.getItem("contextviz-theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  } catch { /* storage is off: the server's choice or the system's stands */ }
})();
