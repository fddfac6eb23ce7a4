"use strict";
const COLORS = {
  blue: "#3b7dd8", sky: "#8fbcf0", orange: "#d9822b", green: "#2e9e5b", red: "#d64545",
  violet: "#9063cd", teal: "#1f9e9e", grey: "#8c959f", pink: "#c2528b", rose: "#e6a3a3", pale: "#b9c0c7",
};
// Colors of equal rank; all are legible on light and on dark ground.
const SERIES = ["blue", "orange", "green", "violet", "teal", "pink", null, "grey"].map((name) => COLORS[name] || "#a08a1f");
function colorOf(name) {
  return COLORS[name] || SERIES[Number(name.split(" ")[1]) % SERIES.length];
}

// The lanes of a run on one axis of time, by plotly.
function timeline(root) {
  const plot = root.querySelector(".fp-plot");
  const data = JSON.parse(root.querySelector(".fp-data").textContent);
  const at = root.querySelector(".fp-at");
  const boxes = [...root.querySelectorAll("input[type=checkbox]")];
  const ROW = 19, VALUES = 112, TITLE = 26, LINE = 15, GAP = 8, NARROW = 600, PRINTED = 690;
  let range = data.range;
  let marked = null;

  function timeOfDay(seconds) {
    const time = new Date(data.zero_ms + seconds * 1000);
    return isNaN(time) ? "" : time.toISOString().replace("T", " ").replace("Z", " UTC");
  }
  function signed(seconds) {
    return (seconds < 0 ? "−" : "+") + Math.abs(seconds).toFixed(3) + " s";
  }
  function shortened(text, length) {
    return text.length > length ? text.slice(0, length - 1) + "…" : text;
  }
  function bodyHeight(lane) {
    return lane.rows.length ? ROW * lane.rows.length + 4 : VALUES;
  }
  function traceOf(mark, axis) {
    const base = { xaxis: "x", yaxis: "y" + axis, showlegend: false, hoverinfo: "text" };
    const color = colorOf(mark.color);
    if (mark.end) {
      return {
        ...base, type: "bar", orientation: "h", y: mark.y, base: mark.x, width: mark.kind === "bar" ? 0.72 : 0.4,
        x: mark.end.map((end, i) => Math.max(end - mark.x[i], data.tick)),
        marker: { color }, text: mark.label, textposition: "inside", textangle: 0,
        insidetextanchor: "middle", insidetextfont: { size: 11 },
        hovertext: mark.hover.map((text, i) =>
          `${text}<br>${signed(mark.x[i])} to ${signed(mark.end[i])}` +
          `<br>${timeOfDay(mark.x[i])} to ${timeOfDay(mark.end[i]).slice(11)}`),
      };
    }
    if (mark.kind === "line") {
      return {
        ...base, type: "scatter", mode: "lines", x: mark.x, y: mark.y,
        line: { color, width: 1.6, shape: "hv" },
        hovertext: mark.x.map((x, i) =>
          `${mark.name}: ${mark.y[i].toLocaleString("en")}<br>${signed(x)}<br>${timeOfDay(x)}`),
      };
    }
    return {
      ...base, type: "scatter", mode: "markers", x: mark.x, y: mark.y, customdata: mark.link,
      cliponaxis: false,
      marker: { color, symbol: mark.kind, size: 9, line: { width: 1, color: "#fff" } },
      hovertext: mark.hover.map((text, i) =>
        `${text}<br>${signed(mark.x[i])}<br>${timeOfDay(mark.x[i])}`),
    };
  }
  function titleLines(lane, narrow, width) {
    const letters = width / (narrow ? 5.6 : 6.8);
    const lines = [`<b>${shortened(lane.title, letters)}</b>`];
    let used = Math.min(lane.title.length, letters);
    lane.keys.forEach(([text, color]) => {
      const key = `<span style="color:${colorOf(color)}">■</span> ${text}`;
      if (used + text.length + 5 > letters) {
        lines.push(key);
        used = text.length;
      } else {
        lines[lines.length - 1] += "  " + key;
        used += text.length + 4;
      }
    });
    return lines;
  }
  function titleOf(lines, top, narrow) {
    return {
      xref: "paper", yref: "paper", x: 0, y: top, xanchor: "left", yanchor: "bottom", align: "left",
      showarrow: false, font: { size: narrow ? 10 : 12 }, text: lines.join("<br>"),
    };
  }
  function figure() {
    const shown = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const lanes = data.lanes.filter((lane) => !lane.subject || shown.has(lane.subject));
    const narrow = root.clientWidth < NARROW;
    const letters = narrow ? 13 : 34;
    const rows = lanes.flatMap((lane) => lane.rows.map((row) => Math.min(row.length, letters)));
    const style = getComputedStyle(document.body);
    const grid = "rgba(128,136,144,0.25)";
    const left = Math.max(narrow ? 46 : 64, 10 + 6.3 * Math.max(0, ...rows)), right = 12;
    const titles = lanes.map((lane) => titleLines(lane, narrow, root.clientWidth - left - right));
    const titleHeight = (place) => TITLE + LINE * (titles[place].length - 1);
    const height = lanes.reduce(
      (sum, lane, place) => sum + titleHeight(place) + GAP + bodyHeight(lane), 0);
    const layout = {
      height: height + 86, barmode: "overlay", hovermode: "closest", dragmode: narrow ? false : "zoom",
      margin: { l: left, r: right, t: 36, b: 50 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: style.color, family: style.fontFamily, size: 11 },
      hoverlabel: { align: "left" }, annotations: [],
      shapes: data.bands.map(([x0, x1]) => ({
        type: "rect", layer: "below", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1,
        fillcolor: "rgba(214,69,69,0.09)", line: { width: 0 },
      })),
      xaxis: {
        range, title: { text: data.axis, font: { size: 12 } }, gridcolor: grid, zeroline: true,
        zerolinecolor: grid, ticksuffix: " s", anchor: "free", position: 0, showspikes: true,
        spikemode: "across", spikethickness: 1, spikedash: "dot", spikecolor: "#8c959f",
      },
      xaxis2: {
        matches: "x", overlaying: "x", side: "top", anchor: "free", position: 1, showgrid: false,
        zeroline: false, ticksuffix: " s",
      },
    };
    // Plotly draws an axis only if a trace has it.
    const traces = [{ type: "scatter", mode: "none", x: [range[0]], y: [0], xaxis: "x2", yaxis: "y", hoverinfo: "skip", showlegend: false }];
    let used = 0;
    lanes.forEach((lane, place) => {
      const axis = place === 0 ? "" : String(place + 1);
      const top = 1 - (used + titleHeight(place)) / height;
      const bottom = top - bodyHeight(lane) / height;
      used += titleHeight(place) + bodyHeight(lane) + GAP;
      layout["yaxis" + axis] = {
        domain: [Math.max(0, bottom), top], anchor: "x", fixedrange: true, gridcolor: grid, zeroline: false,
        ...(lane.rows.length
          ? {
              range: [lane.rows.length - 0.5, -0.5], showgrid: false,
              tickvals: lane.rows.map((_, row) => row),
              ticktext: lane.rows.map((row) => shortened(row, letters)),
            }
          : { nticks: 5 }),
      };
      layout.annotations.push(titleOf(titles[place], top, narrow));
      lane.marks.forEach((mark) => traces.push(traceOf(mark, axis)));
    });
    return [traces, layout];
  }
  function draw() {
    if (typeof Plotly === "undefined") {
      plot.textContent = "The timeline needs the script of plotly beside this page. " +
        "`fencepost open --standalone` makes a page that contains it.";
      return;
    }
    const [traces, layout] = figure();
    Plotly.react(plot, traces, layout, { responsive: true, displaylogo: false, displayModeBar: false });
  }
  function show(anchor) {
    const story = document.getElementById(anchor) || document.getElementById("findings");
    if (story && location.hash === "#" + story.id) {
      dispatchEvent(new HashChangeEvent("hashchange"));
      story.scrollIntoView();
    } else if (story) {
      location.hash = "#" + story.id;
    }
  }
  function focusOn(link) {
    const wanted = (link.dataset.timelineShow || "").split("\n");
    boxes.forEach((box) => { box.checked = box.checked || wanted.includes(box.value); });
    const at = Number(link.dataset.timelineAt);
    if (link.dataset.timelineAt && Number.isFinite(at)) {
      const half = (data.range[1] - data.range[0]) / 10;
      range = [at - half, at + half];
    }
    draw();
  }
  // The marks that are drawn, each with its row and time: lanes from the top, then their rows.
  function marks() {
    const found = [];
    (plot.data || []).forEach((trace, curve) => {
      if (!trace.hovertext) {
        return;
      }
      const lane = Number(trace.yaxis.slice(1) || 1);
      const isLine = trace.mode === "lines";
      const times = trace.type === "bar" ? trace.base : trace.x;
      times.forEach((time, point) => found.push({
        curve, point, time, lane, row: isLine ? 0 : trace.y[point],
        text: trace.hovertext[point], link: trace.customdata && trace.customdata[point],
        subplot: "x" + trace.yaxis,
      }));
    });
    return found.sort((a, b) => a.lane - b.lane || a.row - b.row || a.time - b.time);
  }
  function nearest(all, time) {
    return all.reduce((best, one) =>
      !best || Math.abs(one.time - time) < Math.abs(best.time - time) ? one : best, null);
  }
  function isSameRow(a, b) {
    return a.lane === b.lane && a.row === b.row;
  }
  function mark(one) {
    if (!one) {
      return;
    }
    marked = one;
    if (one.time < range[0] || one.time > range[1]) {
      const half = (range[1] - range[0]) / 2;
      zoom([one.time - half, one.time + half]);
    }
    Plotly.Fx.hover(plot, [{ curveNumber: one.curve, pointNumber: one.point }], one.subplot);
    const end = one.link ? " (Enter opens the events behind it)" : "";
    at.textContent = one.text.replace(/<br>/g, " ").replace(/<[^>]*>/g, "") + end;
  }
  function zoom(wanted) {
    range = wanted;
    draw();
  }
  function zoomBy(factor) {
    const middle = marked ? marked.time : (range[0] + range[1]) / 2;
    const half = ((range[1] - range[0]) / 2) * factor;
    zoom([middle - half, middle + half]);
    mark(marked);
  }
  function otherRow(all, step) {
    const rows = all.filter((one, place) => !place || !isSameRow(one, all[place - 1]));
    const now = rows.findIndex((one) => isSameRow(one, marked));
    const wanted = rows[now + step];
    return wanted && nearest(all.filter((one) => isSameRow(one, wanted)), marked.time);
  }
  function press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) {
      return;
    }
    const all = marks();
    const place = marked ? all.findIndex((one) => one.curve === marked.curve && one.point === marked.point) : -1;
    const moves = {
      ArrowRight: () => mark(all[Math.min(place + 1, all.length - 1)]),
      ArrowLeft: () => mark(all[Math.max(place - 1, 0)]),
      ArrowDown: () => mark(place < 0 ? all[0] : otherRow(all, 1)),
      ArrowUp: () => mark(place < 0 ? all[0] : otherRow(all, -1)),
      Home: () => mark(all[0]),
      End: () => mark(all[all.length - 1]),
      Enter: () => marked && marked.link && show(marked.link),
      "+": () => zoomBy(0.5),
      "-": () => zoomBy(2),
      Escape: () => zoom(data.range.slice()),
    };
    if (moves[event.key]) {
      event.preventDefault();
      moves[event.key]();
    }
  }
  function begin() {
    draw();
    if (typeof Plotly === "undefined") {
      return;
    }
    boxes.forEach((box) => box.addEventListener("change", draw));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    let wasNarrow = root.clientWidth < NARROW;
    addEventListener("resize", () => {
      const isNarrow = root.clientWidth < NARROW;
      if (isNarrow !== wasNarrow) {
        wasNarrow = isNarrow;
        draw();
      }
    });
    plot.on("plotly_click", (event) => {
      const link = event.points.map((point) => point.customdata).find((one) => one);
      if (link) {
        show(link);
      }
    });
    addEventListener("beforeprint", () => Plotly.relayout(plot, { width: PRINTED }));
    addEventListener("afterprint", () => Plotly.relayout(plot, { width: null, autosize: true }));
    plot.addEventListener("keydown", press);
    plot.addEventListener("blur", () => { Plotly.Fx.unhover(plot); at.textContent = ""; });
    plot.on("plotly_relayout", () => { range = plot.layout.xaxis.range.slice(); });
    document.addEventListener("click", (event) => {
      const link = event.target.closest("[data-timeline-show], [data-timeline-at]");
      if (link) {
        focusOn(link);
      }
    });
  }
  begin();
}

// The log of a partition. Offsets stand across the width in order; long spans are shortened.
function tree(figure, number) {
  const data = JSON.parse(figure.querySelector(".fp-data").textContent);
  const WIDTH = 960, LEFT = 24, RIGHT = 936, BOX = 34, STEP = 60, LETTER = 6.6, LETTERS = 138, PLACES_MAX = 14;
  const ids = `fp-tree-${number + 1}`, NS = "http://www.w3.org/2000/svg";
  const leaving = data.branches.flatMap((one) => one.segments);

  function add(parent, name, attributes, text) {
    const made = document.createElementNS(NS, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }
  function path(parent, d, attributes) {
    return add(parent, "path", { d, fill: "none", stroke: "currentColor", ...attributes });
  }
  function write(parent, x, y, text, attributes) {
    return add(parent, "text", { x, y, "font-size": 12, fill: "currentColor", class: "fp-text", ...attributes }, text);
  }
  function broken(text) {
    const lines = [""];
    for (const word of text.split(/\s+/)) {
      const line = lines[lines.length - 1];
      if (line && line.length + 1 + word.length > LETTERS) lines.push("");
      lines.push((lines.pop() + " " + word).trim().slice(0, LETTERS));
    }
    return lines;
  }
  function nameOf([epoch, , , last]) {
    return epoch === last ? `epoch ${epoch}` : `epochs ${epoch} to ${last}`;
  }
  function leaderOf([epoch, , , last]) {
    const leader = data.led[epoch];
    if (leader === undefined || last !== epoch) return "";
    return leader < 0 ? "no leader" : `broker ${leader} led`;
  }
  // Those that get a label.
  function offsetsOf(main) {
    const found = [
      ...main.map(([, begin]) => begin), ...leaving.flatMap(([, begin, end]) => [begin, end]),
      ...data.commits.flatMap((one) => [one.offset, one.resumed]), data.start, data.end,
    ];
    return [...new Set(found.filter((one) => one !== null))].sort((a, b) => a - b);
  }
  // Neighbors without a fork and without a commit at their ends are joined until all places fit.
  function simplified() {
    const main = data.main.map(([epoch, begin, end]) => [epoch, begin, end, epoch]);
    const marked = offsetsOf([]);
    while (offsetsOf(main).length > PLACES_MAX) {
      const free = main.findIndex(([, begin], place) => place && !marked.includes(begin));
      if (free < 0) break;
      const [first, second] = [main[free - 1], main[free]];
      main.splice(free - 1, 2, [first[0], first[1], second[2], second[3]]);
    }
    return main;
  }
  // Each span between two offsets gets a least width, and more the longer it is.
  function scaleOf(offsets) {
    if (offsets.length === 1) offsets.push(offsets[0] + 1);
    const weights = offsets.slice(1).map((end, at) => Math.log1p(end - offsets[at]));
    const step = Math.min(STEP, (RIGHT - LEFT) / weights.length);
    const rest = RIGHT - LEFT - step * weights.length, sum = weights.reduce((a, b) => a + b);
    const places = [LEFT];
    weights.forEach((weight) => places.push(places[places.length - 1] + step + (rest * weight) / sum));
    const x = (offset) => {
      if (offset <= offsets[0]) return LEFT;
      const after = offsets.findIndex((one) => one > offset);
      if (after < 0) return places[places.length - 1];
      const part = (offset - offsets[after - 1]) / (offsets[after] - offsets[after - 1]);
      return places[after - 1] + part * (places[after] - places[after - 1]);
    };
    return { offsets, places, x };
  }

  const main = simplified(), { offsets, places, x } = scaleOf(offsetsOf(main));
  const edge = (end) => (end === null ? RIGHT : x(end));
  const svg = add(document.createDocumentFragment(), "svg", {
    class: "fp-tree", role: "img", "aria-labelledby": `${ids}-title ${ids}-desc`, "font-family": "inherit",
    style: `width:100%;min-width:720px;max-width:${WIDTH + 140}px;height:auto`,
  });
  add(svg, "title", { id: `${ids}-title` }, `The log of ${data.where} as a tree of epochs`);
  add(svg, "desc", { id: `${ids}-desc` }, data.said);
  add(svg, "style", {}, ".fp-text{paint-order:stroke;stroke:var(--back,Canvas);stroke-width:4px}.fp-box .fp-text{stroke:none}");
  const defs = add(svg, "defs");
  const gone = add(defs, "pattern", { id: `${ids}-gone`, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  path(gone, "M0 0V7", { "stroke-width": 2, opacity: 0.28 });
  const tip = add(defs, "marker", { id: `${ids}-tip`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse" });
  path(tip, "M0 0L8 4L0 8Z", { fill: "currentColor", stroke: "none" });
  const under = add(svg, "g"), hatched = { fill: `url(#${ids}-gone)` };
  const bottoms = [];
  let y = 62;

  function box(segment, top, isGone) {
    const begin = x(isGone ? segment[1] : Math.max(segment[1], data.start)), end = edge(segment[2]);
    if (end <= begin) return;
    const color = colorOf(`series ${segment[0]}`), who = leaderOf(segment), fits = (end - begin) / LETTER;
    const group = add(svg, "g", { class: "fp-box" });
    const place = { x: begin, y: top, width: end - begin, height: BOX, rx: 3 };
    add(group, "title", {}, `${nameOf(segment)}, ${who}`);
    add(group, "rect", {
      ...place, fill: color, "fill-opacity": 0.28, stroke: color, "stroke-width": 1.5,
      ...(isGone && { "stroke-dasharray": "5 4" }),
    });
    if (isGone) add(group, "rect", { ...place, ...hatched });
    const name = nameOf(segment).length < fits ? nameOf(segment) : segment[0];
    const hasTwo = who.length * 0.9 < fits, middle = { "text-anchor": "middle" };
    write(group, (begin + end) / 2, top + (hasTwo ? 15 : 21), name, { ...middle, "font-weight": 600 });
    if (hasTwo) write(group, (begin + end) / 2, top + 28, who, { ...middle, "font-size": 11 });
  }
  function drawMain() {
    offsets.forEach((offset, at) => {
      write(svg, places[at], y - 12, offset.toLocaleString("en"), { "font-size": 11, "text-anchor": "middle" });
      path(svg, `M${places[at]} ${y - 8}V${y}`, { opacity: 0.5 });
    });
    const first = Math.min(main[0][1], offsets[0]);
    if (first < Math.max(main[0][1], data.start)) {
      const below = add(svg, "rect", {
        x: x(first), y, width: x(data.start) - x(first), height: BOX, ...hatched, stroke: "currentColor",
        "stroke-opacity": 0.4, "stroke-dasharray": "3 3",
      });
      add(below, "title", {}, `below the log start ${data.start}`);
    }
    main.forEach((segment) => box(segment, y, false));
    y += BOX;
    bottoms.push([data.main, y]);
  }
  // It leaves the surviving log at its fork; its label is to its right where it fits, else below.
  function drawBranch({ segments, gone: isGone, words }) {
    const top = y + 26, fork = x(segments[0][1]), color = colorOf(`series ${segments[0][0]}`);
    path(svg, `M${fork} ${bottoms[0][1]}V${top + BOX / 2}`, { stroke: color, "stroke-width": 2.5 });
    add(svg, "circle", { cx: fork, cy: bottoms[0][1], r: 4, fill: color });
    segments.forEach(([epoch, begin, end]) => box([epoch, begin, end, epoch], top, isGone));
    y = top + BOX;
    bottoms.push([segments, y]);
    const right = Math.max(...segments.map(([, , end]) => edge(end))) + 10, length = words.length * LETTER;
    if (right + length < WIDTH) {
      write(svg, right, top + 21, words);
    } else {
      y += 17;
      const isLeft = fork + length < WIDTH;
      write(svg, isLeft ? fork : RIGHT, y, words, { "text-anchor": isLeft ? "start" : "end" });
    }
  }
  // The bottom of the row that has the record before the commit in the commit's epoch.
  function bottomOf({ offset, epoch }) {
    const found = bottoms.find(([segments]) => segments.some(([first, begin, end, last = first]) =>
      first <= epoch && epoch <= last && begin < offset && offset <= (end === null ? begin : end)));
    return epoch === null || !found ? null : found[1];
  }
  // The words, then the commit as a diamond with an arrow to where its groups continued.
  function drawCommit(commit) {
    const bad = commit.bad ? { "font-weight": 600, style: `fill:var(--bad, ${COLORS.red})` } : {};
    y += 30;
    for (const [text, style] of [[commit.words, bad], [commit.why, { opacity: 0.85 }]])
      for (const line of broken(text)) {
        write(svg, LEFT, y, line, style);
        y += 16;
      }
    const at = x(commit.offset), line = y + 2, above = bottomOf(commit);
    const color = commit.epoch === null ? "currentColor" : colorOf(`series ${commit.epoch}`);
    const group = add(svg, "g");
    add(group, "title", {}, commit.groups);
    path(group, `M${LEFT} ${line}H${RIGHT}`, { opacity: 0.18 });
    if (commit.skipped) {
      const [first, last] = commit.skipped;
      const lost = path(group, `M${x(first)} ${line}H${x(last + 1)}`, { stroke: COLORS.red, "stroke-width": 7, opacity: 0.75 });
      add(lost, "title", {}, `never delivered: ${first} to ${last}`);
    }
    if (above !== null)
      path(under, `M${at} ${above}V${line - 8}`, { stroke: color, "stroke-width": 1.2, "stroke-dasharray": "2 4", opacity: 0.7 });
    const to = commit.resumed === null ? null : x(commit.resumed);
    const words = commit.raises ? "raises an exception" : to !== null && Math.abs(to - at) < 1 ? "resumes here" : "";
    if (words) {
      const isAtRight = at + 13 + words.length * LETTER > WIDTH;
      write(group, isAtRight ? at - 13 : at + 13, line + 4, words, { "font-size": 11, "text-anchor": isAtRight ? "end" : "start" });
    } else if (to !== null) {
      path(group, `M${at + (to > at ? 9 : -9)} ${line}H${to}`, { "stroke-width": 2, "marker-end": `url(#${ids}-tip)` });
    }
    path(group, `M${at} ${line - 7}l7 7l-7 7l-7 -7Z`, { fill: color });
    y = line + 10;
  }

  write(svg, LEFT, 18, data.where, { "font-size": 15, "font-weight": 700 });
  write(svg, RIGHT, 18, `surviving log, on broker ${data.broker}; offsets in order, not to scale`, { "text-anchor": "end", opacity: 0.75 });
  drawMain();
  data.branches.forEach(drawBranch);
  data.commits.forEach(drawCommit);
  y += 8;
  for (const line of data.notes.flatMap(broken)) write(svg, LEFT, (y += 18), line, { opacity: 0.85 });
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${Math.round(y + 14)}`);
  figure.append(svg);
}

document.querySelectorAll(".fp-log").forEach(tree);
// Plotly's own script is deferred.
addEventListener("DOMContentLoaded", () => document.querySelectorAll(".fp-timeline").forEach(timeline));
