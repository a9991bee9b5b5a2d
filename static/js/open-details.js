/** Keeps <details id="..."> open when htmx replaces what holds it. */

const open = new Set();

// "toggle" does not bubble, and it is not fired for an element that is taken away: what was open stays noted.
document.addEventListener("toggle", ({ target }) => {
  if (!target.id) {
    return;
  }
  if (target.open) {
    open.add(target.id);
  } else {
    open.delete(target.id);
  }
}, true);

document.addEventListener("htmx:afterSettle", () => {
  for (const id of open) {
    document.getElementById(id)?.setAttribute("open", "");
  }
});
