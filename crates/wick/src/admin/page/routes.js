// Routes: what each kind of address is asked for, and costs.

import { ask, into, make, table } from "./dom.js";
import { count, percent, time } from "./format.js";

const share = (route) => (route.requests > 0 ? route.hits / route.requests : 0);
const name = (route) => route.route || "other paths";
const COLUMNS = [
  { head: "Route", sort: name, cell: (route) => make("a", { href: `#recent?route=${encodeURIComponent(route.route)}` }, name(route)) },
  { head: "Site", sort: (route) => route.site, cell: (route) => route.site || "none" },
  { head: "Requests", sort: (route) => route.requests, number: true, cell: (route) => count(route.requests) },
  { head: "From memory", sort: share, number: true, cell: (route) => percent(share(route)) },
  { head: "Origin time", sort: (route) => route.origin_us, number: true, cell: (route) => time(route.origin_us) },
  { head: "Half within", sort: (route) => route.p50_us ?? 0, number: true, cell: (route) => time(route.p50_us) },
  { head: "99 % within", sort: (route) => route.p99_us ?? 0, number: true, cell: (route) => time(route.p99_us) },
  { head: "5xx", sort: (route) => route.errors, number: true, cell: (route) => count(route.errors) },
];

export function routes(root) {
  const filter = make("input", { id: "filter", type: "search", autocomplete: "off" });
  const place = make("div", {});
  const again = make("button", { type: "button" }, "Refresh");
  root.append(make("h2", {}, "Routes"),
    make("div", { class: "bar" }, make("label", { for: "filter" }, "Filter"), filter, again), place);
  let [known, by, isRising] = [[], COLUMNS[4], false];
  const heads = () => COLUMNS.map((column) => {
    const order = column === by ? (isRising ? "ascending" : "descending") : null;
    const sign = order ? (isRising ? " ▲" : " ▼") : "";
    const button = make("button", { type: "button", "data-sort": column.head }, column.head, make("span", { "aria-hidden": "true" }, sign));
    button.addEventListener("click", () => {
      [isRising, by] = [column === by ? !isRising : !column.number, column];
      show();
      place.querySelector(`[data-sort="${column.head}"]`).focus();
    });
    return make("th", { scope: "col", class: column.number && "number", "aria-sort": order }, button);
  });
  function show() {
    const text = filter.value.toLowerCase();
    const rows = known.filter((route) => `${name(route)} ${route.site}`.toLowerCase().includes(text));
    const compare = (one, other) => (by.sort(one) < by.sort(other) ? -1 : by.sort(one) > by.sort(other) ? 1 : 0) * (isRising ? 1 : -1);
    rows.sort(compare);
    const caption = `${count(rows.length)} of ${count(known.length)} routes, ${count(rows.reduce((sum, route) => sum + route.requests, 0))} requests since the start`;
    place.replaceChildren(table(caption, COLUMNS, rows, heads()));
  }
  const load = () => into(place, ask("/api/routes"), (told) => {
    known = told;
    show();
    return [...place.children];
  });
  filter.addEventListener("input", show);
  again.addEventListener("click", load);
  load();
}
