/** Starts Swagger UI on the OpenAPI document; requests made from it carry the session and its CSRF token. */
const viewer = document.querySelector("#viewer");
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

window.SwaggerUIBundle({
  url: viewer.dataset.document,
  domNode: viewer,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  requestInterceptor: (request) => {
    const method = (request.method ?? "GET").toUpperCase();
    if (!safeMethods.has(method)) {
      request.headers["X-CSRFToken"] = viewer.dataset.csrfToken;
    }
    return request;
  },
});
