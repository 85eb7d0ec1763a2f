"use strict";
// A link to what is shown: #t=START,LENGTH in seconds of the trace's clock, and &i=NUMBER of the item that is selected.

class Link {
  constructor(page) {
    this.page = page;
    addEventListener("hashchange", () => this.follow());
  }

  /** Show what the address says. */
  follow() {
    const { page } = this, { timeline, drawing } = page;
    const said = new URLSearchParams(location.hash.slice(1));
    if (location.hash === this.written) return;
    const [start, length] = (said.get("t") ?? "").split(",").map(nanosecondsOf);
    const item = Number.parseInt(said.get("i"), 10);
    if (item >= 0 && item < timeline.name.length) {
      const run = timeline.runOf(item);
      page.go({ run, index: item - run.first, count: 1 }, { stays: start !== null });
    }
    if (start !== null && start !== undefined) {
      const span = Number(length ?? 0n) || drawing.span;
      drawing.show(Number(start - timeline.start) - (length ? 0 : span / 2), span);
    }
  }

  /** Have the address say what is shown, once that has stopped moving. */
  changed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const { timeline, drawing } = this.page, { selected } = drawing;
      const start = secondsText(timeline.clock(drawing.from)), length = secondsText(BigInt(Math.round(drawing.span)));
      const item = selected && selected.run.first >= 0 ? `&i=${selected.run.first + selected.index}` : "";
      this.written = `#t=${start},${length}${item}`;
      history.replaceState(null, "", this.written);
    }, 200);
  }
}
