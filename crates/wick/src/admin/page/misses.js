// Misses by price: what the origin's time goes into, what would save it, and how to undo that.

import { ask, into, make, toCopy } from "./dom.js";
import { percent, time } from "./format.js";

export function misses(root) {
  const place = make("div", {});
  root.append(make("h2", {}, "Misses by price"),
    make("p", { class: "hint" }, "What the origin worked for since the start. A saving is an upper bound: the first visit to each page has to be made by somebody."), place);
  into(place, ask("/api/misses"), (all) => {
    if (all.length === 0) return make("p", {}, "The origin had nothing to do yet.");
    all.sort((one, other) => other.gain_us - one.gain_us || other.origin_us - one.origin_us);
    return make("ol", { class: "findings" }, all.map(finding));
  });
}

/** Settings that a fix may name, as they are written. */
const SETTINGS = {
  ignore_no_store: (one) => [beginning(one.route)],
  never_share: (one) => [beginning(one.route)],
  ignore_query: () => ["PARAMETER"],
  foreign_cookies: () => ["COOKIE"],
  app_cookies: () => ["COOKIE"],
  memory: () => "128M",
};

/** A route as an owner writes it: up to where it says that anything may follow. */
const beginning = (route) => route.replace(/\{.*/, "*");

/** What stands in backquotes is of the settings; the parts of a text, those as code. */
const worded = (text) => text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 1 ? make("code", {}, part) : part));

function lines(one) {
  const named = [...one.fix.matchAll(/`([^`]+)`/g)].map((found) => found[1]);
  return named.filter((name) => SETTINGS[name]).map((name) => `${name} = ${JSON.stringify(SETTINGS[name](one))}`);
}

function finding(one) {
  const isFix = one.gain_us > 0;
  const copies = isFix ? lines(one) : [];
  return make("li", { "data-finding": one.id },
    make("h3", {}, isFix ? `Up to ${time(one.gain_us)} to save` : `${time(one.origin_us)}, nothing to save`),
    make("p", {}, `${one.evidence}.`),
    make("meter", { min: 0, max: 1, value: one.share, "aria-label": `${percent(one.share)} of the origin's time` }),
    make("dl", { class: "pairs" },
      make("dt", {}, isFix ? "What to do" : "Why"), make("dd", {}, worded(one.fix)),
      copies.length > 0 && [make("dt", {}, "In wick.toml"), make("dd", {}, copies.map((line) => [toCopy(line), " "]))],
      one.revert && [make("dt", {}, "To undo it"), make("dd", {}, worded(one.revert))]));
}
