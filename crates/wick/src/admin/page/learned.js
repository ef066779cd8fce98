// Learned: what Wick found out about each site, and the switches that overrule it.
//
// A switch says what the setting of the same name says in wick.toml, which counts where both
// speak. Who may not overrule is shown the line to write there.

import { ask, into, make, send, stacked, toCopy } from "./dom.js";
import { atFull, count } from "./format.js";

const MEANINGS = {
  app: "the app's own: its bearers pass",
  foreign: "nothing to the app: ignored",
  unknown: "not known: its bearers pass until it is",
};
const SAID = {
  app_cookies: "is a session: its bearers pass",
  foreign_cookies: "identifies nobody",
  never_share: "never shared among strangers",
  changes_ignored: "noise: changes no page",
  changes_heeded: "sweeps",
};

export function learned(root) {
  const place = make("div", {});
  const told = make("p", { role: "status", class: "told" });
  root.append(make("h2", {}, "Learned"), told, place);
  const load = () => into(place, ask("/api/learned"), (all) => {
    const desk = { may: all.may_overrule, act };
    return [hint(all.may_overrule), ...all.sites.map((one) => site(one, desk))];
  });
  async function act(order, said) {
    try {
      const { lines } = await send("/api/overrule", order);
      told.className = "told";
      told.textContent = `${said}: ${lines.map((line) => `${line.topic}: ${line.text}`).join("; ")}.`;
    } catch (error) {
      told.className = "told bad";
      told.textContent = `Nothing has changed: ${error.message}.`;
    }
    await load();
  }
  load();
}

const hint = (may) => make("p", { class: "hint" }, may
  ? ["A switch holds at once and over restarts, until it is taken back. It is kept in the state folder; where ", make("code", {}, "wick.toml"), " says something else, that counts. Whatever is ruled, a cookie that the app sets stays the app's, and only pages that were made for no visitor are shared."]
  : ["To overrule something from here, set ", make("code", {}, "admin_token"), " in wick.toml: whoever is on this machine may look, and so may change nothing. ", make("code", {}, "wick overrule"), " does the same for Wick's own user. Or write the line into the site's part of wick.toml and run ", make("code", {}, "wick reload"), "; several of one kind stand in one list."]);

/** A switch where one may overrule, and the line to write where not. */
function choice(desk, one, rule, subject, name) {
  if (!desk.may) return toCopy(`${rule} = [${JSON.stringify(subject)}]`);
  return button(name, `${name}: ${subject}`, () => desk.act({ site: one.name, act: { rule }, subject }, name));
}

const button = (name, label, act) => make("button", { type: "button", "aria-label": label, onclick: act }, name);

const takeBack = (desk, ruling) => desk.may && button("Take back", `Take back: ${ruling.rule} ${ruling.subject}`,
  () => desk.act({ site: ruling.site, act: { take_back: ruling.rule }, subject: ruling.subject }, "Taken back"));

/** What was ruled about a subject, by any of these rules. */
const ruled = (one, subject, rules) => one.rulings.find((ruling) => ruling.subject === subject && rules.includes(ruling.rule));

const overruled = (ruling) => [make("strong", {}, "Overruled"), `: ${SAID[ruling.rule]}; by ${ruling.by}, ${atFull(ruling.unix_ms)}`,
  ruling.beaten && make("em", {}, `; it doesn't hold: ${ruling.beaten}`)];

/** An address as the owner writes it, of a class: up to where the class says "any". */
function beginning(name) {
  const at = name.search(/[^\w\-./~%?&=]/);
  return at < 0 ? name : `${name.slice(0, at)}*`;
}

/** The table of a kind of change such as `update posts[#] (views)`. */
const kind = (text) => text.replace(/, \d+ times$/, "").replace(/^\S+ /, "").replace(/\[.*?\]/, "").replace(" (", "(");

function cookie(desk, one, each) {
  const ruling = ruled(one, each.name, ["app_cookies", "foreign_cookies"]);
  const choose = (rule, name) => choice(desk, one, rule, each.name, name);
  const choices = [
    each.meaning !== "foreign" && !each.is_set && choose("foreign_cookies", "Identifies nobody"), " ",
    each.meaning !== "app" && choose("app_cookies", "Is a session"),
  ];
  const says = each.setting ? `wick.toml, ${each.setting}` : each.is_set ? "the app sets it" : each.meaning === "unknown" ? "seen with visitors" : "learned";
  return {
    name: each.name,
    meaning: MEANINGS[each.meaning],
    says: ruling ? overruled(ruling) : says,
    choices: ruling ? takeBack(desk, ruling) : each.setting ? "change it there" : each.is_set ? "can't be overruled" : choices,
  };
}

function cookies(desk, one) {
  return group(`Cookies of ${one.name}`, "No cookie was seen yet.", one.cookies.map((each) => cookie(desk, one, each)), [
    { head: "Cookie", cell: (each) => make("code", {}, each.name) },
    { head: "Meaning", cell: (each) => make("span", { "data-cookie": each.name }, each.meaning) },
    { head: "Says", cell: (each) => each.says },
    { head: "To overrule", cell: (each) => each.choices },
  ]);
}

function classes(desk, one) {
  const state = (each) => {
    const ruling = ruled(one, each.class, ["never_share"]);
    if (ruling) return overruled(ruling);
    return (each.refusal ? `not shared: ${each.refusal}` : each.shared ? "shared" : "not tried yet") + (each.writes ? `; fetching one changes ${each.writes}` : "");
  };
  const choices = (each) => {
    const ruling = ruled(one, each.class, ["never_share"]);
    if (ruling) return takeBack(desk, ruling);
    if (!desk.may) return toCopy(`never_share = [${JSON.stringify(beginning(each.class))}]`);
    return [choice(desk, one, "never_share", each.class, "Never share"), " ",
      each.refusal && button("Forget the refusal", `Forget the refusal: ${each.class}`, () => desk.act({ site: one.name, act: "forget", subject: each.class }, "Forgotten"))];
  };
  return group(`Classes of addresses of ${one.name}`, "No page was tried for strangers yet.", one.classes, [
    { head: "Class", cell: (each) => make("code", {}, each.class) },
    { head: "Found shareable", number: true, cell: (each) => count(each.shared) },
    { head: "At the moment", cell: state },
    { head: "To overrule", cell: choices },
  ]);
}

function changes(desk, one) {
  const [noise, sweeps] = [["changes_ignored", "Noise"], ["changes_heeded", "Sweeps"]];
  const rows = [
    ...one.noise.map((text) => ({ text, what: "changes no page", choices: [sweeps] })),
    ...one.suspects.map((text) => ({ text, what: "may change no page; being tried", choices: [noise, sweeps] })),
    ...one.swept_by.map((text) => ({ text, what: "swept lately", choices: [noise] })),
  ].map((row) => {
    const ruling = ruled(one, kind(row.text), ["changes_ignored", "changes_heeded"]);
    const choices = row.choices.map(([rule, name]) => [choice(desk, one, rule, kind(row.text), name), " "]);
    return { text: row.text, what: ruling ? overruled(ruling) : row.what, choices: ruling ? takeBack(desk, ruling) : choices };
  });
  return group(`Kinds of change of ${one.name}`, "No kind of change was seen yet.", rows, [
    { head: "Kind", cell: (each) => make("code", {}, each.text) },
    { head: "What is known", cell: (each) => each.what },
    { head: "To overrule", cell: (each) => each.choices },
  ]);
}

function rulings(desk, one) {
  if (one.rulings.length === 0) return null;
  return stacked(`Overruled at ${one.name}`, [
    { head: "Subject", cell: (each) => make("code", {}, each.subject) },
    { head: "Said", cell: (each) => [make("code", {}, each.rule), `: ${SAID[each.rule]}`] },
    { head: "By", cell: (each) => each.by },
    { head: "When", cell: (each) => atFull(each.unix_ms) },
    { head: "Holds", cell: (each) => (each.beaten ? `no: ${each.beaten}` : "yes") },
    { head: "To undo it", cell: (each) => takeBack(desk, each) || make("code", {}, "wick overrule --take-back") },
  ], one.rulings);
}

function site(one, desk) {
  return make("section", { "aria-label": one.name },
    make("h3", {}, one.name),
    cookies(desk, one),
    classes(desk, one),
    one.sources.length > 0 && make("p", {}, `Changes: ${one.sources.join("; ")}.`),
    changes(desk, one),
    rulings(desk, one));
}

const group = (caption, none, rows, columns) => (rows.length > 0 ? stacked(caption, columns, rows) : make("p", {}, none));
