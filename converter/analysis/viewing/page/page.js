"use strict";
// Keys, mouse and search; and how all of it begins.

class Page {
  constructor(timeline, data) {
    this.timeline = timeline;
    this.canvas = document.getElementById("timeline");
    this.query = document.getElementById("query");
    this.found = document.getElementById("found");
    this.help = document.getElementById("help");
    this.order = document.getElementById("order");
    this.filter = document.getElementById("filter");
    this.search = new Search(timeline, data);
    this.drawing = new Drawing(this.canvas, timeline, new Rows(timeline, this.order, this.filter), this.search);
    this.hover = new Hover(document.getElementById("hover"), this.drawing);
    showLegend(document.getElementById("legend"), timeline);
    this.details = new Details(document.getElementById("details"), timeline, data);
    this.range = new RangePanel(document.getElementById("range"), timeline);
    this.mouse = NAMES_WIDTH;
    this.listen();
    this.canvas.focus();
    this.link = new Link(this);
    this.link.follow();
    this.drawing.onDrawn = () => this.link.changed();
  }

  select(selected) {
    this.drawing.selected = selected;
    this.drawing.changed();
    /** Resolved when the details say what the selected item says. */
    this.shown = this.details.show(selected);
    return this.shown;
  }

  /** Select an item and bring it into view, once its details have taken their room. */
  go(selected, how) {
    const shown = this.select(selected).then(() => this.drawing.selected === selected && this.drawing.reveal(selected, how));
    return (this.shown = shown);
  }

  listen() {
    document.addEventListener("keydown", (event) => this.key(event));
    for (const control of [this.order, this.filter]) {
      control.addEventListener("keydown", (event) => {
        event.stopPropagation();
        if (event.key === "Escape" || event.key === "Enter") this.canvas.focus();
      });
      control.addEventListener("input", () => {
        this.drawing.layOut();
        this.drawing.scroll(0);
      });
    }
    document.getElementById("times-button").addEventListener("click", () => this.drawing.axis.next());
    this.canvas.addEventListener("pointerleave", () => this.hover.show(null));
    document.getElementById("help-button").addEventListener("click", () => this.help.showModal());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawing.resize());
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", (event) => this.release(event));
    this.query.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter") this.shown = this.find(event.shiftKey ? -1 : 1);
      if (event.key !== "Escape") return;
      // The text stays, for more of the same.
      event.preventDefault();
      this.canvas.focus();
    });
    this.query.addEventListener("input", () => {
      this.search.clear();
      this.drawing.changed();
      this.found.textContent = "";
      this.range.find(this.query.value);
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const { drawing } = this;
    const actions = {
      w: () => drawing.zoom(1 / 1.5, this.mouse),
      s: () => drawing.zoom(1.5, this.mouse),
      a: () => drawing.show(drawing.from - drawing.span / 6, drawing.span),
      d: () => drawing.show(drawing.from + drawing.span / 6, drawing.span),
      ArrowLeft: () => drawing.show(drawing.from - drawing.span / 6, drawing.span),
      ArrowRight: () => drawing.show(drawing.from + drawing.span / 6, drawing.span),
      ArrowUp: () => drawing.scroll(-40),
      ArrowDown: () => drawing.scroll(40),
      PageUp: () => drawing.scroll(-drawing.visible * 0.9),
      PageDown: () => drawing.scroll(drawing.visible * 0.9),
      f: () => drawing.selected && drawing.reveal(drawing.selected, { whole: true }),
      0: () => drawing.show(0, this.timeline.length),
      ",": () => this.step(-1),
      ".": () => this.step(1),
      r: () => this.sum(drawing.from, drawing.from + drawing.span),
      t: () => drawing.axis.next(),
      "/": () => {
        this.query.focus();
        this.query.select();
      },
      "?": () => this.help.showModal(),
      Escape: () => {
        drawing.measured = null;
        this.range.close();
        this.select(null);
      },
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Show what a range of time contains. */
  sum(from, to) {
    this.drawing.measured = [from, to];
    this.drawing.changed();
    this.range.show(Math.min(from, to), Math.max(from, to), this.query.value);
  }

  /** Select what is before or behind the selected item in its row. */
  step(by) {
    const now = this.drawing.selected;
    if (!now) return;
    const index = now.index + by;
    if (index < 0 || index >= now.run.count) return;
    this.go({ run: now.run, index, count: 1 });
  }

  /** Select the next match, from the beginning on or from the one before. */
  async find(by) {
    const text = this.query.value, { search } = this;
    if (!text) return;
    if (!search.found || search.text !== text) {
      await search.find(text);
      this.match = by > 0 ? -1 : search.found.length;
      this.drawing.changed();
    }
    const { length } = search.found;
    if (!length) {
      this.found.textContent = "none";
      return;
    }
    this.match = (this.match + by + length) % length;
    this.found.textContent = `${(this.match + 1).toLocaleString("en")} of ${length.toLocaleString("en")}`;
    const item = search.found[this.match], run = this.timeline.runOf(item);
    await this.go({ run, index: item - run.first, count: 1 });
  }

  wheel(event) {
    event.preventDefault();
    const { drawing } = this;
    if (event.ctrlKey || event.metaKey) drawing.zoom(1.002 ** event.deltaY, event.offsetX);
    else if (event.shiftKey) drawing.show(drawing.from + event.deltaY / drawing.scale, drawing.span);
    else {
      drawing.scroll(event.deltaY);
      if (event.deltaX) drawing.show(drawing.from + event.deltaX / drawing.scale, drawing.span);
    }
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.pressed = { x: event.offsetX, y: event.offsetY, from: this.drawing.from, top: this.drawing.top, moved: false };
    if (event.shiftKey) this.drawing.measured = [this.drawing.timeAt(event.offsetX), this.drawing.timeAt(event.offsetX)];
    this.pressed.measures = event.shiftKey;
  }

  move(event) {
    this.mouse = event.offsetX;
    const { pressed, drawing } = this;
    this.hover.show(pressed ? null : drawing.at(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
    if (!pressed) return;
    const x = event.offsetX - pressed.x, y = event.offsetY - pressed.y;
    pressed.moved ||= Math.abs(x) + Math.abs(y) > 4;
    if (!pressed.moved) return;
    if (pressed.measures) {
      drawing.measured[1] = drawing.timeAt(event.offsetX);
      drawing.changed();
      return;
    }
    drawing.show(pressed.from - x / drawing.scale, drawing.span);
    drawing.scroll(pressed.top - y - drawing.top);
  }

  release(event) {
    const { pressed, drawing } = this;
    this.pressed = null;
    if (pressed?.measures && pressed.moved) this.sum(...drawing.measured);
    if (!pressed || pressed.moved) return;
    const group = drawing.groupAt(event.offsetY);
    if (group && event.offsetY > AXIS_HEIGHT) {
      if (!drawing.folded.delete(group)) drawing.folded.add(group);
      drawing.layOut();
      drawing.scroll(0);
      return;
    }
    drawing.measured = null;
    this.select(drawing.at(event.offsetX, event.offsetY));
  }
}

async function begin() {
  const status = document.getElementById("status");
  try {
    const timeline = await Timeline.from(new Data(document.getElementById("timeline-data")));
    const { header } = timeline;
    document.title = header.title;
    document.getElementById("title").textContent = header.title;
    const length = lengthText(timeline.length);
    const summary = document.getElementById("summary");
    summary.textContent = [`${header.format}, ${header.events.toLocaleString("en")} events, ${length}`, ...header.notes].join("; ");
    summary.title = header.notes.join("\n");
    const page = new Page(timeline, new Arguments(document.getElementById("arguments-data"), header.sources));
    status.textContent = "";
    page.drawing.draw();
    return page;
  } catch (error) {
    status.textContent = `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`;
    throw error;
  }
}

/** For those who look into the page with the tools of a browser: resolved when it is drawn. */
globalThis.traceView = begin();
