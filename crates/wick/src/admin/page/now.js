// Now: what is asked for at this moment, what it costs, and what is bad.

import { chart } from "./chart.js";
import { make, refill, table } from "./dom.js";
import { amount, bytes, count, length, percent, time } from "./format.js";

/** Rates are those of so many looks, which are seconds. */
const LATELY = 10;
const share = (part, all) => (all > 0 ? part / all : null);

export function now(root) {
  const alerts = make("div", { class: "alerts" });
  const tiles = make("dl", { class: "tiles" });
  const lately = make("div", {});
  const reasons = make("section", { "aria-labelledby": "why" });
  const modules = make("section", { "aria-labelledby": "modules" });
  root.append(make("h2", {}, "Now"), alerts, tiles, lately, reasons, modules);
  const look = (looks) => {
    const last = looks.at(-1);
    alerts.replaceChildren(...last.alerts.map((alert) => make("p", { class: "bad" }, make("strong", {}, `${alert.kind} ${alert.subject ?? ""}: `), `${alert.what}. ${alert.fix}`)));
    tiles.replaceChildren(...all(looks).map(tile));
    lately.replaceChildren(traffic(looks, root.clientWidth));
    show(reasons, last);
    parts(modules, last.modules);
  };
  return { look };
}

/** A number with its name, what it consists of, and a bar where it is a part of something. */
function tile({ name, value, note, part, id, bad }) {
  const bar = Number.isFinite(part) && make("meter", { min: 0, max: 1, high: 0.9, value: Math.min(1, part), "aria-label": name });
  return make("div", { class: bad ? "tile bad" : "tile", "data-tile": id }, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("small", {}, note), bar));
}

function all(looks) {
  const last = looks.at(-1);
  const before = looks.at(-1 - LATELY) ?? looks[0];
  const seconds = (last.time_ms - before.time_ms) / 1000;
  const [seen, seenBefore] = [last.observed ?? {}, before.observed ?? {}];
  const since = (name) => (seen[name] ?? 0) - (seenBefore[name] ?? 0);
  const [machine, cache] = [last.machine, last.cache];
  const busy = machine.cores.length > 0 ? machine.cores.reduce((sum, core) => sum + core, 0) / machine.cores.length : null;
  const pressure = Math.max(machine.pressure_processor_ratio ?? 0, machine.pressure_memory_ratio ?? 0, machine.pressure_disk_ratio ?? 0);
  const held = machine.process.resident_bytes;
  return [
    { id: "rate", name: "Requests a second", value: seconds > 0 ? amount((last.answers - before.answers) / seconds) : "…", note: `${count(last.answers)} since the start, ${length(last.uptime_seconds)} ago` },
    { id: "hits", name: "Requests from memory", value: percent(share(since("hits"), since("requests")) ?? share(seen.hits, seen.requests)), note: `${count(seen.hits)} of ${count(seen.requests)} since the start` },
    { id: "bytes", name: "Bytes from memory", value: percent(share(since("hit_bytes"), since("bytes")) ?? share(seen.hit_bytes, seen.bytes)), note: `${bytes(seen.hit_bytes)} of ${bytes(seen.bytes)} since the start` },
    workers(last),
    took("html", "Pages (HTML), half within", seen.html_p50_us, seen.html_p99_us),
    took("other", "All else, half within", seen.other_p50_us, seen.other_p99_us),
    { id: "errors", name: "Server errors (5xx)", value: count(since("errors")), note: `in the last ten seconds; ${count(seen.errors)} since the start`, bad: since("errors") > 0 },
    { id: "memory", name: "Memory of this process", value: bytes(held), note: `of ${bytes(cache.memory_bytes)} allowed; ${count(cache.pages)} pages in ${bytes(cache.used_bytes)}`, part: share(held, cache.memory_bytes), bad: held > cache.memory_bytes },
    { id: "processor", name: "Processor", value: percent(busy), note: `${machine.cores.length} cores; load ${amount(machine.load)}`, part: busy },
    { id: "pressure", name: "Pressure", value: percent(pressure), note: `processor ${percent(machine.pressure_processor_ratio)}, memory ${percent(machine.pressure_memory_ratio)}, disk ${percent(machine.pressure_disk_ratio)} of the time somebody waits` },
    ...tracker(last, before, seconds),
    ...nodes(last.cluster),
    { id: "machine", name: "Memory of the machine", value: bytes(machine.memory_available_bytes), note: `free of ${bytes(machine.memory_total_bytes)}; swap ${bytes(machine.swap_used_bytes)}` },
  ];
}

/** The BitTorrent tracker, where there is one. */
function tracker(last, before, seconds) {
  const told = last.tracker;
  if (!told) return [];
  const since = told.announces - (before.tracker?.announces ?? 0);
  const refused = Object.entries(told.refused).map(([why, number]) => `${count(number)} ${why}`).join(", ");
  return [
    { id: "peers", name: "Peers of the tracker", value: count(told.peers), note: `${count(told.seeders)} seed, of ${count(told.torrents)} torrents` },
    { id: "announces", name: "Announces a second", value: seconds > 0 ? amount(since / seconds) : "…", note: refused ? `refused: ${refused}` : `${count(told.announces)} since the start, none refused` },
    ...(told.counters.web_connections > 0 ? [{ id: "web", name: "Clients over WebSocket", value: count(told.web_connected), note: `${count(told.counters.web_offers)} offers and ${count(told.counters.web_answers)} answers handed on, ${count(told.counters.web_dropped)} dropped` }] : []),
    ...(told.books ? [{ id: "behind", name: "Batches behind", value: count(told.batches_behind), note: `${count(told.credits_pending)} credits wait; ${told.books.why || "the database takes them"}`, bad: told.batches_behind > 1 }] : []),
    ...(told.suspect_users + told.suspect_torrents > 0 ? [{ id: "suspects", name: "Suspects of the tracker", value: count(told.suspect_users + told.suspect_torrents), note: `${count(told.suspect_users)} users, ${count(told.suspect_torrents)} torrents: wick tracker suspects` }] : []),
  ];
}

/** All nodes together, where there are several. */
function nodes(sum) {
  if (!sum) return [];
  const silent = sum.silent > 0 ? `; ${count(sum.silent)} of ${count(sum.nodes)} say nothing` : ` of ${count(sum.nodes)} nodes`;
  return [
    { id: "nodes", name: "Requests a second, all nodes", value: amount(sum.answers_per_second), note: `${count(sum.answers)} since their start${silent}`, bad: sum.silent > 0 },
    { id: "nodes-hits", name: "From memory, all nodes", value: percent(share(sum.hits_per_second, sum.answers_per_second) ?? share(sum.hits, sum.answers)), note: `${count(sum.pages)} pages in ${bytes(sum.memory_bytes)}` },
  ];
}

/** How long answers of one sort took lately. */
function took(id, name, half, most) {
  const note = Number.isFinite(half) ? `99 % within ${time(most)}, in the last ten seconds` : "none in the last ten seconds";
  return { id, name, value: time(half), note };
}

/** Places at origins: php-fpm's children where it is one. */
function workers(last) {
  const sum = (name) => last.sites.reduce((total, site) => total + (site[name] ?? 0), 0);
  const pools = last.sites.filter((site) => site.php?.pool);
  const [slots, taken, waiting] = [sum("slots"), sum("slots_taken"), sum("waiting")];
  const name = last.sites.some((site) => site.php) ? "PHP workers busy" : "Origin places taken";
  const queue = pools.reduce((total, site) => total + site.php.pool.queue, 0);
  return { id: "workers", name, value: `${count(taken)} of ${count(slots)}`, note: `${count(slots - taken)} free, ${count(waiting + queue)} waiting`, part: share(taken, slots), bad: waiting > 0 };
}

function traffic(looks, width) {
  const rates = looks.slice(1).map((look, at) => {
    const before = looks[at];
    const seconds = (look.time_ms - before.time_ms) / 1000;
    const rate = (name) => ((look.observed?.[name] ?? 0) - (before.observed?.[name] ?? 0)) / seconds;
    return { time: look.time_ms / 1000, all: rate("requests"), hits: rate("hits") };
  });
  const to = looks.at(-1).time_ms / 1000;
  return chart({
    title: "Requests a second",
    lines: [{ name: "all", kind: "rest", value: (point) => point.all }, { name: "from memory", kind: "hits", value: (point) => point.hits }],
    points: rates.filter((point) => point.time > to - 120), from: to - 120, to, step: 2, show: amount, width,
  });
}

function show(place, last) {
  const rows = Object.entries(last.verdicts).sort((one, other) => other[1] - one[1]);
  const columns = [
    { head: "Verdict", cell: ([verdict]) => make("code", {}, verdict) },
    { head: "Answers", number: true, cell: ([verdict, number]) => make("span", { "data-verdict": verdict }, count(number)) },
    { head: "Share", number: true, cell: ([, number]) => percent(number / last.answers) },
  ];
  refill(place, [make("h3", { id: "why" }, "Why, since the start"), table("Answers by verdict, since the start", columns, rows)]);
}

const STATES = { on: "on", off: "off", trouble: "trouble" };

/** The parts of Wick that may be on or off. */
function parts(place, modules) {
  const figure = ([name, number]) => (name.endsWith("bytes")
    ? `${name.replace(/_?bytes$/, "").replaceAll("_", " ")} ${bytes(number)}`
    : `${name.replaceAll("_", " ")} ${count(number)}`).trim();
  const columns = [
    { head: "Module", cell: (one) => one.name },
    { head: "State", cell: (one) => make("span", { class: `state ${one.state}`, "data-module": one.name }, STATES[one.state] ?? one.state) },
    { head: "Figures, since the start", cell: (one) => [one.note, Object.entries(one.figures).map(figure).join(", ")].filter(Boolean).join("; ") },
  ];
  refill(place, [make("h3", { id: "modules" }, "Modules"), table("Parts of Wick that may be on or off", columns, modules)]);
}
