// Draws the figures, and adds conveniences: tables that sort, filter and save as CSV, one of many sets or bins at a time.
// All text and all tables are there without it.
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
  // A cell with an element <data> has all digits there.
  const measured = /^([-+−]?[\d.,]+(?:e[-+]?\d+)?)(?: ± ([\d.]+(?:e[-+]?\d+)?))?(?: ?(%|σ|mm|mrad|rad|MeV|of p|MB|s))?(?: \((.*)\))?$/;
  const exact = (cell) => cell.querySelector("data");
  const plain = (text) => (/^[-+−]?[\d,]*\.?\d+(e[-+]?\d+)?$/i.test(text) ? text.replace(/−/g, "-").replace(/,(?=\d{3})/g, "").replace(/^\+/, "") : text);
  const lines = (rows) => rows.map((row) => row.map((text) => `"${String(text ?? "").replace(/"/g, '""')}"`).join(",")).join("\n") + "\n";
  function csvOf([heads, ...rows]) {
    const columns = [...heads].flatMap((cell, place) => {
      const head = said(cell);
      const found = rows.map((row) => {
        const parts = said(row[place]).match(measured) ?? [];
        const { value, dataset } = exact(row[place]) ?? { dataset: {} };
        return [parts[0], value ?? parts[1], dataset.error ?? parts[2], parts[3], parts[4]];
      });
      const named = ["value", "error", "unit", "bin"];
      const parts = [2, 3, 4].filter((part) => found.some((one) => one[part]));
      return [1, ...parts].map((part) => [
        part === 1 ? head : `${head || "value"}, ${named[part - 1]}`,
        ...rows.map((row, n) => plain(found[n][part] ?? (part === 1 ? said(row[place]) : ""))),
      ]);
    });
    return lines(columns[0].map((_, n) => columns.map((column) => column[n])));
  }
  const csvButton = (name, text) => {
    const button = make("button", "CSV", { type: "button", title: "Save the numbers as CSV" });
    button.addEventListener("click", () => save(`${name}.csv`, "text/csv", text()));
    return button;
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
    tools.append(csvButton("table", () => csvOf([heads, ...[...body.rows].filter((row) => !row.hidden).map((row) => row.cells)])));
    table.closest(".scroll").before(tools);
  }
  // Maps that stand side by side are one file, with a line for each cell.
  for (const maps of document.querySelectorAll(".maps")) {
    const cells = () => [...maps.children].flatMap((map) => {
      const [head, ...rows] = map.querySelector("table").rows;
      return [...rows].flatMap((row) => [...row.cells].slice(1).map((cell, n) => [said(map.firstChild), said(row.cells[0]), said(head.cells[n + 1]), exact(cell)]));
    });
    const tools = make("div", "", { class: "tools" });
    tools.append(csvButton("map", () => lines([[...JSON.parse(maps.dataset.heads), "error"], ...cells().filter(([, , , found]) => found).map(([title, row, column, found]) => [title, row, column, found.value, found.dataset.error])])));
    maps.before(tools);
  }

  // Plotly draws the data of each figure when it comes near the window, in the colours of the page.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const axis = { gridcolor: colour("line"), linecolor: colour("soft"), zeroline: false, ticks: "outside", tickcolor: colour("line"), automargin: true, exponentformat: "power", minexponent: 4 };
  const style = {
    xaxis: axis, yaxis: axis, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: "closest",
    font: { color: colour("ink"), family: "system-ui, sans-serif", size: 12 }, margin: { t: 56, r: 24, b: 40, l: 50 },
    legend: { orientation: "h", yref: "container", y: 1, yanchor: "top" },
  };
  const csv = { name: "numbers (CSV)", title: "Save the numbers as CSV", icon: window.Plotly?.Icons.disk, click: (plot) => {
    const rows = plot.data.flatMap((one) => {
      const panel = one.xaxis.slice(1), y = plot.layout.annotations[(panel || 1) - 1].text.replaceAll("<br>", " ");
      return one.x.map((x, n) => [
        y, one.name, plot.layout[`xaxis${panel}`].title.text, one.text?.[n] ?? x, one.error_x && x - one.error_x.arrayminus[n],
        one.error_x && x + one.error_x.array[n], one.y[n], one.error_y?.array[n],
      ]);
    });
    save(`${plot.dataset.name}.csv`, "text/csv", lines([["quantity", "series", "against", "at", "from", "to", "value", "error"], ...rows]));
  } };
  const draw = (plot) => {
    if (plot.data) return;
    const { data, layout } = JSON.parse(plot.closest("figure").querySelector("script").textContent);
    Plotly.newPlot(plot, data, { ...layout, template: { layout: style } }, {
      responsive: true, displaylogo: false, modeBarButtonsToAdd: [csv], modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: plot.dataset.name },
    });
  };
  const plots = [...document.querySelectorAll(".plot")];
  const near = new IntersectionObserver((found) => found.filter((one) => one.isIntersecting).forEach((one) => draw(one.target)), { rootMargin: "100%" });
  plots.forEach((plot) => near.observe(plot));

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
  // Paper has all figures, as wide as A4.
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((one) => (one.open = true));
    plots.forEach(draw);
    plots.forEach((plot) => Plotly.relayout(plot, { width: 690 }));
  });
  addEventListener("afterprint", () => plots.forEach((plot) => Plotly.relayout(plot, { autosize: true })));
})();
