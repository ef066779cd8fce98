// The page: which view is shown, and the stream of looks that the live ones are made of.
//
// A view is a function that fills a place and may give back `{look(now, before), end()}`.

import { audit } from "./audit.js";
import { cluster } from "./cluster.js";
import { make } from "./dom.js";
import { atClock } from "./format.js";
import { history } from "./history.js";
import { learned } from "./learned.js";
import { machine } from "./machine.js";
import { misses } from "./misses.js";
import { now } from "./now.js";
import { recent } from "./recent.js";
import { routes } from "./routes.js";
import { search } from "./search.js";
import { sites } from "./sites.js";
import { url } from "./url.js";

const VIEWS = { now, history, routes, misses, recent, url, learned, search, audit, sites, machine, cluster };
const LOOKS_MAX = 180;
/** News come once a second; after so long without any something is broken. */
const SILENCE_MS = 4000;

const place = document.getElementById("view");
const state = document.getElementById("state");
/** The last looks, oldest first. */
const looks = [];
let shown = {};

function show() {
  const [name, query] = location.hash.slice(1).split("?");
  // A link to the main part is no view.
  if (name === "view") return place.focus();
  const known = VIEWS[name] ? name : "now";
  shown.end?.();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${known}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const root = make("div", { class: `view ${known}`, "data-view": known });
  place.replaceChildren(root);
  shown = VIEWS[known](root, new URLSearchParams(query)) ?? {};
  document.title = `${document.querySelector("nav [aria-current]").textContent} · Wick`;
  if (looks.length > 0) shown.look?.(looks);
}

/** Said only when it changes: a screen reader reads it out. */
function say(kind, text) {
  if (state.dataset.kind === kind) return;
  state.dataset.kind = kind;
  state.textContent = text;
  document.body.classList.toggle("stopped", kind === "stopped");
}

function stop() {
  const last = looks.at(-1);
  const since = last ? `; these numbers are of ${atClock(last.time_ms)}` : "";
  say("stopped", `Stopped: nothing is heard of Wick${since}. It is tried again.`);
}

function listen() {
  const stream = new EventSource("/api/stream");
  let silence = setTimeout(stop, SILENCE_MS);
  stream.addEventListener("message", (event) => {
    clearTimeout(silence);
    silence = setTimeout(stop, SILENCE_MS);
    const look = JSON.parse(event.data);
    // Another process counts anew.
    if (looks.length > 0 && look.answers < looks.at(-1).answers) looks.length = 0;
    looks.push(look);
    if (looks.length > LOOKS_MAX) looks.shift();
    say("live", "Live");
    shown.look?.(looks);
  });
  stream.addEventListener("error", () => {
    stop();
    // A browser tries again by itself, but not after an answer that refuses.
    if (stream.readyState === EventSource.CLOSED) {
      clearTimeout(silence);
      setTimeout(listen, SILENCE_MS);
    }
  });
}

addEventListener("hashchange", show);
show();
listen();
