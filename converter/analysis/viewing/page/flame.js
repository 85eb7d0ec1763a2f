"use strict";
// Flame graphs, and callers and callees of a name.

const FLAME_HEIGHT = 18;

/** The callers and callees of a name: trees whose roots are all that have it, with what they take. */
function aroundName(root, name) {
  const callers = new FlameNode(name, null), callees = new FlameNode(name, null);
  const open = [root], merging = [];
  while (open.length) {
    const node = open.pop();
    // What calls itself counts once, with all that is in it.
    if (node.name !== name || !node.above) {
      open.push(...node.below.values());
      continue;
    }
    merging.push([node, callees]);
    let caller = callers;
    for (let above = node.above; above.above; above = above.above) caller = caller.child(above.name);
    caller.own += node.total;
  }
  while (merging.length) {
    const [node, into] = merging.pop();
    into.own += node.own;
    into.count += node.count;
    for (const one of node.below.values()) merging.push([one, into.child(one.name)]);
  }
  return [callers.sum(), callees.sum()];
}

/** A flame graph: the roots on top (of callers, at the bottom), what is below in the order of names. */
class Flame {
  constructor(canvas, say, { choose, isUpward = false }) {
    Object.assign(this, { canvas, say, isUpward, context: canvas.getContext("2d"), drawn: [] });
    canvas.addEventListener("dblclick", (event) => {
      const node = this.at(event.offsetX, event.offsetY);
      if (typeof node?.name === "number") choose(node.name);
    });
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
    return typeof node.name === "number" ? this.names[node.name] : node.name;
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
    return typeof node.name === "number" && this.nameOf(node).toLowerCase().includes(this.wanted);
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
    const height = (this.height = Math.min(rows * FLAME_HEIGHT, 16000));
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = FONT;
    c.textBaseline = "middle";
    for (const { node, x, width: share, row } of this.drawn) {
      const y = this.isUpward ? height - (row + 1) * FLAME_HEIGHT : row * FLAME_HEIGHT, isFaint = this.wanted && !this.matches(node);
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
    const row = Math.floor((this.isUpward ? this.height - 1 - y : y) / FLAME_HEIGHT);
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
