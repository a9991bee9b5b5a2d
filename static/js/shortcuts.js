/** Keys that work on every page: "/" goes to the search field, "g" then a letter to the rail entry that names it. */

const SECOND_KEY_MS = 1000;
let firstKeyAt = 0;

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) {
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector(".search-field")?.select();
    return;
  }
  if (Date.now() - firstKeyAt < SECOND_KEY_MS) {
    // Other scripts must not take the second key for one of theirs.
    event.preventDefault();
    document.querySelector(`.rail-entry[data-key="${CSS.escape(event.key)}"]`)?.click();
  }
  firstKeyAt = event.key === "g" ? Date.now() : 0;
});
