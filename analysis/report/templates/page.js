"use strict";
// Opens the finding that the address names, with all that it is folded in.
function reveal() {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!found) return;
  for (let at = found; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  found.scrollIntoView();
  const first = found.querySelector("summary");
  if (first) first.focus({ preventScroll: true });
}
// Orders a table by a column: numbers by value, all else as text.
function order(button) {
  const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0];
  const down = head.getAttribute("aria-sort") === "ascending";
  const key = (row) => {
    const cell = row.cells[head.cellIndex];
    return cell.dataset.value ?? cell.textContent.trim();
  };
  const compare = (a, b) => {
    const x = Number(key(a)), y = Number(key(b));
    return isNaN(x) || isNaN(y) ? key(a).localeCompare(key(b)) : x - y;
  };
  const rows = [...body.rows].sort(compare);
  body.append(...(down ? rows.reverse() : rows));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
}
// Shows the rows of a table that have every word of its filter.
function filter(input) {
  const words = input.value.toLowerCase().split(/\s+/);
  for (const row of document.getElementById(input.dataset.table).tBodies[0].rows)
    row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
}
for (const head of document.querySelectorAll("table.sortable th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  button.addEventListener("click", () => order(button));
  head.append(button);
}
for (const input of document.querySelectorAll("input[data-table]"))
  input.addEventListener("input", () => filter(input));
for (const link of document.querySelectorAll('a[href^="#"]'))
  link.addEventListener("click", () => { if (link.hash === location.hash) reveal(); });
addEventListener("hashchange", reveal);
reveal();
