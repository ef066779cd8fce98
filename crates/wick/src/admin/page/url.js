// One URL: what would become of a request for it now, fact by fact, as `wick explain` says it.

import { ask, into, make } from "./dom.js";

const FIELDS = [
  ["url", "Address", "http:" + "//example.org/page?id=1"],
  ["cookies", "Cookie field, if any", "name=value; other=value"],
  ["user_agent", "User-Agent field, if any", ""],
];

export function url(root, wanted) {
  const place = make("div", { "aria-live": "polite" });
  const form = make("form", { class: "stack" }, FIELDS.map(([name, label, example]) =>
    make("p", {}, make("label", { for: name }, label),
      make("input", { id: name, name, placeholder: example, required: name === "url", autocomplete: "off", value: wanted.get(name) ?? "" }))),
    make("button", {}, "Explain"));
  const load = () => into(place, ask("/api/url", Object.fromEntries(new FormData(form))), ({ lines }) => show(lines));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    load();
  });
  root.append(make("h2", {}, "One URL explained"),
    make("p", { class: "hint" }, "The origin isn't asked, and nothing changes."), form, place);
  if (wanted.get("url")) load();
}

function show(lines) {
  const line = ({ topic, text }) => make("div", { class: topic === "verdict" ? "verdict" : null }, make("dt", {}, topic), make("dd", {}, text));
  return make("dl", { class: "chain" }, lines.map(line));
}
