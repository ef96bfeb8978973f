// The chooser of versions in the head of each page. A folder of sites has one folder for each version, and beside them
// versions.js with their list, which a page also finds where no server is.
"use strict";
(() => {
  const base = JSON.parse(document.getElementById("__config").textContent).base;
  const root = new URL(`${base}/`, location.href);
  const list = document.createElement("script");
  list.src = new URL("../versions.js", root).href;
  list.addEventListener("load", () => {
    const here = root.pathname.split("/").at(-2);
    const select = document.createElement("select");
    select.className = "parkf-versions";
    select.setAttribute("aria-label", "Version of parkf");
    for (const name of window.parkfVersions) select.append(new Option(name, name, name === here, name === here));
    select.addEventListener("change", () => {
      const page = location.href.slice(root.href.length).replace(/[?#].*/, "");
      location.href = new URL(`../${select.value}/${page || "index.html"}`, root).href;
    });
    document.querySelector(".md-header__title").after(select);
  });
  document.head.append(list);
})();
