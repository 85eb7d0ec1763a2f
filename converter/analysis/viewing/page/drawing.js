"use strict";
// The canvas: what of the timeline is in view, and where.

const NAMES_WIDTH = 220, AXIS_HEIGHT = 26, GROUP_HEIGHT = 22, GAP = 5;
const HEIGHTS = { [SLICES]: 18, [INSTANTS]: 12, [TASKS]: 20, [COUNTER]: 34, [STATES]: 9 };
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

function heightOf(runs) {
  return runs.reduce((sum, run) => sum + HEIGHTS[run.kind], 0);
}

class Drawing {
  /** `rows` says which lanes are shown, and `search` what of them is found. */
  constructor(canvas, timeline, rows, search) {
    Object.assign(this, { canvas, rows, search, axis: new Axis(this), arrows: new Arrows(this) });
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

  /** Where each group and lane is, from the top of all of them. A process with one thread has one row. */
  layOut() {
    this.placed = [];
    for (const lane of this.timeline.lanes) lane.y = null;
    let y = 0;
    for (const { group, lanes, isAlone } of this.rows.groups()) {
      if (!isAlone) {
        this.placed.push({ group, y, height: GROUP_HEIGHT });
        y += GROUP_HEIGHT;
        if (this.folded.has(group)) continue;
      }
      for (const lane of lanes) {
        const height = Math.max(heightOf(lane.items), 14) + GAP;
        lane.y = y;
        const isOwn = isAlone && lane.name !== group.name;
        this.placed.push({ lane, name: isOwn ? `${group.name}: ${lane.name}` : lane.name, y, height });
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
      ["paper", "shade", "ink", "faint", "line", "mark", ...Object.keys(STATE_TEXTS)].map((name) => [name, style.getPropertyValue(`--${name}`)]),
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
  reveal({ run, index }, { whole = false, stays = false } = {}) {
    // A panel may just have opened.
    this.resize();
    const start = run.ts[index], end = Math.min(run.end?.[index] ?? start, this.timeline.length);
    const wasHidden = this.rows.include(run.lane);
    if (this.folded.delete(run.lane.group) || wasHidden || run.lane.y === null) this.layOut();
    const isOut = end < this.from || start > this.from + this.span;
    if (!stays && (whole || isOut || (end > start && (end - start) * this.scale < 4))) {
      const length = Math.max(end - start, SHORTEST);
      this.show(start - length * 0.6, length * 2.2);
    }
    const y = run.lane.y + heightOf(run.lane.items.slice(0, run.lane.items.indexOf(run)));
    if (y < this.top || y + HEIGHTS[run.kind] + GAP > this.top + this.visible) this.scroll(y - this.visible / 3 - this.top);
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
    this.axis.grid();
    for (const row of this.placed) {
      const y = AXIS_HEIGHT + row.y - this.top;
      if (y + row.height < AXIS_HEIGHT || y > AXIS_HEIGHT + this.visible) continue;
      if (row.group) this.drawGroup(row.group, y);
      else this.drawLane(row, y);
    }
    this.arrows.draw();
    this.drawMeasured();
    c.restore();
    this.axis.draw();
    this.onDrawn?.();
  }

  drawGroup(group, y) {
    const { context: c, theme } = this;
    c.fillStyle = theme.shade;
    c.fillRect(0, y, this.width, GROUP_HEIGHT - 2);
    c.fillStyle = theme.ink;
    this.text(`${this.folded.has(group) ? "▸" : "▾"} ${visible(group.name)}`, 8, y + GROUP_HEIGHT / 2 - 1, this.width - 16);
  }

  drawLane({ lane, name, height }, y) {
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
    this.text(visible(name), 18, y + Math.min(height / 2, 11), NAMES_WIDTH - 26);
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
        const left = Math.max(x, NAMES_WIDTH - 2), right = Math.min(x + width, this.width + 2);
        this.drawItem(run, i, 1, left, right, y, height, 1);
        if (this.search.hits(run, i, i + 1)) this.drawHit(left, right, y, height);
        i++;
        continue;
      }
      const pixel = Math.floor(x);
      let next = Math.max(nextNotBefore(ts, this.timeAt(pixel + 1), i, count), i + 1);
      // Items of a row follow each other, so that only the last that begins in a pixel goes on beyond it.
      if (next - i > 1 && (Math.min(end[next - 1], this.timeline.length) - ts[next - 1]) * scale >= 1.5) next--;
      const share = run.kind === INSTANTS ? 1 : Math.min(Math.max((run.busy[next] - run.busy[i]) * scale, 0.3), 1);
      const best = next - i > 1 ? run.longest(i, next) : i;
      this.drawItem(run, best, next - i, pixel, pixel + 1, y, height, run.kind === STATES ? 1 : share);
      if (run.kind === STATES && run.busy[next] > run.busy[i]) this.drawShare(this.theme.running, share, pixel, y, height);
      if (this.search.hits(run, i, next)) this.drawHit(pixel, pixel + 2, y, height);
      i = next;
    }
  }

  /** A colour over a pixel, as strongly as what it is for takes of the pixel. */
  drawShare(colour, share, x, y, height) {
    const { context: c } = this;
    c.globalAlpha = share;
    c.fillStyle = colour;
    c.fillRect(x, y, 1, height);
    c.globalAlpha = 1;
  }

  /** The mark of what is found. */
  drawHit(left, right, y, height) {
    this.context.fillStyle = this.theme.mark;
    this.context.fillRect(left, y + height - 3, right - left, 3);
  }

  drawItem(run, index, count, left, right, y, height, share) {
    const { context: c } = this, item = run.first + index;
    if (run.kind === TASKS && this.timeline.columns.who[item] === this.timeline.idle) return;
    const width = Math.max(right - left - (right - left > 3 ? 1 : 0), run.kind === INSTANTS ? 2 : 1);
    c.globalAlpha = share * this.shareOf(run, item);
    c.fillStyle = this.colour(run, index);
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
    const count = this.timeline.columns.count?.[item] ?? 1;
    return count > 1 ? `${count} × ${this.timeline.nameOf(item)} …` : this.timeline.nameOf(item);
  }

  colour(run, index) {
    if (run.kind === STATES) return this.theme[run.groupAt(index)];
    const name = this.timeline.name[run.first + index];
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
    return this.placed.find((row) => row.group && at >= row.y && at < row.y + row.height)?.group ?? null;
  }
}
