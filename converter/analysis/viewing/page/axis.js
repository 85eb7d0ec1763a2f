"use strict";
// The axis of time: seconds of the trace's clock, or since its start, or the time of day.

const CLOCK = "clock", START = "start", DATE = "date";

class Axis {
  constructor(drawing) {
    this.drawing = drawing;
    this.mode = CLOCK;
  }

  get timeline() {
    return this.drawing.timeline;
  }

  /** Show times in the next way that there is. */
  next() {
    const modes = this.timeline.header.epoch === null ? [CLOCK, START] : [CLOCK, START, DATE];
    this.mode = modes[(modes.indexOf(this.mode) + 1) % modes.length];
    this.drawing.changed();
  }

  /** Times of the axis: every 1, 2 or 5 times a power of ten. */
  ticks() {
    const { from, span, width } = this.drawing;
    const least = (span * 110) / Math.max(width - NAMES_WIDTH, 1);
    const power = 10 ** Math.floor(Math.log10(least));
    const step = Math.max([1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least), 1);
    // They are round on the clock that is shown.
    const zero = this.mode === START ? 0 : Number(this.timeline.start % BigInt(Math.max(Math.round(step), 1)));
    const result = [];
    for (let time = Math.ceil((from + zero) / step) * step - zero; time <= from + span; time += step) result.push(time);
    return [result, step];
  }

  text(time, digits) {
    const clock = this.timeline.clock(time);
    if (this.mode === START) return secondsText(BigInt(Math.round(time)), digits);
    if (this.mode === DATE) return dayText(BigInt(this.timeline.header.epoch) + clock, digits);
    return secondsText(clock, digits);
  }

  grid() {
    const { drawing } = this, { context: c, theme } = drawing;
    c.fillStyle = theme.shade;
    for (const time of this.ticks()[0]) {
      const x = drawing.xOf(time);
      if (x >= NAMES_WIDTH) c.fillRect(Math.round(x), AXIS_HEIGHT, 1, drawing.visible);
    }
  }

  draw() {
    const { drawing } = this, { context: c, theme } = drawing, [times, step] = this.ticks();
    const digits = Math.min(Math.max(9 - Math.floor(Math.log10(step)), 0), 9);
    c.fillStyle = theme.faint;
    for (const time of times) {
      const x = drawing.xOf(time);
      if (x < NAMES_WIDTH) continue;
      c.fillRect(Math.round(x), AXIS_HEIGHT - 6, 1, 6);
      c.fillText(this.text(time, digits), x + 4, AXIS_HEIGHT / 2 - 1);
    }
    c.fillText({ [CLOCK]: "seconds", [START]: "seconds since the start", [DATE]: "time of day, UTC" }[this.mode], 18, AXIS_HEIGHT / 2 - 1);
    this.drawHits();
  }

  /** A mark for each pixel in whose time something is found. */
  drawHits() {
    const { drawing } = this, { context: c, theme, search } = drawing;
    if (!search.found?.length) return;
    c.fillStyle = theme.mark;
    for (let x = NAMES_WIDTH; x < drawing.width; x += 2) {
      if (search.isIn(drawing.timeAt(x), drawing.timeAt(x + 2))) c.fillRect(x, AXIS_HEIGHT - 4, 2, 4);
    }
  }
}
