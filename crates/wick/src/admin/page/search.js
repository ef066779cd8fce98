// Search: how each site's search stands, what is looked for most, and what nothing fitted.

import { ask, into, make, table } from "./dom.js";
import { bytes, count } from "./format.js";

export function search(root) {
  const place = make("div", {});
  root.append(make("h2", {}, "Search"), place);
  into(place, ask("/api/search"), ({ sites, tells_queries }) => {
    if (sites.length === 0) return [make("p", {}, "No site is searched. ", make("code", {}, "search = true"), " for one finds its public pages.")];
    return [...(tells_queries ? [] : [hint()]), ...sites.map((one) => site(one))];
  });
}

const hint = () => make("p", { class: "hint" }, "What visitors look for is told only to who shows a token: set ",
  make("code", {}, "admin_token"), " in wick.toml, or ask ", make("code", {}, "wick search queries"), ".");

function site(one) {
  const { counters } = one;
  const pairs = [
    ["Pages", one.pages === null ? "the index isn't open yet" : `${count(one.pages)}, in ${bytes(one.disk_bytes)}`],
    ["Vouched for", count(one.vouched)],
    ["Searches", `${count(counters.searches)}, of which nothing fitted all of ${count(counters.searches_missed)}; ${count(counters.searches_refused)} were told to come again`],
    ["Feeds", `${count(one.feeds)} kept; ${count(counters.feeds_unchanged)} answers without a search`],
    ["Crawl", one.crawl],
    ...one.sources.map(([name, state]) => [`Source ${name}`, state]),
  ];
  return make("section", { "aria-label": one.site }, make("h3", {}, one.site),
    make("dl", { class: "pairs" }, pairs.map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
    one.queries && queries("Asked most", "Nobody has looked for anything since Wick began.", one.queries.top),
    one.queries && queries("Nothing fitted all of it", "Something was found for all that was asked.", one.queries.missed));
}

function queries(title, none, all) {
  if (all.length === 0) return make("p", {}, none);
  return table(title, [
    { head: "Query", cell: (query) => query.query },
    { head: "Asked", number: true, cell: (query) => count(query.asked) },
    { head: "Missed", number: true, cell: (query) => count(query.missed) },
  ], all);
}
