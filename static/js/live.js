/**
 * One socket per tab: subscribes to the topics that the page names and hands on what arrives.
 *
 * Markup contract between the server's templates and the scripts in this folder
 * -----------------------------------------------------------------------------
 * The page is complete without scripts; they only bring it to life. In the base template:
 *
 *   <script type="module" src="{% static 'js/live.js' %}"></script>
 *   <script type="module" src="{% static 'js/device-readings.js' %}"></script>
 *   <script type="module" src="{% static 'js/utilisation-line.js' %}"></script>
 *
 * Written by the server, read by live.js:
 *   data-topics="devices.1 telemetry.1.gpu-01"   on any elements: the topics this page needs. Elements may come and go
 *                                                with htmx swaps; topics follow them.
 *   data-refresh-on="devices.1 claims.1"         on htmx elements with an id and hx-trigger="refresh": when one of the
 *                                                topics changes, changed between their being asked for and the
 *                                                subscription, and after each reconnect, they get the event "refresh";
 *                                                later, while somebody has something in there in hand, or while the
 *                                                answer to the last one is awaited; again, if that was an error.
 *   data-refresh-steadily                        on such htmx elements: they get "refresh" every 5 s, for ages that grow.
 * Written by live.js:
 *   <html data-live="connecting|live|offline">   state of the socket; server renders data-live="offline" (true without
 *                                                scripts), so style the three states by this attribute.
 *   [data-live-label]                            its text: "live", "connecting", "offline", "signed out".
 *   document event "topic:<topic>"               CustomEvent, detail = the message ({topic, changed} or a telemetry frame).
 *   event "agentchange" on [data-agent-of]       by device-readings.js, when its data-state becomes another: what the server
 *                                                counted around it, as in "used 3.8", is refreshed.
 *   document event "readings"                    CustomEvent for every telemetry frame, whatever its topic:
 *     {topic, seq, driver, pool, source, agent_seen_seconds_ago, sample_seconds_ago, devices: {"gpu-0": {utilisation_percent,
 *      memory_used_bytes, memory_total_bytes, power_milliwatts, temperature_celsius, sm_clock_megahertz, health, stale}}};
 *     readings that are not reported are null; before an agent's first sample driver and pool are null, devices is {}.
 *
 * Topics: devices.<cluster id>, claims.<cluster id>, attempts.<cluster id>, claim.<cluster id>.<claim uid>, telemetry.<cluster id>.<node name>.
 *
 * device-readings.js:
 *   [data-device-key="driver/pool/device"]       a tile, row or panel of one device (many may show the same device).
 *     data-stale="true|false"                    set on it; while true the last values stay, nothing falls to 0. Turns true
 *                                                when the agent is silent for 15 s, and when the socket is.
 *     [data-reading="utilisation_percent"]       inside it, any of the six names above, or memory_percent:
 *        <meter>, <progress>                     gets value= (its unit is the reading's unit; set min/max yourself); hidden
 *                                                while not reported
 *        SVG <rect>                              gets width= in 0..100 (percent readings only): use viewBox="0 0 100 h";
 *                                                attribute data-unknown while not reported
 *        anything else                           gets text: "97 %", "55 GiB", "412 W", "61 °C", "1980 MHz", or
 *                                                "not reported", and data-unknown while it is
 *     [data-stale-label]                         text "stale, last seen 41 s ago", hidden while the reading is fresh
 *   [data-agent-of="gpu-01"]                     text "agent 0.4 s", "stale 41 s" or "no agent", and data-state="live|
 *                                                stale|none"
 *
 * utilisation-line.js: see there for <utilisation-line>, a line of the last 15 minutes that goes on live.
 */

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
/** The server says something at least every 15 s; after this silence the line is dead, whatever TCP believes. */
const SILENCE_MS = 40_000;
const REFRESH_DEBOUNCE_MS = 150;
/** How often elements are refreshed whose contents change without a topic: ages and counts. */
const REFRESH_STEADILY_MS = 5_000;
/** How often a refresh looks whether what it would replace is let go of, and has what it asked for. */
const REFRESH_RETRY_MS = 300;
/** How long after an answer that was an error, or none, the same is asked for again. */
const REFRESH_AFTER_ERROR_MS = 5_000;
const CLOSED_SIGNED_OUT = 4401;

/** Topics named anywhere on the page, as a Set. */
function topicsOnPage() {
  const named = document.querySelectorAll("[data-topics]");
  return new Set([...named].flatMap((element) => element.dataset.topics.split(/\s+/).filter(Boolean)));
}

function elementsRefreshedOn(topic) {
  return [...document.querySelectorAll(`[data-refresh-on~="${CSS.escape(topic)}"]`)];
}

/** Shows the socket's state as an attribute for the style sheet and as a word for people. */
function showState(state, label = state) {
  document.documentElement.dataset.live = state;
  for (const element of document.querySelectorAll("[data-live-label]")) {
    element.textContent = label;
  }
}

/** Where the pointer is held down, as in the middle of a click; null while it is not. */
let pressed = null;
document.addEventListener("pointerdown", ({ target }) => { pressed = target; }, true);
for (const end of ["pointerup", "pointercancel"]) {
  document.addEventListener(end, () => { pressed = null; }, true);
}

/** Whether somebody is in the middle of something there: a click, a marked text, an open menu, a field. */
function isInHand(element) {
  const selection = document.getSelection();
  const isMarked = selection !== null && !selection.isCollapsed && selection.containsNode(element, true);
  return isMarked
    || element.contains(pressed)
    || element.querySelector("details[data-menu][open], :is(input, select, textarea):focus") !== null;
}

/**
 * Elements to be refreshed, by id: while one waits, what an earlier request brings may stand in its place.
 *
 * htmx would drop a request that waits for another one of an element which is replaced meanwhile, and with it the last
 * word on what changed; and what a form asked for is lost if its target is replaced before the answer. So no refresh
 * begins while anything is under way to the same place. Forms end a refresh that is, by hx-sync="#place:replace".
 */
class RefreshQueue {
  #due = new Set();
  #timer = null;
  /** The last request by its target's id. */
  #underWay = new Map();
  #askedAtMs = new Map();

  constructor() {
    document.addEventListener("htmx:beforeSend", ({ detail }) => {
      this.#underWay.set(detail.target.id, detail.xhr);
      this.#askedAtMs.set(detail.target.id, performance.now());
    });
    document.addEventListener("htmx:afterRequest", ({ detail }) => {
      // htmx hears events of what it has put in place only once it has settled; its timer for that was set before this one.
      setTimeout(() => this.#ended(detail), window.htmx.config.defaultSettleDelay);
      if (detail.elt.matches("[data-refresh-on]") && (detail.xhr.status === 0 || detail.xhr.status >= 500)) {
        setTimeout(() => this.add([detail.elt]), REFRESH_AFTER_ERROR_MS);
      }
    });
  }

  #ended({ target, xhr }) {
    if (this.#underWay.get(target.id) === xhr) {
      this.#underWay.delete(target.id);
    }
  }

  add(elements) {
    for (const { id } of elements) {
      this.#due.add(id);
    }
    this.#timer ??= setTimeout(() => this.#run(), REFRESH_DEBOUNCE_MS);
  }

  /** Whether the element shows what was so at that moment, or something later. */
  shows(element, momentMs) {
    // What came with the page itself was asked for when it was.
    return (this.#askedAtMs.get(element.id) ?? 0) > momentMs;
  }

  #run() {
    this.#timer = null;
    const due = [...this.#due].map((id) => document.getElementById(id)).filter(Boolean);
    this.#due.clear();
    for (const element of due) {
      if (isInHand(element) || this.#underWay.has(element.id)) {
        this.#due.add(element.id);
      } else {
        window.htmx?.trigger(element, "refresh");
      }
    }
    if (this.#due.size > 0) {
      this.#timer = setTimeout(() => this.#run(), REFRESH_RETRY_MS);
    }
  }
}

class LiveSocket {
  #socket = null;
  #subscribed = new Set();
  #refused = new Set();
  #retryMs = FIRST_RETRY_MS;
  #retryTimer = null;
  #silenceTimer = null;
  #wasOpen = false;
  #refreshes = new RefreshQueue();

  open() {
    clearTimeout(this.#retryTimer);
    showState("connecting");
    const url = new URL("/ws/v1/live", window.location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    this.#socket = new WebSocket(url);
    this.#socket.addEventListener("open", () => this.#opened());
    this.#socket.addEventListener("message", (event) => this.#received(JSON.parse(event.data)));
    this.#socket.addEventListener("close", (event) => this.#closed(event));
  }

  /** Refreshes what says how old it is, unless nobody looks. */
  refreshSteadily() {
    if (!document.hidden) {
      this.#refreshes.add(document.querySelectorAll("[data-refresh-steadily]"));
    }
  }

  /** Refreshes what the element stands in. */
  refreshAround(element) {
    const holder = element.closest("[data-refresh-on]");
    if (holder) {
      this.#refreshes.add([holder]);
    }
  }

  /** Ends the line for good, as when the page is left. */
  stop() {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#silenceTimer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  /** Brings the server's list of topics in line with the page's. */
  follow(topics) {
    if (this.#socket?.readyState !== WebSocket.OPEN) {
      return;
    }
    const subscribe = [...topics].filter((topic) => !this.#subscribed.has(topic) && !this.#refused.has(topic));
    const unsubscribe = [...this.#subscribed].filter((topic) => !topics.has(topic));
    for (const topic of subscribe) {
      this.#subscribed.add(topic);
    }
    for (const topic of unsubscribe) {
      this.#subscribed.delete(topic);
    }
    if (subscribe.length + unsubscribe.length > 0) {
      this.#socket.send(JSON.stringify({ subscribe, unsubscribe }));
    }
  }

  #opened() {
    this.#subscribed.clear();
    this.#refused.clear();
    this.#expectWord();
    showState("live");
    this.follow(topicsOnPage());
    if (this.#wasOpen) {
      // What changed while the line was down was told to nobody.
      this.#refreshes.add(document.querySelectorAll("[data-refresh-on]"));
    }
    this.#wasOpen = true;
  }

  #received(message) {
    // Only now: a server that accepts and then closes at once must not be asked again at once.
    this.#retryMs = FIRST_RETRY_MS;
    this.#expectWord();
    if (message.refused) {
      for (const topic of message.refused) {
        this.#subscribed.delete(topic);
        this.#refused.add(topic);
      }
      this.#catchUp(message.changed_seconds_ago);
      return;
    }
    if (!message.topic) {
      return;
    }
    document.dispatchEvent(new CustomEvent(`topic:${message.topic}`, { detail: message }));
    if (message.changed) {
      this.#refreshes.add(elementsRefreshedOn(message.topic));
    } else {
      document.dispatchEvent(new CustomEvent("readings", { detail: message }));
    }
  }

  /** Refreshes what changed after it was asked for and before anybody would have told. */
  #catchUp(changedSecondsAgo) {
    for (const [topic, seconds] of Object.entries(changedSecondsAgo)) {
      const changedAtMs = performance.now() - (seconds ?? 0) * 1000;
      const missed = elementsRefreshedOn(topic).filter((element) => !this.#refreshes.shows(element, changedAtMs));
      this.#refreshes.add(missed);
    }
  }

  #closed(event) {
    if (event.target !== this.#socket) {
      return;
    }
    clearTimeout(this.#silenceTimer);
    this.#socket = null;
    if (event.code === CLOSED_SIGNED_OUT) {
      showState("offline", "signed out");
      return;
    }
    showState("offline");
    const spread = 0.5 + Math.random() / 2;
    this.#retryTimer = setTimeout(() => this.open(), this.#retryMs * spread);
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
  }

  #expectWord() {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => this.#socket?.close(), SILENCE_MS);
  }
}

const live = new LiveSocket();
live.open();
document.addEventListener("htmx:afterSettle", () => live.follow(topicsOnPage()));
setInterval(() => live.refreshSteadily(), REFRESH_STEADILY_MS);
document.addEventListener("agentchange", ({ target }) => live.refreshAround(target));
window.addEventListener("pagehide", () => live.stop());
window.addEventListener("pageshow", (event) => event.persisted && live.open());
