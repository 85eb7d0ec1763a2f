"use strict";
// What a range of time contains: slices by name, threads by state, and samples.

/** A node of a flame graph: a name below those above it. */
class FlameNode {
  constructor(name, above) {
    Object.assign(this, { name, above, own: 0, total: 0, count: 0, below: new Map() });
  }

  child(name) {
    let found = this.below.get(name);
    if (!found) this.below.set(name, (found = new FlameNode(name, this)));
    return found;
  }

  /** All nodes, each before those below it. */
  all() {
    const found = [this];
    for (let i = 0; i < found.length; i++) for (const one of found[i].below.values()) found.push(one);
    return found;
  }

  /** Add what is below to each node. */
  sum() {
    const nodes = this.all();
    for (const node of nodes) node.total = node.own;
    for (let i = nodes.length - 1; i > 0; i--) nodes[i].above.total += nodes[i].total;
    return this;
  }
}

/** What is in a range: slices count with the part of them that is in it. */
class RangeSums {
  constructor(timeline, from, to) {
    Object.assign(this, { timeline, from: Math.max(from, 0), to: Math.min(to, timeline.length) });
    /** By the number of a name: what slices take, one by one, and how many each of these is for. */
    this.byName = new Map();
    this.slices = new FlameNode("all slices", null);
    for (const lane of timeline.lanes) this.addLane(lane);
    this.slices.sum();
  }

  /** The part of an item that is in the range. */
  part(run, i) {
    return Math.max(Math.min(run.end[i], this.to) - Math.max(run.ts[i], this.from), 0);
  }

  addLane(lane) {
    let above = null;
    for (const run of lane.items) {
      if (run.kind !== SLICES) continue;
      const row = this.addRow(run, lane.apart ? null : above);
      if (above) this.finish(above);
      above = row;
    }
    if (above) this.finish(above);
  }

  /** The slices of a row: their nodes, and what of each is in none below. */
  addRow(run, above) {
    const first = firstNotBefore(run.end, this.from, 0, run.count);
    const row = { run, first, nodes: [], own: [] };
    let j = above ? above.first : 0;
    for (let i = first; i < run.count && run.ts[i] <= this.to; i++) {
      let around = this.slices, index = -1;
      if (above) {
        while (j + 1 < above.first + above.nodes.length && above.run.ts[j + 1] <= run.ts[i]) j++;
        index = j - above.first;
        if (index < above.nodes.length) around = above.nodes[index];
        else index = -1;
      }
      const part = this.busy(run, i);
      if (index >= 0) above.own[index] -= part;
      const node = around.child(this.timeline.name[run.first + i]);
      row.nodes.push(node);
      row.own.push(part);
    }
    return row;
  }

  /** How long a slice takes in the range; one that stands for many takes what they take. */
  busy(run, i) {
    const { count, busy } = this.timeline.columns, part = this.part(run, i), item = run.first + i;
    if (!(count?.[item] > 1)) return part;
    const whole = Math.min(run.end[i], this.timeline.length) - run.ts[i];
    return whole ? (busy[item] * part) / whole : 0;
  }

  finish({ run, first, nodes, own }) {
    nodes.forEach((node, k) => {
      const item = run.first + first + k, many = this.timeline.columns.count?.[item] ?? 1;
      const total = this.busy(run, first + k), self = Math.max(own[k], 0);
      node.own += self;
      node.count += many;
      let known = this.byName.get(node.name);
      if (!known) this.byName.set(node.name, (known = { count: 0, total: 0, self: 0, took: [] }));
      known.count += many;
      known.total += total;
      known.self += self;
      known.took.push([total / many, many]);
    });
  }

  /** Rows of a table: name, count, total, self, shortest, percentiles, longest, average. */
  sliceRows() {
    return [...this.byName].map(([name, { count, total, self, took }]) => {
      took.sort(([a], [b]) => a - b);
      const ranks = [0, 0.5, 0.9, 0.99, 1].map((share) => Math.max(Math.ceil(share * count), 1));
      const found = [];
      let before = 0;
      for (const [one, many] of took) {
        before += many;
        while (found.length < ranks.length && ranks[found.length] <= before) found.push(one);
      }
      return [this.timeline.names[name], count, total, self, ...found, total / count];
    });
  }

  /** Rows of a table: thread, time on CPUs, share of the range, time in other states. */
  threadRows() {
    const rows = [];
    for (const lane of this.timeline.lanes) {
      const run = lane.states;
      if (!run) continue;
      const times = { running: 0, runnable: 0, preempted: 0, sleeping: 0, uninterruptible: 0 };
      const first = firstNotBefore(run.end, this.from, 0, run.count);
      for (let i = first; i < run.count && run.ts[i] <= this.to; i++) times[run.groupAt(i)] += this.part(run, i);
      const { running, runnable, preempted, sleeping, uninterruptible } = times;
      const share = (100 * running) / Math.max(this.to - this.from, 1);
      const name = lane.name === lane.group.name ? lane.name : `${lane.name} (${lane.group.name})`;
      if (running + runnable + preempted + sleeping + uninterruptible) {
        rows.push([name, running, share, runnable + preempted, sleeping, uninterruptible]);
      }
    }
    return rows;
  }

  /** The samples of an event. */
  samples(event) {
    const { sampleEvent, sampleStack, sampleWeight, stackOuter, stackFunction } = this.timeline.columns;
    const ts = this.timeline.sampleTs, root = new FlameNode("all samples", null), nodes = [root];
    for (let i = firstNotBefore(ts, this.from, 0, ts.length); i < ts.length && ts[i] <= this.to; i++) {
      if (sampleEvent[i] !== event) continue;
      const path = [];
      let stack = sampleStack[i];
      for (; !nodes[stack]; stack = stackOuter[stack]) path.push(stack);
      while (path.length) {
        const inner = path.pop();
        nodes[inner] = nodes[stack].child(stackFunction[inner]);
        stack = inner;
      }
      nodes[stack].own += sampleWeight[i];
      nodes[stack].count++;
    }
    return root.sum();
  }
}
