// Cluster: who of the nodes is there, how each one is, and who reads which database for all.

import { ask, make, refill, stacked, table } from "./dom.js";
import { amount, bytes, count, length, percent, time } from "./format.js";

const EVERY_MS = 2000;
const share = (part, all) => (all > 0 ? part / all : null);

export function cluster(root) {
  const place = make("div", {});
  root.append(make("h2", {}, "Cluster"), place);
  let timer = null;
  let has_ended = false;
  const again = async () => {
    try {
      const told = await ask("/api/cluster");
      if (!has_ended) refill(place, told.nodes.length > 0 ? show(told) : alone());
    } catch (error) {
      if (!has_ended) place.replaceChildren(make("p", { class: "bad", role: "alert" }, `This can't be shown: ${error.message}`));
    }
    if (!has_ended) timer = setTimeout(again, EVERY_MS);
  };
  again();
  return { end: () => { has_ended = true; clearTimeout(timer); } };
}

function alone() {
  return make("p", {}, "This Wick is the only one: several before one site know of each other by ", make("code", {}, "[cluster]"), " in wick.toml.");
}

function show(told) {
  const touch = told.is_in_touch
    ? `in touch, for ${time(told.in_touch_for_ms * 1000)} more if nothing is heard`
    : "out of touch: what is older than the lag limit is asked for again";
  const pairs = [
    ["This node", `${told.node} of ${told.cluster}`],
    ["Touch", `${touch} (lag limit ${time(told.lag_ms * 1000)})`],
    ["Told", `${count(told.told)} by this node, ${count(told.heard)} by others; ${count(told.missed)} times something may have been missed`],
    told.listen && ["Pages", `${count(told.pages.asked)} asked of other nodes, ${count(told.pages.came)} came; ${count(told.pages.given)} given to others`],
    told.waiting > 0 && ["Waiting", `${count(told.waiting)} to be told`],
    told.error && ["Trouble", told.error],
  ].filter(Boolean);
  return [
    make("section", { "aria-label": "This node" }, make("dl", { class: "pairs" }, pairs.map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]))),
    ...nodes(told),
    ...readings(told),
  ];
}

function nodes({ nodes, sum }) {
  const figure = (of) => (node) => (node.told ? of(node.told) : "–");
  const columns = [
    { head: "Node", cell: (node) => [node.node, node.is_own && " (this one)"] },
    { head: "State", cell: state },
    { head: "Version", cell: figure((told) => told.version) },
    { head: "Requests a second", number: true, cell: figure((told) => amount(told.answers_per_second)) },
    { head: "From memory", number: true, cell: figure((told) => percent(share(told.hits, told.answers))) },
    { head: "Connections", number: true, cell: figure((told) => count(told.connections)) },
    { head: "Memory", number: true, cell: figure((told) => `${bytes(told.memory_bytes)} of ${bytes(told.memory_limit_bytes)}`) },
    { head: "Pages", number: true, cell: figure((told) => count(told.pages)) },
    { head: "Sweeps", number: true, cell: figure((told) => count(told.sweeps)) },
    { head: "Up for", cell: figure((told) => length(told.uptime_seconds)) },
  ];
  const silent = sum.silent > 0 ? ` without ${count(sum.silent)} that say nothing` : "";
  const all = `All of them${silent}: ${amount(sum.answers_per_second)} requests a second; since their start ${count(sum.answers)}, ${percent(share(sum.hits, sum.answers))} of them from memory; ${count(sum.pages)} pages in ${bytes(sum.memory_bytes)}.`;
  return [make("h3", {}, "Nodes"), make("p", { "data-sum": sum.nodes }, all), stacked("How each node is", columns, nodes)];
}

/** In words, with its colour. */
function state(node) {
  const [kind, text] = node.is_missing ? ["trouble", `missing for ${time(node.behind_ms * 1000)}`]
    : !node.told ? ["trouble", "says nothing of itself"]
      : !node.told.is_in_touch ? ["trouble", "out of touch"]
        : node.is_draining ? ["off", "draining"]
          : ["on", node.is_own ? "in touch" : `in touch; ${time(node.behind_ms * 1000)} behind`];
  return make("span", { class: `state ${kind}`, "data-node": node.node }, text);
}

function readings({ readings }) {
  const columns = [
    { head: "Database", cell: (one) => make("code", {}, one.source) },
    { head: "Read by", cell: (one) => one.by ?? "nobody yet" },
    { head: "Followed", cell: (one) => make("span", { class: `state ${one.is_followed ? "on" : "trouble"}` }, one.is_followed ? "followed" : "not yet: its pages are fresh for seconds") },
  ];
  const what = readings.length > 0
    ? table("Databases that one node reads for all", columns, readings)
    : make("p", {}, "No database is read by one node for all.");
  return [make("h3", {}, "Databases"), what];
}
