"use strict";
// The panel below the timeline: tables and flame graphs of a range.

const SLICE_HEADS = ["slices", "count", "total", "self", "min", "p50", "p90", "p99", "max", "avg"];
const THREAD_HEADS = ["thread", "CPU time", "share", "runnable", "sleeping", "uninterruptible"];

/** The panel below the timeline. */
class RangePanel {
  constructor(element, timeline) {
    Object.assign(this, { element, timeline, wanted: "", chosen: 0 });
    const part = (name) => document.getElementById(`range-${name}`);
    [this.tabs, this.said, this.table, this.graph] = ["tabs", "said", "table", "graph"].map(part);
    const choose = (name) => this.around(name);
    const saying = (flame) => (node) => (this.said.textContent = this[flame].text(node));
    this.flame = new Flame(part("flame"), saying("flame"), { choose });
    this.callers = new Flame(part("callers"), saying("callers"), { choose, isUpward: true });
    part("close").addEventListener("click", () => this.close());
    addEventListener("resize", () => !this.graph.hidden && !element.hidden && this.choose(this.chosen));
  }

  close() {
    this.element.hidden = true;
  }

  show(from, to, text) {
    this.sums = new RangeSums(this.timeline, from, to);
    this.wanted = text;
    const { names, header } = this.timeline;
    /** The trees that callers and callees are of. */
    this.trees = [
      { root: () => this.sums.slices, names, unit: "ns" },
      ...header.sampled.map(({ unit }, event) => ({ root: () => this.sums.samples(event), names: header.functions, unit })),
    ];
    this.tree = null;
    this.views = [
      ["Slices", () => this.list(SLICE_HEADS, this.sums.sliceRows(), 2)],
      ["Threads", () => this.list(THREAD_HEADS, this.sums.threadRows(), 1)],
      ["Flame graph of slices", () => this.draw(this.trees[0])],
      ...header.sampled.map(({ name }, event) => [`Flame graph: ${visible(name)}`, () => this.draw(this.trees[event + 1])]),
    ];
    this.element.hidden = false;
    this.showTabs();
    this.choose(Math.min(this.chosen, this.views.length - 1));
  }

  showTabs() {
    this.tabs.replaceChildren(
      ...this.views.map(([title], number) => {
        const button = document.createElement("button");
        Object.assign(button, { type: "button", textContent: title });
        button.setAttribute("role", "tab");
        button.addEventListener("click", () => this.choose(number));
        return button;
      }),
    );
  }

  /** Show the callers and the callees of a name of the tree that was shown last, or of slices. */
  around(name) {
    const tree = this.tree ?? this.trees[0], place = this.trees.length + 2;
    this.views[place] = [`Callers and callees: ${visible(tree.names[name]).slice(0, 40)}`, () => this.drawAround(tree, name)];
    this.showTabs();
    this.choose(place);
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

  draw(tree) {
    this.tree = tree;
    this.showGraph(false);
    this.flame.show(tree.root(), tree.names, tree.unit, this.wanted);
  }

  drawAround(tree, name) {
    const [callers, callees] = aroundName(tree.root(), name);
    this.tree = tree;
    this.showGraph(true);
    this.callers.show(callers, tree.names, tree.unit, this.wanted);
    this.flame.show(callees, tree.names, tree.unit, this.wanted);
  }

  showGraph(hasCallers) {
    this.table.hidden = true;
    this.graph.hidden = false;
    this.callers.canvas.hidden = !hasCallers;
  }

  /** A table, the greatest numbers of a column first. */
  list(heads, rows, by) {
    this.table.hidden = false;
    this.graph.hidden = true;
    this.tree = null;
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
      if (heads === SLICE_HEADS) line.addEventListener("dblclick", () => this.around(this.timeline.names.indexOf(row[0])));
      if (wanted && row[0].toLowerCase().includes(wanted)) line.className = "found";
    }
    this.table.replaceChildren(table);
    const length = lengthText(Math.round(this.sums.to - this.sums.from));
    this.said.textContent = `${rows.length.toLocaleString("en")} ${heads[0]}${heads[0] === "thread" && rows.length !== 1 ? "s" : ""} in ${length}`;
  }
}
