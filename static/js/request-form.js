/**
 * Tells the server which field has the keyboard, so that its answer leaves that field alone:
 * what is typed while the answer is on its way must not be lost.
 */
document.addEventListener("htmx:configRequest", (event) => {
  const form = document.getElementById("request-form");
  if (form?.contains(event.target)) {
    event.detail.parameters.focused = document.activeElement?.name ?? "";
  }
});
