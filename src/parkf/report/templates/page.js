// Conveniences: tables that sort, filter and save as CSV, series that switch off, figures that are drawn again to zoom,
// one of many sets or bins at a time. All that a page says is there without them.
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
  // The first number of a text, in which minus signs are typographic and thousands have commas.
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

  // Cells such as "0.42 ± 0.01 % (3–5 GeV)" become numbers: value, error, unit, and bin have columns of their own.
  const measured = /^([-+−]?[\d.,]+(?:e[-+]?\d+)?)(?: ± ([\d.]+(?:e[-+]?\d+)?))?(?: ?(%|σ|mm|mrad|MeV|MB|s))?(?: \((.*)\))?$/;
  const plain = (text) => (/^[-+−]?[\d,]*\.?\d+(e[-+]?\d+)?$/i.test(text) ? text.replace(/−/g, "-").replace(/,(?=\d{3})/g, "").replace(/^\+/, "") : text);
  function csvOf([heads, ...rows]) {
    const columns = heads.flatMap((head, place) => {
      const found = rows.map((row) => row[place].match(measured));
      const named = ["value", "error", "unit", "bin"];
      const parts = [2, 3, 4].filter((part) => found.some((one) => one?.[part]));
      if (!parts.length) return [[head, ...rows.map((row) => plain(row[place]))]];
      return [1, ...parts].map((part) => [
        part === 1 ? head : `${head || "value"}, ${named[part - 1]}`,
        ...rows.map((row, n) => (found[n] ? plain(found[n][part] ?? "") : part === 1 ? row[place] : "")),
      ]);
    });
    const quoted = (text) => `"${text.replace(/"/g, '""')}"`;
    return columns[0].map((_, n) => columns.map((column) => quoted(column[n])).join(",")).join("\n") + "\n";
  }

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
      save("table.csv", "text/csv", csvOf(shown.map((row) => [...row.cells].map(said))));
    });
    tools.append(csv);
    const scroll = table.closest(".scroll");
    scroll.before(tools);
    tools.append(make("span", "more columns to the right: scroll", { class: "hint" }));
  }

  // What is wider than the window scrolls; a line at its right end, and a hint if it has one, say that there is more.
  for (const scroll of document.querySelectorAll(".scroll")) {
    const hint = scroll.previousElementSibling?.querySelector(".hint");
    const look = () => {
      const more = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft > 4;
      scroll.classList.toggle("more", more);
      if (hint) hint.hidden = !more;
    };
    scroll.addEventListener("scroll", look);
    new ResizeObserver(look).observe(scroll);
  }

  // The number of a map's cell appears below the map: under the pointer, at a tap, and with arrow keys.
  for (const maps of document.querySelectorAll(".heats")) {
    const readout = make("output", "", { class: "readout" });
    maps.after(readout);
    const show = (cell) => {
      maps.querySelectorAll(".on").forEach((one) => one.classList.remove("on"));
      cell.classList.add("on");
      const group = cell.closest("div").querySelector("p");
      readout.textContent = `${group ? `${said(group)}; ` : ""}${said(cell)}`;
    };
    for (const kind of ["pointerover", "click"]) {
      maps.addEventListener(kind, ({ target }) => {
        if (target.matches(".cell")) show(target);
      });
    }
    maps.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const cells = [...event.target.querySelectorAll(".cell")];
      if (!step || !cells.length) return;
      event.preventDefault();
      show(cells.at((cells.findIndex((one) => one.matches(".on")) + step) % cells.length));
    });
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
    if (!figure.querySelector(".numbers")) continue;
    const larger = make("button", "enlarge, zoom, values", { type: "button" });
    larger.addEventListener("click", () => enlarge(figure));
    files.append(larger);
  }

  // Plotly comes from a file beside the page, once it is asked for.
  let library;
  const plotly = () => (library ??= new Promise((done, failed) => {
    const script = make("script", "", { src: document.body.dataset.library });
    script.addEventListener("load", () => done(window.Plotly));
    script.addEventListener("error", failed);
    document.head.append(script);
  }));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const symbols = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "square"];
  const modes = { points: "markers", joined: "lines+markers", line: "lines", dots: "markers", steps: "lines" };

  function trace(one, hidden) {
    const own = colour(`c${one.colour}`);
    const drawn = {
      x: one.x, y: one.y, name: one.name, mode: modes[one.shape], visible: hidden ? "legendonly" : true, connectgaps: false,
      line: { color: own, dash: one.dashed ? "dash" : "solid", width: 2 },
      marker: { color: own, symbol: symbols[one.colour], size: one.shape === "dots" ? 3 : 8 },
    };
    if (one.shape === "steps") {
      drawn.line.shape = "hv";
      drawn.y = [...one.y, one.y.at(-1)];
      if (one.filled) drawn.fill = "tozeroy";
    }
    if (one.error) drawn.error_y = { array: one.error, color: own };
    if (one.reach) {
      const far = (end) => one.reach.map((pair, place) => Math.abs(pair[end] - one.x[place]));
      drawn.error_x = { symmetric: false, array: far(1), arrayminus: far(0), color: own, width: 0 };
    }
    return drawn;
  }

  function axis(title, log, limits, names) {
    const place = (value) => (value === null || (log && value <= 0) ? null : log ? Math.log10(value) : value);
    return {
      title: { text: title }, type: log ? "log" : "linear", range: limits.map(place), gridcolor: colour("line"), zeroline: false,
      automargin: true, exponentformat: "power", ...(names ? { tickvals: names.map((_, n) => n), ticktext: names, range: [-0.5, names.length - 0.5] } : {}),
    };
  }

  function layout(panel, logs) {
    const ink = colour("ink");
    const across = { xref: "paper", x0: 0, x1: 1, layer: "below" };
    return {
      xaxis: axis(panel.x, logs[0], panel.limits[0], panel.names), yaxis: axis(panel.y, logs[1], panel.limits[1]),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, family: "system-ui, sans-serif", size: 13 },
      margin: { t: 10, r: 10, b: 50, l: 60 }, hovermode: "closest", legend: { orientation: "h", y: -0.22 },
      shapes: [
        ...(panel.band ? [{ ...across, type: "rect", y0: panel.band[0], y1: panel.band[1], fillcolor: colour("soft"), opacity: 0.16, line: { width: 0 } }] : []),
        ...panel.levels.map((level) => ({ ...across, type: "line", y0: level, y1: level, line: { color: colour("soft"), width: 1 } })),
      ],
    };
  }

  // All panels of a figure as large as the window allows: drag to zoom, point for values, switch axes.
  async function enlarge(figure) {
    const title = figure.getAttribute("aria-label");
    const dialog = make("dialog", "", { "aria-label": title });
    const head = make("div", "", { class: "head" });
    const close = make("button", "close", { type: "button" });
    close.addEventListener("click", () => dialog.close());
    head.append(make("h2", title), close);
    const plots = make("div", "", { class: "plots" });
    dialog.append(head, make("p", "Drag over a part to see it closer, double-click to see all again; point at a mark for its numbers; click a name to show or hide it.", { class: "soft" }), plots);
    dialog.addEventListener("close", () => {
      plots.querySelectorAll(".plot").forEach((plot) => window.Plotly?.purge(plot));
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
    const found = await plotly().catch(() => null);
    if (!found) return plots.append(make("p", `The file ${document.body.dataset.library}, which draws enlarged figures, is not beside this page.`));
    const hidden = new Set([...figure.querySelectorAll(".legend button[aria-pressed=false]")].map(said));
    const drawings = JSON.parse(figure.querySelector(".numbers").textContent).map((panel) => {
      const box = make("section", "", { "aria-label": `${panel.y} against ${panel.x}` });
      const plot = make("div", "", { class: "plot" });
      const axes = make("div", "", { class: "axes" });
      const logs = [...panel.logs];
      ["x", "y"].forEach((name, place) => {
        if (place === 0 && panel.names) return;
        const label = make("label", "");
        const tick = make("input", "", { type: "checkbox" });
        tick.checked = logs[place];
        tick.addEventListener("change", () => {
          logs[place] = tick.checked;
          found.react(plot, plot.data, layout(panel, logs));
        });
        label.append(tick, ` logarithmic ${name}`);
        axes.append(label);
      });
      box.append(plot, axes);
      plots.append(box);
      return () => {
        let x;
        const traces = panel.series.map((one) => trace({ ...one, x: (x = one.x ?? x) }, hidden.has(one.name)));
        return found.newPlot(plot, traces, layout(panel, logs), { responsive: true, displayModeBar: false });
      };
    });
    // How wide each panel may be is known only when all of them have their place.
    drawings.forEach((draw) => draw());
  }

  // Shows one of many sections at a time. A link to a section shows it, and print has all of them.
  for (const choice of document.querySelectorAll(".choice")) {
    const options = [...choice.children];
    if (options.length < 2) continue;
    const select = make("select", "");
    options.forEach((one, place) => select.append(make("option", one.dataset.option, { value: place })));
    select.append(make("option", "all", { value: "all" }));
    const show = () => options.forEach((one, place) => {
      one.hidden = select.value !== "all" && place !== Number(select.value);
      if (one.matches("details")) one.open = !one.hidden && select.value !== "all";
    });
    const label = make("label", `${choice.dataset.label} `, { class: "chooser" });
    label.append(select);
    choice.before(label);
    select.addEventListener("change", show);
    const follow = () => {
      const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const place = options.findIndex((one) => one.contains(target || null));
      if (place < 0) return;
      select.value = place;
      show();
      target.scrollIntoView();
    };
    addEventListener("hashchange", follow);
    show();
    follow();
  }

  // On a phone the list of pages would push the content out of sight.
  const pages = document.querySelector(".side details");
  if (pages && matchMedia("(max-width: 60rem)").matches) pages.open = false;
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
})();
