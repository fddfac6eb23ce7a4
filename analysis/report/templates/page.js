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
// Gives each cell the head of its column, for narrow screens, where cells stand below each other.
function label(table) {
  const heads = [];
  for (const row of table.tHead.rows) {
    let column = 0;
    for (const cell of row.cells) {
      while (heads[column]?.until > row.rowIndex) column += 1;
      for (let end = column + cell.colSpan; column < end; column += 1) {
        const above = heads[column] ? heads[column].text + " " : "";
        heads[column] = { text: above + cell.textContent.trim(), until: row.rowIndex + cell.rowSpan };
      }
    }
  }
  for (const row of table.tBodies[0].rows)
    for (const cell of row.cells)
      if (cell.tagName === "TD" && heads[cell.cellIndex]) cell.dataset.head = heads[cell.cellIndex].text;
  table.classList.add("stacked");
}
// Links the first place of each word of the glossary to what it means.
function explain(words) {
  const names = new Map();
  for (const term of words.querySelectorAll("dt"))
    for (const name of term.textContent.replace(/ \(.*\)/, "").toLowerCase().split(", "))
      if (!names.has(name)) names.set(name, term.id);
  const longest = [...names.keys()].sort((a, b) => b.length - a.length);
  const pattern = new RegExp("(?<![\\w-])(" + longest.join("|") + ")s?(?![\\w-])", "i");
  const linked = new Set();
  const places = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, (text) =>
    text.parentElement.closest("a, thead, code, pre, svg, script, style, button, summary, label, .fp-timeline, .badge, #words")
      ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  const texts = [];
  while (places.nextNode()) texts.push(places.currentNode);
  for (let text of texts) {
    let from = 0, found;
    while ((found = text.data.slice(from).match(pattern))) {
      const id = names.get(found[1].toLowerCase());
      if (linked.has(id)) { from += found.index + found[0].length; continue; }
      linked.add(id);
      const word = text.splitText(from + found.index), rest = word.splitText(found[0].length);
      const link = document.createElement("a");
      link.className = "word";
      link.href = "#" + id;
      link.title = document.getElementById(id).nextElementSibling.textContent;
      word.replaceWith(link);
      link.append(word);
      text = rest;
      from = 0;
    }
  }
  for (const term of words.querySelectorAll("dt"))
    if (!linked.has(term.id)) { term.nextElementSibling.remove(); term.remove(); }
  words.hidden = !linked.size;
}
// What is folded is printed, too.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
// Puts a command beside its button into the clipboard.
async function copy(button) {
  const text = button.previousElementSibling, range = document.createRange();
  range.selectNodeContents(text);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  try { await navigator.clipboard.writeText(text.textContent); }
  catch { document.execCommand("copy"); }
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 1500);
}
for (const button of document.querySelectorAll("button[data-copy]"))
  button.addEventListener("click", () => copy(button));
const words = document.getElementById("words");
if (words) explain(words);
for (const table of document.querySelectorAll(".scroll > table")) label(table);
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
