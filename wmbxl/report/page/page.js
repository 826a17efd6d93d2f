"use strict";
// Texts come from a corpus, which may be hostile: they enter the page as text nodes only, never as HTML.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures");
  const evidence = read("evidence");
  const FIRST = 5; // passages shown before "Show all"

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in made) made[name] = value;
      else made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  };
  const number = (value) => value.toLocaleString("en");
  const several = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

  // ---------------------------------------------------------------- theme and figures

  const themeButton = document.getElementById("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  async function draw(theme) {
    document.documentElement.dataset.theme = theme;
    themeButton.textContent = theme === "dark" ? "Light" : "Dark";
    for (const place of document.querySelectorAll("[data-figure]")) {
      place.replaceChildren();
      try {
        await Bokeh.embed.embed_item(figures[place.dataset.figure][theme], place);
      } catch (error) { // the other figures are drawn all the same
        place.replaceChildren(element("p", { className: "bad" }, `This figure can't be drawn (${error}). Its numbers follow.`));
      }
    }
    document.documentElement.dataset.drawn = theme;
  }
  themeButton.addEventListener("click", () => draw(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", () => draw(dark.matches ? "dark" : "light"));

  // ---------------------------------------------------------------- a problem beside its passages

  /** Return a test whether a place is in one of these ranges, for places that come in order. */
  function sweep(ranges) {
    const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
    let next = 0, stop = -1;
    return (place) => {
      for (; next < sorted.length && sorted[next][0] <= place; next++) stop = Math.max(stop, sorted[next][1]);
      return place < stop;
    };
  }

  /** Return a text with `found` marked, and what of it is in `current` marked more strongly. */
  function marked(text, found, current = []) {
    const points = Array.from(text); // Python counts code points, JavaScript would count UTF-16 units
    const cuts = [...new Set([0, points.length, ...[...found, ...current].flat()])].sort((a, b) => a - b);
    const [inFound, inCurrent] = [sweep(found), sweep(current)];
    const made = document.createDocumentFragment(); // a call can't take as many nodes as there may be
    cuts.slice(0, -1).forEach((cut, i) => {
      const part = points.slice(cut, cuts[i + 1]).join("");
      const [weak, strong] = [inFound(cut), inCurrent(cut)];
      made.append(weak || strong ? element("mark", { className: strong ? "current" : "" }, part) : part);
    });
    return made;
  }

  function matchTable(passage) {
    const head = ["start", "end", "xxh64 of the n-gram", "also in"].map((name) => element("th", { scope: "col" }, name));
    const rows = passage.matches.map(([start, end, key, others]) =>
      element("tr", { className: "match" }, ...[start, end, key, several(others, "other problem")].map((cell) =>
        element("td", {}, String(cell)))));
    return element("div", { className: "scroll" },
      element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows)));
  }

  function templateNote(passage) {
    const others = passage.matches.map((match) => match[3]);
    if (!others.some((count) => count)) return null;
    const [low, high] = [Math.min(...others), Math.max(...others)];
    return element("span", { className: "bad" }, `also in ${low === high ? "" : `${number(low)} to `}${several(high, "other problem")}`);
  }

  function card(passage, position, choose) {
    const span = [[passage.start - passage.offset, passage.end - passage.offset]];
    const name = passage.document_id === null ? `row ${passage.row ?? "unknown"}` : passage.document_id;
    const row = passage.row === null
      ? `record ${number(passage.piece_row)} of the piece at ${number(passage.piece)}, behind a part that was not read`
      : `row ${number(passage.row)}`;
    const made = element("li", { className: "passage" },
      element("header", {},
        element("button", { type: "button", "aria-pressed": "false", title: "Show in the problem" }, `Passage ${position + 1}`),
        element("span", {}, `${passage.sampled ? "at least " : ""}${several(passage.tokens, "token")}`),
        element("bdi", {}, `${passage.corpus}: ${name}`),
        templateNote(passage)),
      element("div", { className: "text", dir: "auto" },
        passage.offset > 0 ? "… " : "", marked(passage.text, span), passage.goes_on ? " …" : ""),
      element("div", { className: "where" },
        `${evidence.shards[passage.shard]}, ${row}, code points ${number(passage.start)} to ${number(passage.end)}`),
      element("details", {},
        element("summary", {}, `${several(passage.windows, "window")}; ${several(passage.matches.length, "row")} of the evidence`),
        matchTable(passage)));
    made.querySelector("button").addEventListener("click", () => choose(position));
    return made;
  }

  function reader(index) {
    const problem = evidence.problems[index];
    const text = element("div", { className: "text", dir: "auto" }, marked(problem.text, problem.found));
    const list = element("ol", { className: "passages" });
    const choose = (position) => {
      text.replaceChildren(marked(problem.text, problem.found, problem.passages[position].in_problem));
      [...list.children].forEach((item, i) => {
        item.toggleAttribute("data-current", i === position);
        item.querySelector("button").setAttribute("aria-pressed", String(i === position));
      });
    };
    const add = (from, to) => problem.passages.slice(from, to).forEach((passage, i) => list.append(card(passage, from + i, choose)));
    add(0, FIRST);
    const hidden = problem.passages.length - FIRST;
    const more = hidden > 0 ? element("button", { type: "button", className: "quiet more" }, `Show ${several(hidden, "more passage")}`) : null;
    more?.addEventListener("click", () => {
      add(FIRST);
      more.remove();
      list.children[FIRST].querySelector("button").focus();
    });
    if (problem.passages.length > 1) choose(0);
    const heading = problem.passages.length
      ? `${several(problem.passages.length, "passage")} in the corpora`
      : "No evidence was kept";
    return element("div", { className: "reader" },
      element("section", { className: "source" }, element("h4", {}, "The problem"), text),
      element("section", {}, element("h4", {}, heading), list, more));
  }

  // ---------------------------------------------------------------- the table

  const table = document.getElementById("problems");

  function toggle(body, open) {
    const button = body.querySelector("button");
    if (open === (button.getAttribute("aria-expanded") === "true")) return;
    button.setAttribute("aria-expanded", String(open));
    if (open) {
      const cell = element("td", { colSpan: body.rows[0].cells.length }, reader(Number(body.dataset.problem)));
      body.append(element("tr", { className: "detail" }, cell));
    } else {
      body.rows[1].remove();
    }
  }

  function sort(header) {
    const headers = [...header.parentElement.children];
    const column = headers.indexOf(header);
    const numeric = header.dataset.sort === "number";
    const now = header.getAttribute("aria-sort");
    const direction = now === (numeric ? "descending" : "ascending") ? (numeric ? "ascending" : "descending") : (numeric ? "descending" : "ascending");
    headers.forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const value = (body) => {
      const cell = body.rows[0].cells[column];
      return numeric ? Number(cell.dataset.value) : cell.textContent.trim();
    };
    const compare = numeric ? (a, b) => a - b : new Intl.Collator("en", { numeric: true }).compare;
    const bodies = [...table.tBodies].map((body) => [value(body), body]);
    bodies.sort((a, b) => sign * compare(a[0], b[0]));
    table.append(...bodies.map(([, body]) => body));
  }

  const words = new Map();
  function searched(body) {
    const index = Number(body.dataset.problem);
    if (!words.has(index)) {
      const { text, passages } = evidence.problems[index];
      const places = passages.flatMap((p) => [p.corpus, p.document_id, evidence.shards[p.shard], p.text]);
      words.set(index, [body.rows[0].textContent, text, ...places].join("\n").toLowerCase());
    }
    return words.get(index);
  }

  function search(wanted) {
    let shown = 0;
    for (const body of table.tBodies) {
      body.hidden = !searched(body).includes(wanted.trim().toLowerCase());
      shown += !body.hidden;
    }
    document.getElementById("shown").textContent = `${number(shown)} shown`;
    document.getElementById("none").hidden = shown > 0;
  }

  if (table) {
    table.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.closest("thead")) sort(button.closest("th"));
      else if (button?.hasAttribute("aria-expanded")) toggle(button.closest("tbody"), button.getAttribute("aria-expanded") === "false");
    });
    document.getElementById("search").addEventListener("input", (event) => search(event.target.value));
    document.getElementById("open-all").addEventListener("click", () =>
      [...table.tBodies].filter((body) => !body.hidden).forEach((body) => toggle(body, true)));
  }
  draw(dark.matches ? "dark" : "light");
})();
