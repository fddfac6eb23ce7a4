(function (root) {
  "use strict";
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
    if (mark.kind === "bars") {
      return {
        ...base, type: "bar", orientation: "h", y: mark.y, base: mark.x, width: mark.thickness,
        x: mark.end.map((end, i) => Math.max(end - mark.x[i], data.tick)),
        marker: { color: mark.color }, text: mark.label, textposition: "inside", textangle: 0,
        insidetextanchor: "middle", insidetextfont: { size: 11 },
        hovertext: mark.hover.map((text, i) =>
          `${text}<br>${signed(mark.x[i])} to ${signed(mark.end[i])}` +
          `<br>${timeOfDay(mark.x[i])} to ${timeOfDay(mark.end[i]).slice(11)}`),
      };
    }
    if (mark.kind === "line") {
      return {
        ...base, type: "scatter", mode: "lines", x: mark.x, y: mark.y,
        line: { color: mark.color, width: 1.6, shape: "hv" },
        hovertext: mark.x.map((x, i) =>
          `${mark.name}: ${mark.y[i].toLocaleString("en")}<br>${signed(x)}<br>${timeOfDay(x)}`),
      };
    }
    return {
      ...base, type: "scatter", mode: "markers", x: mark.x, y: mark.y, customdata: mark.link,
      cliponaxis: false,
      marker: { color: mark.color, symbol: mark.symbol, size: 9, line: { width: 1, color: "#fff" } },
      hovertext: mark.hover.map((text, i) =>
        `${text}<br>${signed(mark.x[i])}<br>${timeOfDay(mark.x[i])}`),
    };
  }
  function titleLines(lane, narrow, width) {
    const letters = width / (narrow ? 5.6 : 6.8);
    const lines = [`<b>${shortened(lane.title, letters)}</b>`];
    let used = Math.min(lane.title.length, letters);
    lane.keys.forEach(([text, color]) => {
      const key = `<span style="color:${color}">■</span> ${text}`;
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
      plot.textContent = data.missing;
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
  if (document.readyState === "loading") {
    document.addEventListener("DOMContentLoaded", begin);
  } else {
    begin();
  }
})(document.currentScript.parentElement);
