// History: what happened, from two minutes to a year, to look closer at.

import { chart } from "./chart.js";
import { ask, into, make, table } from "./dom.js";
import { amount, atFull, bytes, count, length, percent, time } from "./format.js";

const SPANS = [["2 minutes", 120], ["10 minutes", 600], ["1 hour", 3600], ["6 hours", 21600], ["1 day", 86400], ["1 week", 604800], ["30 days", 2592000], ["1 year", 31536000]];
const [SHORTEST, LONGEST] = [120, 31536000];
const TABLE_ROWS = 60;
const unix = () => Math.floor(Date.now() / 1000);

export function history(root, wanted) {
  // While `to` is null the end goes along with the time.
  let [seconds, to] = [Number(wanted.get("seconds")) || 3600, Number(wanted.get("to")) || null];
  let [timer, turn] = [null, 0];
  const charts = make("div", { class: "charts", tabindex: 0, role: "group", "aria-label": "Charts", "aria-describedby": "keys" });
  const stretch = make("span", { role: "status" });
  const total = make("span", {});
  const select = make("select", { id: "length" }, SPANS.map(([name, size]) => make("option", { value: size }, name)), make("option", { value: "", hidden: true }, "drawn"));
  const button = (name, act) => make("button", { type: "button", onclick: act }, name);
  const end = () => to ?? unix() + 1;
  const move = (size, until) => {
    seconds = Math.round(Math.min(LONGEST, Math.max(SHORTEST, size)));
    to = until === null || until >= unix() ? null : Math.round(until);
    window.history.replaceState(null, "", `#history?seconds=${seconds}${to ? `&to=${to}` : ""}`);
    load();
  };
  const about = (factor) => {
    const middle = end() - seconds / 2;
    move(seconds * factor, to === null ? null : middle + (seconds * factor) / 2);
  };
  const acts = {
    in: () => about(0.5), out: () => about(2), now: () => move(seconds, null),
    earlier: () => move(seconds, end() - seconds / 2), later: () => move(seconds, end() + seconds / 2),
  };
  const keys = { "+": acts.in, "=": acts.in, "-": acts.out, ArrowLeft: acts.earlier, ArrowRight: acts.later, End: acts.now };
  charts.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  select.addEventListener("change", () => move(Number(select.value), to));
  async function load() {
    clearTimeout(timer);
    // Nothing is drawn anew under a hand that draws.
    if (charts.querySelector(".drawn")) {
      timer = setTimeout(load, 1000);
      return;
    }
    const [own, until] = [(turn += 1), end()];
    const from = until - seconds;
    select.value = SPANS.some(([, size]) => size === seconds) ? seconds : "";
    const width = Math.max(280, charts.clientWidth - 2);
    // As many points as there are pixels for, and no more.
    const asked = ask("/api/history", { from, to: until, points: Math.min(600, Math.round(width)) });
    await asked.catch(() => {});
    // Another stretch was wanted meanwhile, or a hand has begun to draw.
    if (own !== turn) return;
    if (charts.querySelector(".drawn")) {
      timer = setTimeout(load, 1000);
      return;
    }
    await into(charts, asked, (points) => {
      const text = `${length(seconds)} until ${to ? atFull(to * 1000) : "now"}`;
      // It is read out when it changes, the number beside it isn't.
      if (stretch.textContent !== text) stretch.textContent = text;
      total.textContent = `: ${count(points.reduce((sum, point) => sum + point.requests, 0))} requests`;
      return show(points, from, until, width, (one, other) => move(other - one, other));
    });
    if (to === null && root.isConnected) timer = setTimeout(load, Math.max(2000, (seconds / 600) * 1000));
  }
  root.append(
    make("h2", {}, "History"),
    make("div", { class: "bar" }, make("label", { for: "length" }, "Length"), select,
      button("Zoom in", acts.in), button("Zoom out", acts.out), button("Earlier", acts.earlier), button("Later", acts.later), button("Now", acts.now)),
    make("p", {}, stretch, total),
    make("p", { id: "keys", class: "hint" }, "Draw over a chart to look closer. With the charts focused: + and − zoom, ← and → move, End goes to now."),
    charts);
  // What was drawn for another width, as before a phone was turned, is drawn anew.
  let drawn = charts.clientWidth;
  const turned = new ResizeObserver(() => {
    if (Math.abs(charts.clientWidth - drawn) < 2) return;
    drawn = charts.clientWidth;
    load();
  });
  turned.observe(charts);
  load();
  return {
    end: () => {
      clearTimeout(timer);
      turned.disconnect();
    },
  };
}

/** Points may be longer than was asked for; all of one answer are as long. */
function lengthOf(points, from, to) {
  const between = points.slice(1).map((point, at) => point.time - points[at].time);
  return between.length > 0 ? Math.min(...between) : Math.max(1, Math.ceil((to - from) / 600));
}

function show(points, from, to, width, zoom) {
  if (points.length === 0) return [make("p", {}, "Nothing was noted in this stretch of time.")];
  const step = lengthOf(points, from, to);
  const marks = points.flatMap((point) => point.marks.map((kind) => ({ kind, time: point.time })));
  const rate = (of) => (point) => of(point) / Math.max(1, point.covered);
  const one = (title, lines, shown) => chart({ title, lines, points, from, to, step, marks, show: shown, zoom, width });
  const times = (what) => [
    { name: "99 %", kind: "rest", value: (point) => point[`${what}_p99_us`] ?? NaN },
    { name: "half", kind: "hits", value: (point) => point[`${what}_p50_us`] ?? NaN },
  ];
  return [
    one("Requests a second", [
      { name: "all", kind: "rest", value: rate((point) => point.requests) },
      { name: "from memory", kind: "hits", value: rate((point) => point.hits) },
    ], amount),
    one("Time to answer, pages (HTML)", times("html"), time),
    one("Time to answer, all else", times("other"), time),
    one("Places busy at origins", [{ name: "on average", kind: "rest", value: rate((point) => point.origin_us / 1e6) }], amount),
    one("Server errors a second", [{ name: "5xx", kind: "errors", value: rate((point) => point.errors) }], amount),
    one("Memory", [{ name: "of this process", kind: "hits", value: (point) => point.memory_bytes || NaN }], bytes),
    happened(marks),
    numbers(points, step),
  ];
}

const KINDS = { start: "start", reload: "reload", purge: "purge", sweep: "sweep", alert: "alert", clock: "the clock was set back", overrule: "overruled" };
const dot = (kind) => make("span", { class: `dot ${kind}`, "aria-hidden": "true" });

/** What the lines across the charts are, how many of each, and when. */
function happened(marks) {
  const told = marks.slice(-50).reverse();
  const kinds = Object.keys(KINDS).map((kind) => [kind, marks.filter((mark) => mark.kind === kind).length]).filter(([, number]) => number > 0);
  const line = (mark) => make("li", {}, dot(mark.kind), ` ${atFull(mark.time * 1000)}: ${KINDS[mark.kind] ?? mark.kind}`);
  return make("div", {},
    kinds.length > 0 && make("p", { class: "kinds" }, kinds.map(([kind, number]) => make("span", { "data-mark": kind }, dot(kind), ` ${KINDS[kind]}: ${count(number)}`))),
    make("details", {}, make("summary", {}, `Marks: ${count(marks.length)}`),
      told.length > 0 ? make("ul", { class: "marks" }, told.map(line)) : make("p", {}, "No start, reload, purge, sweep or alert in this stretch.")));
}

function numbers(points, step) {
  // Some rows a person can read; the JSON has all.
  const rows = points.slice(-TABLE_ROWS).reverse();
  const columns = [
    { head: "From", cell: (point) => atFull(point.time * 1000) },
    { head: "Requests", number: true, cell: (point) => count(point.requests) },
    { head: "From memory", number: true, cell: (point) => percent(point.requests ? point.hits / point.requests : null) },
    { head: "Pages: half within", number: true, cell: (point) => time(point.html_p50_us) },
    { head: "99 % within", number: true, cell: (point) => time(point.html_p99_us) },
    { head: "All else: half within", number: true, cell: (point) => time(point.other_p50_us) },
    { head: "99 % within", number: true, cell: (point) => time(point.other_p99_us) },
    { head: "5xx", number: true, cell: (point) => count(point.errors) },
    { head: "Memory", number: true, cell: (point) => bytes(point.memory_bytes) },
    { head: "Marks", cell: (point) => point.marks.join(", ") },
  ];
  return make("details", {}, make("summary", {}, "As a table"), table(`The last ${rows.length} points of ${length(step)} each`, columns, rows));
}
