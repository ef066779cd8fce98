// Elements, made of words and never of markup: much that is shown here was written by visitors.

const SVG = "http:" + "//www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

export const draw = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** A table; `columns` are `{head, cell, number}`, and the first one heads each row. */
export function table(caption, columns, rows, heads) {
  const head = heads ?? columns.map((column) => make("th", { scope: "col", class: column.number && "number" }, column.head));
  const row = (one) =>
    make("tr", {}, columns.map((column, at) =>
      make(at === 0 ? "th" : "td", { scope: at === 0 ? "row" : null, class: column.number && "number" }, column.cell(one))));
  return wide(caption, make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows.map(row))));
}

/** The same, but on a phone each row becomes a list: what stands last is to be reached there. */
export function stacked(caption, columns, rows) {
  // Roles are said, for what is no table to the eye would be none to a screen reader.
  const cell = (one) => (column, at) =>
    make(at === 0 ? "th" : "td", { role: at === 0 ? "rowheader" : "cell", "data-head": column.head, class: column.number && "number" }, make("div", {}, column.cell(one)));
  const heads = columns.map((column) => make("th", { role: "columnheader", class: column.number && "number" }, column.head));
  return wide(caption, make("table", { class: "stacked", role: "table" }, make("caption", {}, caption),
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, heads)),
    make("tbody", { role: "rowgroup" }, rows.map((one) => make("tr", { role: "row" }, columns.map(cell(one)))))));
}

/** What is too wide for a phone is moved sideways, by keys too. */
const wide = (label, ...children) => make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, ...children);

/** A line to write somewhere, with a button that copies it. */
export function toCopy(text) {
  const code = make("code", {}, text);
  const button = make("button", { type: "button", "aria-label": `Copy ${text}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      // Without TLS a browser lets no page copy: the text is selected for the person to do it.
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  return make("span", { class: "copy" }, code, button);
}

export async function ask(path, wanted = {}) {
  const given = Object.entries(wanted).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(given).toString();
  const answer = await fetch(query ? `${path}?${query}` : path);
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.wrong ?? `${path} answered ${answer.status}`);
  return told;
}

/** Has something done. A page of another site can't send this. */
export async function send(path, order) {
  const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(order) });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.wrong ?? `${path} answered ${answer.status}`);
  return told;
}

/** Puts other things in a place; what somebody has opened or focused there stays so. */
export function refill(place, children) {
  const parts = "summary, .wide, a, button";
  const focused = [...place.querySelectorAll(parts)].indexOf(document.activeElement);
  const open = [...place.querySelectorAll("details")].map((details) => details.open);
  place.replaceChildren(...[children].flat());
  [...place.querySelectorAll("details")].forEach((details, at) => { details.open ||= open[at] === true; });
  if (focused >= 0) place.querySelectorAll(parts)[focused]?.focus({ preventScroll: true });
}

/** Asks as soon as a view is shown, and says what went wrong in its place. */
export async function into(place, asked, show) {
  try {
    const told = await asked;
    refill(place, show(told));
  } catch (error) {
    place.replaceChildren(make("p", { class: "bad", role: "alert" }, `This can't be shown: ${error.message}`));
  }
}
