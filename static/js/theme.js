// Before the first paint: the theme and the density chosen on this machine, so that a page never flashes in others.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const kept = localStorage.getItem("contextviz-theme");
    if (kept === "light" || kept === "dark") root.dataset.theme = kept;
    const density = localStorage.getItem("contextviz-density");
    if (density === "compact" || density === "roomy") root.dataset.density = density;
    else if (density === "normal") delete root.dataset.density;
  } catch { /* storage is off: the server's choice or the system's stands */ }
})();
