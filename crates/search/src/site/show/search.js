// Results and suggestions as one types. Without this the form does the same with a click.
"use strict";
(() => {
  const field = document.getElementById("wick-query");
  const list = document.getElementById("wick-suggestions");
  if (!field || !field.form) return;
  const PAUSE_MS = 150;
  const MEANT_MS = 3000;
  let timer = 0;
  let meant = 0;
  let asked = null;

  const ask = (address, kind) =>
    fetch(address, { signal: asked.signal, headers: { Accept: kind } }).then((answer) => {
      if (!answer.ok) throw new Error(String(answer.status));
      return answer.text();
    });

  const show = (text) => {
    const results = document.getElementById("wick-results");
    const made = new DOMParser().parseFromString(text, "text/html").getElementById("wick-results");
    if (results && made) results.replaceWith(document.importNode(made, true));
  };

  const suggest = (text) => {
    const [, titles] = JSON.parse(text);
    list.replaceChildren(
      ...titles.map((title) => {
        const option = document.createElement("option");
        option.value = title;
        return option;
      }),
    );
  };

  const look = () => {
    if (asked) asked.abort();
    asked = new AbortController();
    const query = "?" + new URLSearchParams({ q: field.value });
    // With what was chosen before.
    const chosen = "?" + new URLSearchParams(new FormData(field.form));
    const address = field.form.getAttribute("action") + chosen;
    clearTimeout(meant);
    // What stands for a while is what is looked for, and is counted.
    meant = setTimeout(() => ask(address, "text/html").catch(() => {}), MEANT_MS);
    // What failed is found by a click on the button, which tells why.
    const leave = () => {};
    ask(address + "&typing=1", "text/html")
      .then((text) => {
        show(text);
        history.replaceState(null, "", address);
      })
      .catch(leave);
    if (list && field.value.trim()) {
      ask(field.dataset.suggest + query, "application/json").then(suggest).catch(leave);
    }
  };

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE_MS);
  });
})();
