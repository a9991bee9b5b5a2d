/**
 * A device's utilisation over the last minutes, drawn by the server as an SVG path and continued live.
 *
 *   <utilisation-line data-device-key="gpu.nvidia.com/gpu-01/gpu-0" data-window-seconds="900"
 *                     data-points="1764446400:97 1764446405: 1764446410:96">
 *     <svg viewBox="0 0 900 100" preserveAspectRatio="none" role="img" aria-label="Utilisation, last 15 minutes">
 *       <path data-line d=""/>
 *     </svg>
 *   </utilisation-line>
 *
 * data-points: "<unix seconds>:<percent>", a missing percent is a time at which nothing was reported. The viewBox is as
 * wide as the window in seconds and 100 high. Where readings are missing for longer than 15 s the line has a gap: it
 * never falls to 0.
 */

const GAP_SECONDS = 15;

class UtilisationLine extends HTMLElement {
  #points = [];
  #listener = ({ detail }) => this.#follow(detail);

  connectedCallback() {
    this.#points = (this.dataset.points ?? "").split(/\s+/).filter(Boolean).map(parsePoint);
    this.#draw(Date.now() / 1000);
    document.addEventListener("readings", this.#listener);
  }

  disconnectedCallback() {
    document.removeEventListener("readings", this.#listener);
  }

  get #windowSeconds() {
    return Number(this.dataset.windowSeconds ?? 900);
  }

  #follow(frame) {
    const prefix = `${frame.driver}/${frame.pool}/`;
    if (!this.dataset.deviceKey.startsWith(prefix)) {
      return;
    }
    const readings = frame.devices[this.dataset.deviceKey.slice(prefix.length)];
    const now = Date.now() / 1000;
    if (readings && !readings.stale) {
      this.#points.push({ at: now, percent: readings.utilisation_percent });
    }
    this.#draw(now);
  }

  #draw(now) {
    const start = now - this.#windowSeconds;
    this.#points = this.#points.filter((point) => point.at >= start);
    this.querySelector("[data-line]")?.setAttribute("d", pathOf(this.#points, start));
  }
}

function parsePoint(text) {
  const [at, percent] = text.split(":");
  return { at: Number(at), percent: percent === "" ? null : Number(percent) };
}

function pathOf(points, start) {
  let path = "";
  let previousAt = null;
  for (const { at, percent } of points) {
    if (percent === null) {
      previousAt = null;
      continue;
    }
    const joins = previousAt !== null && at - previousAt <= GAP_SECONDS;
    path += `${joins ? "L" : "M"}${(at - start).toFixed(1)} ${100 - percent}`;
    previousAt = at;
  }
  return path;
}

customElements.define("utilisation-line", UtilisationLine);
