// Charts of time, as inline SVG: lines with gaps where nothing was noted, marks, and a stretch
// that is drawn with the pointer to look closer. The same numbers stand in a table below.

import { draw, make } from "./dom.js";
import { atAxis, atFull, bytes } from "./format.js";

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [170, 64, 8, 18, 24];
const PIXELS_BETWEEN_TIMES = 90;
const [MINUTE, HOUR, DAY] = [60, 3600, 86400];
const ROUND_SECONDS = [10, 20, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 60 * DAY];

/** The next round number whose half is round as well, so that lines of the grid have short names. */
function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((round) => round >= value * 0.999);
}

/** At most so many times of this stretch that are round by the clock of who looks. */
function roundTimes(from, to, most) {
  const east = -new Date(to * 1000).getTimezoneOffset() * 60;
  const step = ROUND_SECONDS.find((seconds) => (to - from) / seconds <= most) ?? ROUND_SECONDS.at(-1);
  const first = Math.ceil((from + east) / step) * step - east;
  const times = [];
  // What is too near to an edge would be cut.
  const margin = (to - from) * 0.03;
  for (let time = first; time <= to - margin; time += step) if (time >= from + margin) times.push(time);
  return times;
}

/**
 * One chart. `lines` are `{name, kind, value}`, of points `{time, …}` in seconds; `step` is the
 * length of a point. `zoom(from, to)` is told what was drawn.
 */
export function chart({ title, lines, points, from, to, step, marks = [], show, zoom, width }) {
  const inner = width - LEFT - RIGHT;
  const x = (time) => LEFT + ((time - from) / (to - from)) * inner;
  const values = lines.flatMap((line) => points.map(line.value)).filter(Number.isFinite);
  const most = Math.max(0, ...values);
  // Bytes are told in powers of 1024, and round in those.
  const unit = show === bytes && most > 0 ? 1024 ** Math.floor(Math.log(most) / Math.log(1024)) : 1;
  const top = roundUp(most / unit) * unit;
  const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" });
  for (const part of [0, 0.5, 1]) {
    const at = y(top * part);
    svg.append(draw("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: at, y2: at }));
    // Without a value there is no scale.
    if (values.length > 0) svg.append(draw("text", { class: "axis", x: LEFT - 6, y: at + 4, "text-anchor": "end" }, show(top * part)));
  }
  if (values.length === 0) svg.append(draw("text", { class: "axis", x: LEFT + inner / 2, y: HEIGHT / 2 - 8, "text-anchor": "middle" }, "nothing was counted"));
  for (const time of roundTimes(from, to, Math.max(1, Math.floor(inner / PIXELS_BETWEEN_TIMES)))) {
    svg.append(
      draw("line", { class: "grid", x1: x(time), x2: x(time), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4 }),
      draw("text", { class: "axis", x: x(time), y: HEIGHT - 6, "text-anchor": "middle" }, atAxis(time * 1000, to - from)));
  }
  for (const mark of marks) {
    svg.append(draw("line", { class: `mark ${mark.kind}`, x1: x(mark.time), x2: x(mark.time), y1: TOP - 8, y2: HEIGHT - BOTTOM },
      draw("title", {}, `${mark.kind}, ${atFull(mark.time * 1000)}`)));
  }
  for (const line of lines) svg.append(draw("path", { class: `line ${line.kind}`, d: path(points, line.value, x, y, step, width - RIGHT) }));
  const key = make("span", { class: "key" }, lines.map((line) => make("span", { class: line.kind }, line.name)));
  const figure = make("figure", { class: "chart" }, make("figcaption", {}, make("strong", {}, title), " ", key), svg);
  if (zoom) drawing(svg, (at) => from + ((at - LEFT) / inner) * (to - from), zoom, width);
  return figure;
}

function path(points, value, x, y, step, end) {
  let [text, last] = ["", null];
  for (const point of points) {
    const height = value(point);
    if (!Number.isFinite(height)) {
      last = null;
      continue;
    }
    const at = `${Math.min(x(point.time + step / 2), end).toFixed(1)} ${y(height).toFixed(1)}`;
    const goesOn = last !== null && point.time - last <= step * 1.5;
    // A point alone is a dot.
    text += goesOn ? `L${at}` : `M${at}h.1`;
    last = point.time;
  }
  return text;
}

/** Lets somebody draw a stretch; a short one is a slip. */
function drawing(svg, timeAt, zoom, width) {
  let [begin, box] = [null, null];
  const place = (event) => {
    const frame = svg.getBoundingClientRect();
    return Math.min(width - RIGHT, Math.max(LEFT, ((event.clientX - frame.left) / frame.width) * width));
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    begin = place(event);
    box = draw("rect", { class: "drawn", x: begin, y: TOP, width: 0, height: HEIGHT - TOP - BOTTOM });
    svg.append(box);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (begin === null) return;
    const end = place(event);
    box.setAttribute("x", Math.min(begin, end));
    box.setAttribute("width", Math.abs(end - begin));
  });
  const end = (event) => {
    if (begin === null) return;
    const [one, other] = [begin, place(event)].sort((a, b) => a - b);
    box.remove();
    begin = null;
    if (event.type === "pointerup" && other - one > 6) zoom(timeAt(one), timeAt(other));
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
}
