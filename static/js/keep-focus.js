/**
 * Keeps the keyboard's place, and how far panes are scrolled, when htmx replaces what holds them.
 *
 * htmx itself finds the focused element again by its id. Links, buttons and summaries without one are found by what
 * they are for; where that is gone, so is the focus.
 */

const PANES = ".scroll-x, .timeline, pre, textarea";
const FOCUSABLE = "a, button, summary, [tabindex]";

/** What an element is for: equal for it and for the one that replaces it. */
function purpose(element) {
  const address = element.getAttribute("href") ?? element.form?.getAttribute("action") ?? "";
  // A tile's words are its state, which may be what changed: a link is told by its address alone.
  const words = element.localName === "a" ? "" : element.textContent.trim();
  return [element.localName, address, words].join(" ");
}

let focused = null;
let panes = [];

document.addEventListener("htmx:beforeSwap", ({ detail: { target } }) => {
  const active = document.activeElement;
  focused = target.contains(active) && !active.id ? purpose(active) : null;
  panes = [...target.querySelectorAll(PANES)].map((pane) => [pane.scrollLeft, pane.scrollTop]);
});

document.addEventListener("htmx:afterSettle", ({ target }) => {
  const isLost = document.activeElement === document.body || document.activeElement === null;
  if (focused !== null && isLost) {
    [...target.querySelectorAll(FOCUSABLE)].find((one) => purpose(one) === focused)?.focus({ preventScroll: true });
  }
  const now = target.querySelectorAll(PANES);
  if (now.length === panes.length) {
    now.forEach((pane, index) => pane.scrollTo({ left: panes[index][0], top: panes[index][1], behavior: "instant" }));
  }
  [focused, panes] = [null, []];
});
