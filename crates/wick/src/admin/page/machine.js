// The machine: what the doctor finds on it, ranked, and how its memory is shared out.

import { ask, into, make, table } from "./dom.js";
import { bytes, count, length, NONE } from "./format.js";

const CLASSES = { danger: "Danger", refusing: "Visitors are refused or queue", slow: "Slower than it has to be", latent: "Hurts under load or failure", folklore: "Folklore" };
const SURE = { high: "", medium: ", likely", low: ", perhaps" };

export function machine(root) {
  const place = make("div", {}, make("p", {}, "It is looked at for two seconds …"));
  root.append(make("h2", {}, "The machine"),
    make("p", { class: "hint" }, "What ", make("code", {}, "wick doctor"), " finds with the rights that Wick has; as root it sees more, and can apply what it says. Nothing is changed from here."), place);
  into(place, ask("/api/doctor"), (report) => [
    ranking(report.traffic),
    report.findings.length === 0
      ? make("p", {}, "Nothing to do.")
      : make("ol", { class: "findings" }, report.findings.map(finding)),
    budget(report.budget),
    remarks("Not seen", report.hidden, (one) => [one.what, one.cure]),
    remarks("Fine", report.fine, (one) => [one.id, one.because]),
    remarks("Not judged", report.unseen, (one) => [one.id, one.because]),
  ].filter(Boolean));
}

/** Less than a second is told as such: what is saved is an amount, not a moment. */
const saved = (ms) => (ms < 1000 ? "less than a second" : length(ms / 1000));

function ranking(traffic) {
  if (!traffic) return make("p", {}, "Ranked by what is at stake: there was too little traffic in the last day to tell what each would save.");
  return make("p", {}, `Ranked by what each would save of what visitors wait for: in ${length(traffic.noted_seconds)} of the last day the origins worked ${length(traffic.origin_ms / 1000)} for ${count(traffic.origin_requests)} of ${count(traffic.requests)} requests.`);
}

function finding(one) {
  const about = one.subject ? ` (${one.subject})` : "";
  const gain = one.saved_ms_a_day === null ? one.gain : `${one.gain}: ${saved(one.saved_ms_a_day)} a day`;
  return make("li", { "data-finding": one.id },
    make("h3", {}, `${one.id}${about}`),
    make("p", {}, `${CLASSES[one.class]}${SURE[one.confidence]}`),
    make("dl", { class: "pairs" },
      make("dt", {}, "Seen"), make("dd", {}, one.evidence),
      gain && [make("dt", {}, "Gain"), make("dd", {}, gain)],
      make("dt", {}, "What to do"),
      make("dd", {}, one.fix.words, one.fix.changes.map((change) => make("div", {}, make("code", {}, `${change.name} = ${change.new}`), change.old === null ? "" : ` (now ${change.old || "empty"})`))),
      make("dt", {}, "To undo it"), make("dd", {}, one.revert),
      make("dt", {}, "Source"), make("dd", {}, one.source)));
}

function budget(plan) {
  if (plan.limit_bytes === 0) return null;
  return make("section", {}, make("h3", {}, "Memory"),
    make("p", {}, `${bytes(plan.spendable_bytes)} of ${bytes(plan.limit_bytes)} may be planned for.`),
    table("Memory by part", [
      { head: "Part", cell: (part) => part.name },
      { head: "At most, now", number: true, cell: (part) => bytes(part.now_bytes) },
      { head: "Advised", number: true, cell: (part) => (part.advised_bytes === part.now_bytes ? NONE : bytes(part.advised_bytes)) },
    ], plan.parts));
}

function remarks(title, all, pair) {
  if (all.length === 0) return null;
  const pairs = all.map(pair).map(([name, why]) => [make("dt", {}, name), make("dd", {}, why)]);
  return make("details", {}, make("summary", {}, `${title} (${all.length})`), make("dl", { class: "pairs" }, pairs));
}
