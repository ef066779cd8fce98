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

/** What stands in backquotes, or looks like a line of the settings, is there to be copied. */
function lines(text) {
  return [...text.matchAll(/`([^`]+)`|(\b[a-z_]+ = (?:\[[^\]]*\]|"[^"]*"|[\w.]+))/g)].map((found) => found[1] ?? found[2]);
}

function finding(one) {
  const isFix = one.gain_us > 0;
  const copies = isFix ? lines(one.fix) : [];
  return make("li", { "data-finding": one.id },
    make("h3", {}, isFix ? `Up to ${time(one.gain_us)} to save` : `${time(one.origin_us)}, nothing to save`),
    make("p", {}, `${one.evidence}.`),
    make("meter", { min: 0, max: 1, value: one.share, "aria-label": `${percent(one.share)} of the origin's time` }),
    make("dl", { class: "pairs" },
      make("dt", {}, isFix ? "What to do" : "Why"), make("dd", {}, one.fix, copies.map((line) => [" ", toCopy(line)])),
      one.revert && [make("dt", {}, "To undo it"), make("dd", {}, one.revert)]));
}
