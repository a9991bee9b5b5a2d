/** Shows the latest readings of devices in the tiles that the server rendered; the markup is described in live.js. */

const NOT_REPORTED = "not reported";

const FORMATS = {
  utilisation_percent: (value) => `${value} %`,
  memory_percent: (value) => `${value} %`,
  memory_used_bytes: asGibibytes,
  memory_total_bytes: asGibibytes,
  power_milliwatts: (value) => `${Math.round(value / 1000)} W`,
  temperature_celsius: (value) => `${value} °C`,
  sm_clock_megahertz: (value) => `${value} MHz`,
  health: (value) => value,
};

function asGibibytes(bytes) {
  const gibibytes = bytes / 2 ** 30;
  return `${gibibytes.toFixed(gibibytes < 10 ? 1 : 0)} GiB`;
}

/** Seconds as people say them: 0.4 s, 41 s, 3 min, 2 h. */
function asAge(seconds) {
  if (seconds < 10) {
    return `${seconds.toFixed(1)} s`;
  }
  if (seconds < 120) {
    return `${Math.round(seconds)} s`;
  }
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** What one element of a tile shows of a reading; `null` is not reported, and is never drawn as zero. */
function show(element, name, value) {
  if (element instanceof SVGRectElement) {
    element.setAttribute("width", value === null ? 0 : Math.min(100, Math.max(0, value)));
    element.toggleAttribute("data-unknown", value === null);
  } else if (element instanceof HTMLMeterElement || element instanceof HTMLProgressElement) {
    element.hidden = value === null;
    element.value = value ?? 0;
  } else {
    element.toggleAttribute("data-unknown", value === null);
    element.textContent = value === null ? NOT_REPORTED : FORMATS[name](value);
  }
}

function memoryPercent({ memory_used_bytes: used, memory_total_bytes: total }) {
  return used === null || !total ? null : Math.round((100 * used) / total);
}

function showDevice(tile, readings, { isStale, sampleSecondsAgo }) {
  tile.dataset.stale = isStale;
  const values = { ...readings, memory_percent: memoryPercent(readings) };
  for (const element of tile.querySelectorAll("[data-reading]")) {
    const name = element.dataset.reading;
    if (name in FORMATS) {
      show(element, name, values[name] ?? null);
    }
  }
  for (const label of tile.querySelectorAll("[data-stale-label]")) {
    label.hidden = !isStale;
    label.textContent = isStale ? `stale, last seen ${asAge(sampleSecondsAgo)} ago` : "";
  }
}

function showAgent(element, seenSecondsAgo, isStale) {
  const before = element.dataset.state;
  if (seenSecondsAgo === null) {
    element.dataset.state = "none";
    element.textContent = "no agent";
  } else {
    element.dataset.state = isStale ? "stale" : "live";
    element.textContent = `${isStale ? "stale" : "agent"} ${asAge(seenSecondsAgo)}`;
  }
  if (before && before !== element.dataset.state) {
    element.dispatchEvent(new CustomEvent("agentchange", { bubbles: true }));
  }
}

/** Shows a frame that arrived so many seconds ago: without newer ones it grows old here, too. */
function showFrame(frame, silentSeconds) {
  const seen = frame.agent_seen_seconds_ago === null ? null : frame.agent_seen_seconds_ago + silentSeconds;
  const isAgentStale = seen > STALE_AFTER_SECONDS;
  const prefix = `${frame.driver}/${frame.pool}/`;
  for (const tile of document.querySelectorAll(`[data-device-key^="${CSS.escape(prefix)}"]`)) {
    const readings = frame.devices[tile.dataset.deviceKey.slice(prefix.length)];
    if (!readings) {
      // Never reported; whether it ever will be is not known while the agent is silent.
      tile.dataset.stale = isAgentStale || tile.dataset.stale === "true";
    } else {
      showDevice(tile, readings, {
        isStale: readings.stale || silentSeconds > STALE_AFTER_SECONDS,
        sampleSecondsAgo: frame.sample_seconds_ago + silentSeconds,
      });
    }
  }
  const node = frame.topic.split(".").slice(2).join(".");
  for (const element of document.querySelectorAll(`[data-agent-of="${CSS.escape(node)}"]`)) {
    showAgent(element, seen, isAgentStale);
  }
}

const STALE_AFTER_SECONDS = 15;
const LOOK_FOR_SILENCE_MS = 1000;

/** The last frame of each topic and when it came; as many as the page has topics. */
const lastFrames = new Map();

document.addEventListener("readings", ({ detail: frame }) => {
  lastFrames.set(frame.topic, { frame, arrivedAt: Date.now() });
  showFrame(frame, 0);
});

setInterval(() => {
  for (const { frame, arrivedAt } of lastFrames.values()) {
    const silentSeconds = (Date.now() - arrivedAt) / 1000;
    if (silentSeconds > STALE_AFTER_SECONDS) {
      showFrame(frame, silentSeconds);
    }
  }
}, LOOK_FOR_SILENCE_MS);
