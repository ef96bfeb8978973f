// Conveniences: tables that sort, filter and save as CSV, series that switch off, figures that enlarge. All that a page
// says is there without them.
"use strict";
(() => {
  const make = (tag, text, attributes = {}) => {
    const made = Object.assign(document.createElement(tag), { textContent: text });
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const save = (name, kind, text) => {
    const link = make("a", "", { download: name, href: URL.createObjectURL(new Blob([text], { type: kind })) });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const said = (cell) => cell.textContent.trim();
  // The first number of a text: minus signs are typographic there, thousands have commas.
  const number = (text) => {
    const found = text.replace(/−/g, "-").replace(/(\d),(?=\d{3})/g, "$1").match(/[-+]?\d+(\.\d+)?(e[-+]?\d+)?/i);
    return found ? parseFloat(found[0]) : NaN;
  };
  const compare = (column) => {
    const numeric = column.every((text) => text === "–" || text === "" || /^[≤≥<>+\-−\d]/.test(text));
    return numeric
      ? (a, b) => (isNaN(number(a)) ? Infinity : number(a)) - (isNaN(number(b)) ? Infinity : number(b))
      : (a, b) => a.localeCompare(b, "en", { numeric: true });
  };

  for (const table of document.querySelectorAll("table.data")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, place) => {
      const button = make("button", said(head), { type: "button", title: "Sort" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        const rows = [...body.rows];
        const before = compare(rows.map((row) => said(row.cells[place])));
        rows.sort((a, b) => (down ? -1 : 1) * before(said(a.cells[place]), said(b.cells[place])));
        body.append(...rows);
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
      });
    });
    const tools = make("div", "", { class: "tools" });
    if (body.rows.length > 7) {
      const filter = make("input", "", { type: "search", placeholder: "filter rows", "aria-label": "Filter rows" });
      filter.addEventListener("input", () => {
        const wanted = filter.value.toLowerCase();
        for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      });
      tools.append(filter);
    }
    const csv = make("button", "CSV", { type: "button", title: "Save the table as CSV" });
    csv.addEventListener("click", () => {
      const shown = [table.tHead.rows[0], ...[...body.rows].filter((row) => !row.hidden)];
      const line = (row) => [...row.cells].map((cell) => `"${said(cell).replace(/"/g, '""')}"`).join(",");
      save("table.csv", "text/csv", shown.map(line).join("\n") + "\n");
    });
    tools.append(csv);
    table.closest(".scroll").before(tools);
  }

  for (const figure of document.querySelectorAll("figure")) {
    const groups = [...figure.querySelectorAll("g[data-s]")];
    for (const item of figure.querySelectorAll(".legend li")) {
      const name = item.dataset.s;
      const button = make("button", "", { type: "button", "aria-pressed": "true", title: "Show or hide" });
      button.append(...item.childNodes);
      item.append(button);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") === "false";
        button.setAttribute("aria-pressed", on);
        groups.filter((group) => group.dataset.s === name).forEach((group) => group.classList.toggle("gone", !on));
      });
    }
    const files = figure.querySelector(".files");
    if (!files) continue;
    const larger = make("button", "enlarge", { type: "button" });
    larger.addEventListener("click", () => enlarge(figure));
    files.append(larger);
  }

  // A figure as large as the window; the wheel zooms about the pointer, a double click shows all again.
  function enlarge(figure) {
    const dialog = make("dialog", "", { "aria-label": "Enlarged figure" });
    const close = make("button", "close", { type: "button" });
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => dialog.remove());
    dialog.append(close, figure.querySelector(".panels").cloneNode(true));
    document.body.append(dialog);
    for (const svg of dialog.querySelectorAll("svg")) {
      const whole = svg.getAttribute("viewBox");
      svg.addEventListener("dblclick", () => svg.setAttribute("viewBox", whole));
      svg.addEventListener("wheel", (event) => {
        event.preventDefault();
        const [x, y, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
        const box = svg.getBoundingClientRect();
        const factor = event.deltaY < 0 ? 0.8 : 1.25;
        const [u, v] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
        const size = [width * factor, height * factor];
        svg.setAttribute("viewBox", [x + u * (width - size[0]), y + v * (height - size[1]), ...size].join(" "));
      }, { passive: false });
    }
    dialog.showModal();
  }

  // On a phone the list of pages would push the content out of sight.
  const pages = document.querySelector(".side details");
  if (pages && matchMedia("(max-width: 60rem)").matches) pages.open = false;
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
})();
