// Learned: what Wick found out about each site, and the line of wick.toml that overrules it.

import { ask, into, make, table, toCopy } from "./dom.js";
import { count } from "./format.js";

export function learned(root) {
  const place = make("div", {});
  root.append(make("h2", {}, "Learned"),
    make("p", { class: "hint" }, "To overrule something, write its line into the site's part of wick.toml and run ", make("code", {}, "wick reload"), ". Several of one kind stand in one list."), place);
  into(place, ask("/api/learned"), ({ sites }) => sites.map(site));
}

const list = (setting, text) => toCopy(`${setting} = [${JSON.stringify(text)}]`);

/** An address as the owner writes it, of a class: up to where the class says "any". */
function beginning(name) {
  const at = name.search(/[^\w\-./~%?&=]/);
  return at < 0 ? name : `${name.slice(0, at)}*`;
}

/** The table of a kind of change such as `update posts[#] (views)`. */
const kind = (text) => text.replace(/, \d+ times$/, "").replace(/^\S+ /, "").replace(/\[.*?\]/, "").replace(" (", "(");

function site(one) {
  const changes = [
    ...one.noise.map((text) => ({ text, what: "changes no page", line: list("changes_heeded", kind(text)) })),
    ...one.suspects.map((text) => ({ text, what: "may change no page; being tried", line: list("changes_ignored", kind(text)) })),
    ...one.swept_by.map((text) => ({ text, what: "swept lately", line: list("changes_ignored", kind(text)) })),
  ];
  return make("section", { "aria-label": one.name },
    make("h3", {}, one.name),
    group(`Cookies of ${one.name}`, "No cookie was seen yet.", one.cookies, [
      { head: "Cookie", cell: (cookie) => make("code", {}, cookie.name) },
      { head: "Meaning", cell: (cookie) => (cookie.is_app ? "the app's own: its bearers pass" : "nothing to the app: ignored") },
      { head: "To overrule", cell: (cookie) => list(cookie.is_app ? "foreign_cookies" : "app_cookies", cookie.name) },
    ]),
    group(`Classes of addresses of ${one.name}`, "No page was tried for strangers yet.", one.classes, [
      { head: "Class", cell: (each) => make("code", {}, each.class) },
      { head: "Found shareable", number: true, cell: (each) => count(each.shared) },
      { head: "At the moment", cell: (each) => (each.refusal ? `not shared: ${each.refusal}` : each.shared ? "shared" : "not tried yet") + (each.writes ? `; fetching one changes ${each.writes}` : "") },
      { head: "Never to share it", cell: (each) => list("never_share", beginning(each.class)) },
    ]),
    one.sources.length > 0 && make("p", {}, `Changes: ${one.sources.join("; ")}.`),
    group(`Kinds of change of ${one.name}`, "No kind of change was seen yet.", changes, [
      { head: "Kind", cell: (each) => make("code", {}, each.text) },
      { head: "What is known", cell: (each) => each.what },
      { head: "To overrule", cell: (each) => each.line },
    ]));
}

const group = (caption, none, rows, columns) => (rows.length > 0 ? table(caption, columns, rows) : make("p", {}, none));
