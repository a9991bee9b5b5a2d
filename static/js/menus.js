/** Lets <details data-menu> behave as a menu: one open at a time, closed by Escape, a click elsewhere or focus leaving. */

function openMenus() {
  return document.querySelectorAll("details[data-menu][open]");
}

document.addEventListener("click", (event) => {
  for (const menu of openMenus()) {
    if (!menu.contains(event.target)) {
      menu.open = false;
    }
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") {
    return;
  }
  for (const menu of openMenus()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

document.addEventListener("focusout", (event) => {
  const menu = event.target.closest("details[data-menu][open]");
  if (menu && event.relatedTarget && !menu.contains(event.relatedTarget)) {
    menu.open = false;
  }
});
