"use strict";
// Search: all items with a text in their names or arguments.

class Search {
  constructor(timeline, args) {
    Object.assign(this, { timeline, arguments: args, text: "", found: null });
  }

  clear() {
    this.text = "";
    this.found = this.before = null;
  }

  /** Find all items with a text, in the order of time. */
  async find(text) {
    const { timeline } = this, wanted = text.toLowerCase();
    const hits = new Uint8Array(timeline.name.length);
    const matches = Uint8Array.from(timeline.names, (name) => (name.toLowerCase().includes(wanted) ? 1 : 0));
    for (let i = 0; i < hits.length; i++) hits[i] = matches[timeline.name[i]];
    this.arguments.matching = null;
    const { source, last } = timeline.columns;
    for (const [sources, rows] of [[source, timeline.row], [last, timeline.lastRow]]) {
      const said = [];
      for (let i = 0; i < hits.length; i++) {
        if (hits[i] || !sources[i]) continue;
        said[sources[i]] ??= await this.arguments.saying(sources[i] - 1, wanted) ?? NOTHING;
        hits[i] = said[sources[i]][rows[i]];
      }
    }
    this.text = text;
    this.before = new Uint32Array(hits.length + 1);
    for (let i = 0; i < hits.length; i++) this.before[i + 1] = this.before[i] + hits[i];
    this.found = new Uint32Array(this.before[hits.length]);
    for (let i = 0; i < hits.length; i++) if (hits[i]) this.found[this.before[i]] = i;
    this.found.sort((a, b) => timeline.ts[a] - timeline.ts[b] || a - b);
    this.times = Float64Array.from(this.found, (item) => timeline.ts[item]);
    return this.found;
  }

  /** How many items of a run, from `from` to `to`, are hits. */
  hits(run, from, to) {
    if (!this.before || run.first < 0) return 0;
    return this.before[run.first + to] - this.before[run.first + from];
  }

  /** Whether a hit begins between two times. */
  isIn(from, to) {
    const at = firstNotBefore(this.times, from, 0, this.times.length);
    return at < this.times.length && this.times[at] < to;
  }
}

const NOTHING = new Uint8Array(0);
