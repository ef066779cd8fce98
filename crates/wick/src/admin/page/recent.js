// Recent: the last answers, one a line, with why and where their time went.

import { ask, into, make, table } from "./dom.js";
import { atClock, bytes, count, time } from "./format.js";

const FIELDS = [["why", "Why", "pass, cookie, no-store"], ["route", "Route", "/thread/{id} or /thread*"], ["status", "Status", "200 or 5xx"]];

export function recent(root, wanted) {
  const place = make("div", {});
  const input = ([name, , example]) => make("input", { id: name, name, placeholder: example, autocomplete: "off", value: wanted.get(name) ?? "" });
  const form = make("form", { class: "bar" },
    FIELDS.map((field) => make("span", {}, make("label", { for: field[0] }, field[1]), input(field))), make("button", {}, "Show"));
  const load = () => into(place, ask("/api/recent", Object.fromEntries(new FormData(form))), show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    load();
  });
  root.append(make("h2", {}, "Recent answers"), form, place);
  load();
}

function show(told) {
  const phases = (line) => line.phases.map(([name, took]) => `${name} ${time(took)}`).join(", ");
  const address = told.has_paths
    ? { head: "Address", cell: (line) => `${line.method} ${line.host}${line.path}` }
    : { head: "Route", cell: (line) => `${line.method} ${line.route || "other paths"}` };
  const columns = [
    { head: "Time", cell: (line) => atClock(line.unix_ms) },
    address,
    { head: "Status", number: true, cell: (line) => String(line.status) },
    { head: "Verdict", cell: (line) => [make("code", {}, line.verdict), line.unstored && ` not stored: ${line.unstored}`] },
    { head: "Took", number: true, cell: (line) => time(line.took_us) },
    { head: "Body", number: true, cell: (line) => bytes(line.bytes) },
    { head: "Waited for", cell: phases },
  ];
  const rows = told.lines.toReversed();
  return [
    table(`${count(rows.length)} answers, the newest first`, columns, rows),
    !told.has_paths && make("p", { class: "hint" }, "Addresses are shown where admin_token is set; without it everybody on this machine could read what visitors ask for. ", make("code", {}, "wick log"), " shows them to Wick's own user."),
    told.left_out > 0 && make("p", { class: "hint" }, `${count(told.left_out)} hits came too fast to be shown one by one.`),
  ].filter(Boolean);
}
