"use strict";
// What a range of time contains: slices by name, threads by CPU time, flame graphs of slices and of samples.

const FLAME_HEIGHT = 18;

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
    /** By the number of a name: [count, total, self, shortest, longest]. */
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
      const known = this.byName.get(node.name) ?? [0, 0, 0, Infinity, 0];
      known[0] += many;
      known[1] += total;
      known[2] += self;
      known[3] = Math.min(known[3], total / many);
      known[4] = Math.max(known[4], total / many);
      this.byName.set(node.name, known);
    });
  }

  /** Rows of a table: name, count, total, self, shortest, longest, average. */
  sliceRows() {
    return [...this.byName].map(([name, [count, total, self, least, most]]) => [
      this.timeline.names[name], count, total, self, least, most, total / count,
    ]);
  }

  /** Rows of a table: thread, time on CPUs, share of the range. */
  threadRows() {
    const rows = [];
    for (const group of this.timeline.groups) {
      for (const lane of group.lanes) {
        const run = lane.items.find((one) => one.kind === RUNNING);
        if (!run) continue;
        let total = 0;
        const first = firstNotBefore(run.end, this.from, 0, run.count);
        for (let i = first; i < run.count && run.ts[i] <= this.to; i++) total += this.part(run, i);
        if (total) rows.push([`${lane.name} (${group.name})`, total, (100 * total) / Math.max(this.to - this.from, 1)]);
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

/** A flame graph: the roots on top, what is below in the order of names. */
class Flame {
  constructor(canvas, say) {
    Object.assign(this, { canvas, say, context: canvas.getContext("2d"), drawn: [] });
    canvas.addEventListener("pointermove", (event) => this.say(this.at(event.offsetX, event.offsetY)));
    canvas.addEventListener("click", (event) => {
      const node = this.at(event.offsetX, event.offsetY);
      if (node) this.zoom(node);
    });
  }

  show(root, names, unit, text) {
    Object.assign(this, { root, names, unit, top: root });
    this.find(text);
  }

  nameOf(node) {
    return node.above ? this.names[node.name] : node.name;
  }

  /** Show a node in full width, below those around it. */
  zoom(node) {
    this.top = node;
    this.draw();
  }

  /** Draw what has a text in its name in full, and the rest faintly. */
  find(text) {
    this.wanted = text.toLowerCase();
    this.found = this.wanted ? this.sumOf(this.root, false) : 0;
    this.draw();
    this.say(null);
  }

  matches(node) {
    return node.above !== null && this.nameOf(node).toLowerCase().includes(this.wanted);
  }

  /** What is in nodes with the text, and below them. */
  sumOf(root) {
    let sum = 0;
    const open = [root];
    while (open.length) {
      const node = open.pop();
      if (this.matches(node)) sum += node.total;
      else open.push(...node.below.values());
    }
    return sum;
  }

  draw() {
    const { canvas, context: c } = this, ratio = devicePixelRatio || 1;
    const width = Math.max(canvas.parentElement.clientWidth, 1), style = getComputedStyle(canvas);
    this.drawn = [];
    const around = [];
    for (let node = this.top.above; node; node = node.above) around.unshift(node);
    around.forEach((node, row) => this.drawn.push({ node, x: 0, width, row }));
    const open = [{ node: this.top, x: 0, width, row: around.length }];
    while (open.length) {
      const one = open.pop();
      if (one.width < 0.5 || !one.node.total) continue;
      this.drawn.push(one);
      let { x } = one;
      const below = [...one.node.below.values()].sort((a, b) => (this.nameOf(a) < this.nameOf(b) ? -1 : 1));
      for (const node of below) {
        const share = (one.width * node.total) / one.node.total;
        open.push({ node, x, width: share, row: one.row + 1 });
        x += share;
      }
    }
    const rows = this.drawn.reduce((most, one) => Math.max(most, one.row + 1), 1);
    // Browsers draw no more than 32,767 pixels.
    const height = Math.min(rows * FLAME_HEIGHT, 16000);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = FONT;
    c.textBaseline = "middle";
    for (const { node, x, width: share, row } of this.drawn) {
      const y = row * FLAME_HEIGHT, isFaint = this.wanted && !this.matches(node);
      c.globalAlpha = isFaint ? 0.35 : 1;
      c.fillStyle = node.above ? colourOf(this.nameOf(node)) : "#b8c0cc";
      c.fillRect(x, y, Math.max(share - 1, 0.5), FLAME_HEIGHT - 1);
      if (this.wanted && !isFaint) {
        c.fillStyle = style.getPropertyValue("--mark");
        c.fillRect(x, y, Math.max(share - 1, 0.5), 2);
      }
      const room = Math.floor((share - 6) / CHARACTER);
      if (room < 3) continue;
      const name = visible(this.nameOf(node));
      c.fillStyle = "#16202b";
      c.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, x + 3, y + FLAME_HEIGHT / 2, share - 4);
    }
  }

  at(x, y) {
    const row = Math.floor(y / FLAME_HEIGHT);
    return this.drawn.find((one) => one.row === row && x >= one.x && x < one.x + one.width)?.node ?? null;
  }

  /** A weight in its unit; without one it is a number of samples. */
  amount(number) {
    if (this.unit === "ns") return lengthText(Math.round(number));
    return `${Math.round(number).toLocaleString("en")} ${this.unit ?? "samples"}`.trim();
  }

  /** What is said of a node, or of all. */
  text(node) {
    const share = (part) => `${((100 * part) / (this.root.total || 1)).toFixed(1)}%`;
    if (node) {
      return `${visible(this.nameOf(node))}: ${this.amount(node.total)} (${share(node.total)}), self ${this.amount(node.own)} (${share(node.own)})`;
    }
    const found = this.wanted ? `; found ${this.amount(this.found)} (${share(this.found)})` : "";
    return `${this.amount(this.root.total)}${found}`;
  }
}

const SLICE_HEADS = ["slices", "count", "total", "self", "min", "max", "avg"];
const THREAD_HEADS = ["thread", "CPU time", "share"];

/** The panel below the timeline. */
class RangePanel {
  constructor(element, timeline) {
    Object.assign(this, { element, timeline, wanted: "", chosen: 0 });
    const part = (name) => document.getElementById(`range-${name}`);
    [this.tabs, this.said, this.table, this.graph] = ["tabs", "said", "table", "graph"].map(part);
    this.flame = new Flame(this.graph.firstElementChild, (node) => (this.said.textContent = this.flame.text(node)));
    part("close").addEventListener("click", () => this.close());
    addEventListener("resize", () => !this.graph.hidden && !element.hidden && this.flame.draw());
  }

  close() {
    this.element.hidden = true;
  }

  show(from, to, text) {
    this.sums = new RangeSums(this.timeline, from, to);
    this.wanted = text;
    const { names, header } = this.timeline;
    this.views = [
      ["Slices", () => this.list(SLICE_HEADS, this.sums.sliceRows(), 2)],
      ["Threads", () => this.list(THREAD_HEADS, this.sums.threadRows(), 1)],
      ["Flame graph of slices", () => this.draw(this.sums.slices, names, "ns")],
      ...header.sampled.map(({ name, unit }, event) => [
        `Flame graph: ${visible(name)}`,
        () => this.draw(this.sums.samples(event), header.functions, unit),
      ]),
    ];
    this.element.hidden = false;
    this.tabs.replaceChildren(
      ...this.views.map(([title], number) => {
        const button = document.createElement("button");
        Object.assign(button, { type: "button", textContent: title });
        button.setAttribute("role", "tab");
        button.addEventListener("click", () => this.choose(number));
        return button;
      }),
    );
    this.choose(Math.min(this.chosen, this.views.length - 1));
  }

  choose(number) {
    this.chosen = number;
    [...this.tabs.children].forEach((tab, i) => tab.setAttribute("aria-selected", String(i === number)));
    this.views[number][1]();
  }

  /** Show where a text is in names. */
  find(text) {
    this.wanted = text;
    if (!this.element.hidden) this.choose(this.chosen);
  }

  draw(root, names, unit) {
    this.table.hidden = true;
    this.graph.hidden = false;
    this.flame.show(root, names, unit, this.wanted);
  }

  /** A table, the greatest numbers of a column first. */
  list(heads, rows, by) {
    this.table.hidden = false;
    this.graph.hidden = true;
    const wanted = this.wanted.toLowerCase();
    rows.sort((a, b) => (by ? b[by] - a[by] : a[0] < b[0] ? -1 : 1));
    const table = document.createElement("table"), head = table.createTHead().insertRow();
    heads.forEach((title, column) => {
      const cell = document.createElement("th");
      cell.textContent = title;
      cell.addEventListener("click", () => this.list(heads, rows, column));
      head.append(cell);
    });
    const body = table.createTBody();
    const text = (value, title) => {
      if (title === "count") return value.toLocaleString("en");
      return title === "share" ? `${value.toFixed(1)}%` : lengthText(Math.round(value));
    };
    for (const row of rows.slice(0, 1000)) {
      const line = body.insertRow();
      row.forEach((value, i) => (line.insertCell().textContent = i ? text(value, heads[i]) : visible(value)));
      if (wanted && row[0].toLowerCase().includes(wanted)) line.className = "found";
    }
    this.table.replaceChildren(table);
    const length = lengthText(Math.round(this.sums.to - this.sums.from));
    this.said.textContent = `${rows.length.toLocaleString("en")} ${heads[0]}${heads[0] === "thread" && rows.length !== 1 ? "s" : ""} in ${length}`;
  }
}
