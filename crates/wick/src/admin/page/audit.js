// Audit: what is wrong with the pages that are stored, by rule and route, and what of it is new.

import { ask, into, make, stacked } from "./dom.js";
import { count, length } from "./format.js";

/** Within which time something is new; nothing tells Wick of a deploy. */
const TIMES = [["3600", "an hour"], ["86400", "a day"], ["604800", "a week"]];

export function audit(root, wanted) {
  const place = make("div", {});
  const chosen = wanted.get("since_seconds") ?? "86400";
  const times = make("select", { id: "since" }, TIMES.map(([seconds, name]) => make("option", { value: seconds, selected: seconds === chosen }, name)));
  times.addEventListener("change", () => { location.hash = `#audit?since_seconds=${times.value}`; });
  root.append(make("h2", {}, "Audit"), make("p", { class: "bar" }, make("label", { for: "since" }, "New is what was found within"), times), place);
  into(place, ask("/api/audit", { since_seconds: chosen }), ({ sites, tells_addresses }) => {
    if (sites.length === 0) return [make("p", {}, "No site's pages are audited. ", make("code", {}, "audit = true"), " for one judges them as they are stored.")];
    return [...(tells_addresses ? [] : [hint()]), ...sites.map((one) => site(one))];
  });
}

const hint = () => make("p", { class: "hint" }, "Addresses of pages are told only to who shows a token: set ",
  make("code", {}, "admin_token"), " in wick.toml, or ask ", make("code", {}, "wick audit status"), ".");

function site({ now, fixed, since_seconds: seconds, groups, groups_left: left }) {
  const pairs = [
    ["Pages", count(now.pages)],
    ["What stands", `${count(now.errors)} errors, ${count(now.warnings)} warnings, ${count(now.notices)} notices`],
    ["Fixed", `${count(fixed)} within ${length(seconds)}`],
  ];
  return make("section", { "aria-label": now.site }, make("h3", {}, now.site),
    make("dl", { class: "pairs" }, pairs.map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
    groups.length > 0 ? stacked("The worst first", COLUMNS, groups) : make("p", {}, now.pages > 0 ? "Nothing is wrong with what is stored." : "No page was judged yet."),
    left > 0 && make("p", { class: "hint" }, `And ${count(left)} more: `, make("code", {}, "wick audit status --format json"), " tells all."));
}

const COLUMNS = [
  { head: "What", cell: what },
  { head: "Severity", cell: ({ severity }) => make("span", { class: `severity ${severity}` }, severity) },
  { head: "Route", cell: ({ route }) => make("code", {}, route) },
  { head: "Found", number: true, cell: (one) => count(one.count) },
  { head: "Pages", number: true, cell: (one) => count(one.pages) },
  { head: "New", number: true, cell: (one) => count(one.new) },
  { head: "Such as", cell: ({ examples }) => (examples ? make("ul", { class: "examples" }, examples.map((url) => make("li", {}, example(url)))) : "–") },
];

function what({ rule, title, why, mend }) {
  return make("details", {}, make("summary", {}, title || rule), make("p", {}, make("code", {}, rule)), make("p", {}, `${why} ${mend}`));
}

/** A page of the site itself, which isn't told from where somebody came. */
function example(url) {
  if (!/^https?:/.test(url)) return url;
  const { pathname, search } = new URL(url);
  return make("a", { href: url, rel: "noreferrer", target: "_blank" }, pathname + search);
}
