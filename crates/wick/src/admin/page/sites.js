// Sites: each one's origin, PHP, databases, changes and sweeps; and the certificates.

import { ask, make, refill, table } from "./dom.js";
import { bytes, count, length, percent } from "./format.js";

export function sites(root) {
  const place = make("div", {});
  root.append(make("h2", {}, "Sites"), place);
  // How each member of an origin is, is told in words, and seldom changes.
  let standing = new Map();
  ask("/api/learned").then(({ sites }) => { standing = new Map(sites.map((site) => [site.name, site.origin])); }).catch(() => {});
  const look = (looks) => {
    const last = looks.at(-1);
    const each = last.sites.map((site) => show(site, standing.get(site.name) ?? []));
    refill(place, [...each, certificates(last), counters(last)]);
  };
  return { look };
}

function show(site, standing) {
  const pairs = [
    ["Origin", site.slots === null ? "files" : `${count(site.slots_taken)} of ${count(site.slots)} places taken, ${count(site.waiting)} waiting`],
    ...standing.map((member) => ["Member", member]),
    ["Changes", site.is_followed === null ? "not listened for" : site.is_followed ? `heard: ${count(site.changes.heard)}, sweeps ${count(site.changes.sweeps)}` : "not heard at the moment"],
    ...php(site.php),
    ...site.databases.map((one) => [`${one.kind} ${one.name}`, one.lost ? `can't be asked: ${one.lost}` : `${count(one.connections)} connections, ${count(one.running)} statements running, ${count(one.slow)} slow`]),
  ];
  const all = { origin: site.origin, strangers: site.strangers, changes: site.changes };
  return make("section", { "aria-label": site.name }, make("h3", {}, site.name),
    make("dl", { class: "pairs" }, pairs.map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
    ...Object.entries(all).filter(([, counts]) => Object.keys(counts).length > 0).map(([name, counts]) => details(`Counts: ${name}`, `${site.name} ${name}`, counts)));
}

function php(one) {
  if (!one) return [];
  const [pool, cache] = [one.pool, one.opcache];
  return [
    ["PHP", pool ? `${count(pool.active)} busy, ${count(pool.idle)} idle, ${count(pool.queue)} in the queue; ${count(pool.accepted)} requests; at most ${count(pool.active_max)} at once` : "its status isn't known yet"],
    one.restarts !== null && ["Restarts of php-fpm", count(one.restarts)],
    cache && ["Opcode cache", `${count(cache.scripts)} scripts, ${bytes(cache.used_bytes)} used, ${bytes(cache.free_bytes)} free, ${percent(cache.hits / Math.max(1, cache.hits + cache.misses))} found`],
  ].filter(Boolean);
}

function certificates(last) {
  if (last.certificates.length === 0) return make("p", {}, "No certificates: HTTPS isn't listened for.");
  const left = (one) => one.ends_seconds - last.time_ms / 1000;
  return table("Certificates", [
    { head: "Names", cell: (one) => one.names.join(", ") },
    { head: "Ends in", number: true, cell: (one) => (left(one) > 0 ? length(left(one)) : "it has ended") },
  ], last.certificates);
}

const counters = (last) => make("section", { "aria-label": "All of Wick" }, make("h3", {}, "All of Wick"),
  details("Counts: cache", "cache", last.cache.counts),
  last.disk && details("Counts: disk", "disk", { pages: last.disk.pages, ...last.disk.counts }), details("Counts: all", "all", last.counters));

function details(title, name, counts) {
  const words = (text) => text.replaceAll("_", " ");
  return make("details", {}, make("summary", {}, title),
    table(`${title} (${name})`, [{ head: "What", cell: ([what]) => words(what) }, { head: "Count", number: true, cell: ([, number]) => count(number) }], Object.entries(counts)));
}
