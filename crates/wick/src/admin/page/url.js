// One URL: what would become of a request for it now, fact by fact, as `wick explain` says it;
// and what a stranger is answered, asked for at this moment.

import { ask, into, make, send } from "./dom.js";
import { bytes, count, length, time } from "./format.js";

const FIELDS = [
  ["url", "Address", "http:" + "//example.org/page?id=1"],
  ["cookies", "Cookie field, if any", "name=value; other=value"],
  ["user_agent", "User-Agent field; this browser's if empty", ""],
];

export function url(root, wanted) {
  const place = make("div", { "aria-live": "polite" });
  const input = ([name, label, example]) => make("p", {}, make("label", { for: name }, label),
    make("input", { id: name, name, placeholder: example, required: name === "url", autocomplete: "off", value: wanted.get(name) ?? "" }));
  const asking = make("button", { type: "button", id: "try" }, "Fetch it as a stranger now");
  const form = make("form", { class: "stack" }, FIELDS.map(input), make("p", { class: "bar" }, make("button", {}, "Explain"), asking));
  const fields = () => Object.fromEntries(new FormData(form));
  const load = () => into(place, ask("/api/url", { ...fields(), user_agent: fields().user_agent || navigator.userAgent }), ({ lines }) => explained(lines));
  const tryOut = async () => {
    if (!form.reportValidity()) return;
    asking.disabled = true;
    const { url: address, user_agent: agent } = fields();
    const order = { url: address, user_agent: agent || navigator.userAgent, languages: navigator.languages.join(", ") };
    await into(place, send("/api/try", order), (tried) => answered(tried));
    asking.disabled = false;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    load();
  });
  asking.addEventListener("click", tryOut);
  root.append(make("h2", {}, "One URL explained"),
    make("p", { class: "hint" }, "To explain asks no origin and changes nothing. To fetch asks as a visitor without cookies does: on a miss the origin is asked, and its answer is kept for others as it would be for a visitor's request. It counts as no visit."), form, place);
  if (wanted.get("url")) load();
}

function explained(lines) {
  const line = ({ topic, text }) => make("div", { class: topic === "verdict" ? "verdict" : null }, make("dt", {}, topic), make("dd", {}, text));
  return make("dl", { class: "chain" }, lines.map(line));
}

const pair = ([name, text]) => make("div", { class: name === "verdict" ? "verdict" : null }, make("dt", {}, name), make("dd", {}, text));

function answered(tried) {
  const phases = tried.phases.map(([name, took]) => `${name} ${time(took)}`).join(", ");
  const facts = [
    ["status", String(tried.status)],
    tried.location && ["leads to", `${tried.location} (not followed)`],
    ["time", `${time(tried.head_us)} to the head, ${time(tried.took_us)} to the end${phases ? `: ${phases}` : ""}`],
    ["size", `${bytes(tried.body_bytes)}${tried.is_whole ? "" : ", of which this is the beginning"}`],
    tried.content_type && ["type", tried.content_type],
    tried.unstored && ["not stored", tried.unstored],
    ["stored", stored(tried)],
    ["verdict", tried.verdict],
  ].filter(Boolean);
  return [
    make("dl", { class: "chain tried" }, facts.map(pair)),
    tried.stored?.difference && beside(tried.stored.difference),
    tried.text && make("details", {}, make("summary", {}, "The answer as text"), text("The answer as text", tried.text)),
  ].filter(Boolean);
}

function stored({ stored: one, status }) {
  if (!one) return "nothing lay in memory for such a stranger before";
  const what = `${bytes(one.body_bytes)}, status ${one.status}, ${length(one.age_seconds)} old`;
  if (one.difference) return `${what}; it differs from byte ${count(one.difference.at_byte)} on (line ${count(one.difference.line)})`;
  return one.status === status ? `${what}; the same as this answer` : `${what}; the same bytes with another status`;
}

const beside = (one) => make("div", { class: "beside" },
  make("div", {}, make("h3", {}, "Stored"), text("What is stored", one.stored)),
  make("div", {}, make("h3", {}, "Answered now"), text("What was answered", one.answered)));

/** It is put in as text, and so never run. */
const text = (label, content) => make("pre", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, content);
