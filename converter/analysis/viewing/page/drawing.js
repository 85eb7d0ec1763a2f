"use strict";
// The canvas: what of the timeline is in view, and where.

const NAMES_WIDTH = 220, AXIS_HEIGHT = 26, GROUP_HEIGHT = 22, GAP = 5;
const HEIGHTS = { [SLICES]: 18, [INSTANTS]: 12, [TASKS]: 20, [COUNTER]: 34, [RUNNING]: 8 };
const FONT = "11px system-ui, sans-serif", CHARACTER = 6;
/** Nobody needs to see less than this many nanoseconds. */
const SHORTEST = 20;

/** The colour of a name: always the same, and light enough for dark letters. */
function colourOf(name) {
  let hash = 2166136261;
  for (let i = 0; i < name.length && i < 200; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  hash ^= hash >>> 15;
  return `hsl(${(hash >>> 0) % 360} ${45 + ((hash >>> 9) % 25)}% ${62 + ((hash >>> 16) % 14)}%)`;
}

class Drawing {
  constructor(canvas, timeline) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.timeline = timeline;
    this.from = 0;
    this.span = timeline.length;
    this.top = 0;
    this.folded = new Set();
    this.colours = [];
    /** What is selected: a run, and the number of an item in it. */
    this.selected = null;
    this.measured = null;
    this.layOut();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  /** Where each group, lane and row is, from the top of all of them. */
  layOut() {
    this.rows = [];
    let y = 0;
    for (const group of this.timeline.groups) {
      this.rows.push({ group, y, height: GROUP_HEIGHT });
      y += GROUP_HEIGHT;
      if (this.folded.has(group)) continue;
      for (const lane of group.lanes) {
        const height = Math.max(lane.items.reduce((sum, run) => sum + HEIGHTS[run.kind], 0), 14) + GAP;
        lane.y = y;
        this.rows.push({ lane, y, height });
        y += height;
      }
    }
    this.height = y;
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.visible = this.canvas.clientHeight - AXIS_HEIGHT;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
    this.ratio = ratio;
    const style = getComputedStyle(document.documentElement);
    this.theme = Object.fromEntries(
      ["paper", "shade", "ink", "faint", "line", "mark"].map((name) => [name, style.getPropertyValue(`--${name}`)]),
    );
    this.changed();
  }

  /** Draw before the next frame. */
  changed() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      this.draw();
    });
  }

  /** Show `span` nanoseconds from a time on, as far as there is a trace. */
  show(from, span) {
    const margin = 0.02 * this.timeline.length;
    this.span = Math.min(Math.max(span, SHORTEST), this.timeline.length + 2 * margin);
    this.from = Math.min(Math.max(from, -margin), this.timeline.length + margin - this.span);
    this.changed();
  }

  /** Zoom by a factor with the time at `x` staying where it is. */
  zoom(factor, x) {
    const at = this.timeAt(Math.max(x, NAMES_WIDTH));
    const before = this.span;
    this.show(this.from, this.span * factor);
    this.show(at - (at - this.from) * (this.span / before), this.span);
  }

  scroll(pixels) {
    this.top = Math.min(Math.max(this.top + pixels, 0), Math.max(this.height - this.visible, 0));
    this.changed();
  }

  get scale() {
    return (this.width - NAMES_WIDTH) / this.span;
  }

  timeAt(x) {
    return this.from + (x - NAMES_WIDTH) / this.scale;
  }

  xOf(time) {
    return NAMES_WIDTH + (time - this.from) * this.scale;
  }

  /** Bring an item into view: all of it, where it is not yet in view as large as may be seen. */
  reveal({ run, index }, { whole = false } = {}) {
    const start = run.ts[index], end = Math.min(run.end[index], this.timeline.length);
    const group = this.timeline.groups.find((one) => one.lanes.includes(run.lane));
    if (this.folded.delete(group)) this.layOut();
    const isOut = end < this.from || start > this.from + this.span;
    if (whole || isOut || (end > start && (end - start) * this.scale < 4)) {
      const length = Math.max(end - start, SHORTEST);
      this.show(start - length * 0.6, length * 2.2);
    }
    const y = run.lane.y;
    if (y < this.top || y + 60 > this.top + this.visible) this.scroll(y - this.visible / 3 - this.top);
    this.changed();
  }

  draw() {
    const { context: c, theme } = this;
    this.drawn = [];
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = theme.paper;
    c.fillRect(0, 0, this.width, this.visible + AXIS_HEIGHT);
    c.font = FONT;
    c.textBaseline = "middle";
    c.save();
    c.beginPath();
    c.rect(0, AXIS_HEIGHT, this.width, this.visible);
    c.clip();
    this.grid();
    for (const row of this.rows) {
      const y = AXIS_HEIGHT + row.y - this.top;
      if (y + row.height < AXIS_HEIGHT || y > AXIS_HEIGHT + this.visible) continue;
      if (row.group) this.drawGroup(row.group, y);
      else this.drawLane(row.lane, y, row.height);
    }
    this.drawFlows();
    this.drawMeasured();
    c.restore();
    this.axis();
  }

  drawGroup(group, y) {
    const { context: c, theme } = this;
    c.fillStyle = theme.shade;
    c.fillRect(0, y, this.width, GROUP_HEIGHT - 2);
    c.fillStyle = theme.ink;
    this.text(`${this.folded.has(group) ? "▸" : "▾"} ${visible(group.name)}`, 8, y + GROUP_HEIGHT / 2 - 1, this.width - 16);
  }

  drawLane(lane, y, height) {
    const { context: c, theme } = this;
    c.strokeStyle = theme.line;
    c.beginPath();
    c.moveTo(0, Math.round(y + height - 2) + 0.5);
    c.lineTo(this.width, Math.round(y + height - 2) + 0.5);
    c.stroke();
    c.save();
    c.beginPath();
    c.rect(NAMES_WIDTH, y - 1, this.width - NAMES_WIDTH, height);
    c.clip();
    let at = y + 1;
    for (const run of lane.items) {
      const rowHeight = HEIGHTS[run.kind];
      if (at + rowHeight > AXIS_HEIGHT && at < AXIS_HEIGHT + this.visible) {
        if (run.kind === COUNTER) this.drawCounter(run, at, rowHeight - 2);
        else this.drawRun(run, at, rowHeight - 2);
      }
      at += rowHeight;
    }
    c.restore();
    c.fillStyle = theme.ink;
    this.text(visible(lane.name), 18, y + Math.min(height / 2, 11), NAMES_WIDTH - 26);
  }

  /** Items of a row: those of a pixel or more, and one for all that are in a pixel together. */
  drawRun(run, y, height) {
    const { ts, end, count } = run;
    const scale = this.scale, to = this.from + this.span;
    let i = firstNotBefore(end, this.from, 0, count);
    while (i < count && ts[i] <= to) {
      const x = this.xOf(ts[i]);
      const width = (Math.min(end[i], this.timeline.length) - ts[i]) * scale;
      if (width >= 1.5) {
        this.drawItem(run, i, 1, Math.max(x, NAMES_WIDTH - 2), Math.min(x + width, this.width + 2), y, height, 1);
        i++;
        continue;
      }
      const pixel = Math.floor(x);
      let next = Math.max(nextNotBefore(ts, this.timeAt(pixel + 1), i, count), i + 1);
      // Items of a row follow each other, so that only the last that begins in a pixel goes on beyond it.
      if (next - i > 1 && (Math.min(end[next - 1], this.timeline.length) - ts[next - 1]) * scale >= 1.5) next--;
      const share = run.kind === INSTANTS ? 1 : Math.min(Math.max((run.busy[next] - run.busy[i]) * scale, 0.3), 1);
      const best = next - i > 1 ? run.longest(i, next) : i;
      this.drawItem(run, best, next - i, pixel, pixel + 1, y, height, share);
      i = next;
    }
  }

  drawItem(run, index, count, left, right, y, height, share) {
    const { context: c } = this, item = run.first + index;
    if (run.kind === TASKS && this.timeline.columns.who[item] === this.timeline.idle) return;
    const width = Math.max(right - left - (right - left > 3 ? 1 : 0), run.kind === INSTANTS ? 2 : 1);
    c.globalAlpha = share * this.shareOf(run, item);
    c.fillStyle = this.colour(run, item);
    c.fillRect(left, y, width, height);
    c.globalAlpha = 1;
    this.drawn.push({ run, index, count, left, right: left + width, top: y, bottom: y + height });
    if (width > 24 && height > 10) {
      c.fillStyle = "#16202b";
      this.text(visible(this.label(run, item).slice(0, width / 3)), left + 4, y + height / 2 + 0.5, width - 6);
    }
    if (this.selected && this.selected.run === run && this.selected.index === index) {
      c.strokeStyle = this.theme.mark;
      c.lineWidth = 2;
      c.strokeRect(left, y, width, height);
      c.lineWidth = 1;
    }
  }

  /** How much of an item that stands for many is taken. */
  shareOf(run, item) {
    const { count, busy } = this.timeline.columns;
    if (!count || run.first < 0 || count[item] < 2 || run.kind !== SLICES) return 1;
    return Math.min(Math.max(busy[item] / (this.timeline.end[item] - this.timeline.ts[item]), 0.3), 1);
  }

  label(run, item) {
    if (run.kind === RUNNING) return "running";
    const count = this.timeline.columns.count?.[item] ?? 1;
    return count > 1 ? `${count} × ${this.timeline.nameOf(item)} …` : this.timeline.nameOf(item);
  }

  colour(run, item) {
    if (run.kind === RUNNING) return "hsl(140 45% 52%)";
    const name = this.timeline.name[item];
    return (this.colours[name] ??= colourOf(this.timeline.names[name]));
  }

  drawCounter(run, y, height) {
    const { context: c, theme } = this, { ts, value, count } = run;
    const low = Math.min(run.least, 0), high = Math.max(run.greatest, low + 1e-9);
    const at = (one) => y + height - ((one - low) / (high - low)) * height;
    const zero = at(low);
    let i = Math.max(firstNotBefore(ts, this.from, 0, count) - 1, 0);
    const to = this.from + this.span;
    c.fillStyle = "hsl(210 55% 60%)";
    while (i < count && ts[i] <= to) {
      const x = this.xOf(ts[i]);
      const over = i + 1 < count ? ts[i + 1] : run.over;
      let right = this.xOf(over), next = i + 1, top = value[i];
      if (right - x < 1) {
        const pixel = Math.floor(x);
        next = Math.max(nextNotBefore(ts, this.timeAt(pixel + 1), i, count), i + 1);
        [, top] = run.extremes(i, next);
        right = pixel + 1;
      }
      const left = Math.max(x, NAMES_WIDTH), end = Math.min(Math.max(right, x + 1), this.width);
      c.fillRect(left, at(top), end - left, Math.max(zero - at(top), 1));
      this.drawn.push({ run, index: i, count: next - i, left, right: end, top: y, bottom: y + height });
      i = next;
    }
    c.fillStyle = theme.faint;
    this.text(String(run.greatest), NAMES_WIDTH + 4, y + 6, 200);
  }

  /** The ways of the flows that the selected slice is on. */
  drawFlows() {
    if (!this.selected || this.selected.run.kind !== SLICES) return;
    const { context: c, theme } = this, { run, index } = this.selected;
    const { flowFrom, flowFromTs, flowTo, flowToTs } = this.timeline.columns;
    const lane = run.lane.number, start = run.ts[index], end = run.end[index];
    const isIn = (of, ts) => of === lane && ts >= start && ts <= end;
    c.strokeStyle = c.fillStyle = theme.mark;
    for (let i = 0; i < flowFrom.length; i++) {
      if (!isIn(flowFrom[i], flowFromTs[i]) && !isIn(flowTo[i], flowToTs[i])) continue;
      const [from, to] = [this.timeline.lanes[flowFrom[i]], this.timeline.lanes[flowTo[i]]];
      const middle = (one) => AXIS_HEIGHT + one.y - this.top + 14;
      const x = this.xOf(flowFromTs[i]), toX = this.xOf(flowToTs[i]), y = middle(from), toY = middle(to);
      c.beginPath();
      c.moveTo(x, y);
      c.bezierCurveTo((x + toX) / 2, y, (x + toX) / 2, toY, toX, toY);
      c.stroke();
      c.beginPath();
      c.arc(toX, toY, 3, 0, 7);
      c.fill();
    }
  }

  drawMeasured() {
    if (!this.measured) return;
    const { context: c, theme } = this;
    const [from, to] = this.measured.map((time) => this.xOf(time)).sort((a, b) => a - b);
    c.globalAlpha = 0.15;
    c.fillStyle = theme.mark;
    c.fillRect(from, AXIS_HEIGHT, to - from, this.visible);
    c.globalAlpha = 1;
    c.fillStyle = theme.ink;
    this.text(lengthText(Math.round(Math.abs(this.measured[1] - this.measured[0]))), from + 4, AXIS_HEIGHT + 10, 200);
  }

  /** Times of the axis: every 1, 2 or 5 times a power of ten. */
  ticks() {
    const least = (this.span * 110) / Math.max(this.width - NAMES_WIDTH, 1);
    const power = 10 ** Math.floor(Math.log10(least));
    const step = Math.max([1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least), 1);
    // They are round on the trace's clock.
    const start = Number(this.timeline.start % BigInt(Math.max(Math.round(step), 1)));
    const result = [];
    for (let time = Math.ceil((this.from + start) / step) * step - start; time <= this.from + this.span; time += step) result.push(time);
    return [result, step];
  }

  grid() {
    const { context: c, theme } = this;
    c.fillStyle = theme.shade;
    for (const time of this.ticks()[0]) {
      if (this.xOf(time) >= NAMES_WIDTH) c.fillRect(Math.round(this.xOf(time)), AXIS_HEIGHT, 1, this.visible);
    }
  }

  axis() {
    const { context: c, theme } = this, [times, step] = this.ticks();
    const digits = Math.min(Math.max(9 - Math.floor(Math.log10(step)), 0), 9);
    c.fillStyle = theme.faint;
    for (const time of times) {
      const x = this.xOf(time);
      if (x < NAMES_WIDTH) continue;
      c.fillRect(Math.round(x), AXIS_HEIGHT - 6, 1, 6);
      c.fillText(secondsText(this.timeline.clock(time), digits), x + 4, AXIS_HEIGHT / 2 - 1);
    }
    c.fillText("seconds", 18, AXIS_HEIGHT / 2 - 1);
  }

  /** Text cut to what has room. */
  text(text, x, y, width) {
    const room = Math.floor(width / CHARACTER);
    if (room < 1) return;
    this.context.fillText(text.length > room ? `${text.slice(0, Math.max(room - 1, 1))}…` : text, x, y, width);
  }

  /** What is drawn at a place of the canvas. */
  at(x, y) {
    const near = (one) => y >= one.top && y < one.bottom && x >= one.left - 1 && x < Math.max(one.right, one.left + 2);
    return this.drawn.findLast(near) ?? null;
  }

  /** The group whose name is at a place of the canvas. */
  groupAt(y) {
    const at = y - AXIS_HEIGHT + this.top;
    return this.rows.find((row) => row.group && at >= row.y && at < row.y + row.height)?.group ?? null;
  }
}
