/**
 * Leaves the field that has the keyboard alone when the server's answer replaces the form:
 * what is typed while the answer is on its way must not be lost, nor may a pause cut off a trailing space.
 *
 * A field that only just got the keyboard, and is as it was sent, takes the answer: the form may have changed it.
 */

const form = document.getElementById("request-form");
let sent = { focused: "", values: new FormData() };

function fieldWithKeyboard() {
  const active = document.activeElement;
  return form.contains(active) && active.matches("textarea, input:not([type=radio])") ? active : null;
}

document.addEventListener("htmx:configRequest", ({ target }) => {
  if (form.contains(target)) {
    sent = { focused: fieldWithKeyboard()?.name ?? "", values: new FormData(form) };
  }
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const field = detail.target.id === "request-body" ? fieldWithKeyboard() : null;
  if (field === null || (field.name !== sent.focused && field.value === sent.values.get(field.name))) {
    return;
  }
  const answer = new DOMParser().parseFromString(detail.serverResponse, "text/html");
  answer.getElementById(field.id)?.setAttribute("hx-preserve", "true");
  detail.serverResponse = answer.getElementById("request-body").outerHTML;
});
