"use strict";
// Arrows: the flows that the selected slice is on, and who made the selected thread runnable.

class Arrows {
  constructor(drawing) {
    this.drawing = drawing;
  }

  /** The arrows of what is selected: from a lane at a time, to a lane at a time. */
  ofSelected() {
    const { selected, timeline } = this.drawing;
    if (selected?.run.kind === SLICES) return this.flows(selected);
    if (selected?.run.kind !== STATES) return [];
    const { run, index } = selected, found = [];
    // What a thread runs was made possible by the waking before.
    const woken = run.groupAt(index) === "running" && index && run.end[index - 1] === run.ts[index] ? [index, index - 1] : [index];
    for (const i of woken) {
      const waker = timeline.lanes[run.wakers[i] - 1];
      if (waker) found.push([waker, run.ts[i], run.lane, run.ts[i]]);
    }
    return found;
  }

  flows({ run, index }) {
    const { timeline } = this.drawing, { flowFrom, flowFromTs, flowTo, flowToTs } = timeline.columns;
    const lane = run.lane.number, start = run.ts[index], end = run.end[index];
    const isIn = (of, ts) => of === lane && ts >= start && ts <= end;
    const found = [];
    for (let i = 0; i < flowFrom.length; i++) {
      if (!isIn(flowFrom[i], flowFromTs[i]) && !isIn(flowTo[i], flowToTs[i])) continue;
      found.push([timeline.lanes[flowFrom[i]], flowFromTs[i], timeline.lanes[flowTo[i]], flowToTs[i]]);
    }
    return found;
  }

  draw() {
    const { drawing } = this, { context: c, theme } = drawing;
    c.strokeStyle = c.fillStyle = theme.mark;
    for (const [from, start, to, end] of this.ofSelected()) {
      if (from.y === null || to.y === null) continue;
      const middle = (lane) => AXIS_HEIGHT + lane.y - drawing.top + (lane.states ? 5 : 14);
      const x = drawing.xOf(start), toX = drawing.xOf(end), y = middle(from), toY = middle(to);
      const bend = x === toX ? 14 : (toX - x) / 2;
      c.beginPath();
      c.moveTo(x, y);
      c.bezierCurveTo(x + bend, y, toX - bend, toY, toX, toY);
      c.stroke();
      c.beginPath();
      c.arc(toX, toY, 3, 0, 7);
      c.fill();
    }
  }
}
