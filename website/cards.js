// The column of each cell, for tables that are cards on a narrow screen (cards.css).
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".md-typeset table:not([class])")) {
    const columns = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    for (const row of table.querySelectorAll("tbody tr")) {
      [...row.cells].forEach((cell, at) => columns[at] && (cell.dataset.column = columns[at]));
    }
  }
});
