"use strict";
(() => {
  const body = document.querySelector("#domains tbody");
  const heads = [...document.querySelectorAll("#domains thead th")];
  const rows = [...body.rows].filter((row) => row.dataset.grade);
  const [grade, family, words, shown] = ["grade", "family", "words", "shown"].map((id) => document.getElementById(id));
  const by = (row, place) => row.cells[place].dataset.by ?? row.cells[place].textContent;
  const compare = (a, b) => (a !== "" && b !== "" && !isNaN(a) && !isNaN(b) ? a - b : a.localeCompare(b));

  function filter() {
    const word = words.value.trim().toLowerCase();
    for (const row of rows) {
      row.hidden = (grade.value !== "" && row.dataset.grade !== grade.value)
        || (family.value !== "" && row.dataset.family !== family.value)
        || !row.textContent.toLowerCase().includes(word);
    }
    const count = rows.filter((row) => !row.hidden).length;
    shown.textContent = `${count} of ${rows.length} shown`;
  }

  function sort(head, place) {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    rows.sort((a, b) => (down ? -1 : 1) * compare(by(a, place), by(b, place)));
    body.append(...rows);
  }

  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(head, place));
    head.replaceChildren(button);
  });
  [grade, family, words].forEach((control) => control.addEventListener("input", filter));
  document.querySelector(".tools").hidden = false;
  filter();
})();
