"use strict";
// What the mouse is over, beside it.

class Hover {
  constructor(element, drawing) {
    Object.assign(this, { element, drawing });
  }

  show(found, x, y) {
    this.element.hidden = !found;
    if (!found) return;
    this.element.textContent = this.textOf(found);
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const isRight = x + 14 + width > this.drawing.width;
    this.element.style.left = `${Math.max(isRight ? x - width - 8 : x + 14, 0)}px`;
    this.element.style.top = `${Math.min(y + 14, Math.max(this.drawing.canvas.clientHeight - height - 4, 0))}px`;
  }

  textOf({ run, index, count }) {
    const { timeline } = this.drawing;
    const lines = [visible(timeline.textOf(run, index)).slice(0, 200)];
    if (run.kind !== INSTANTS && run.kind !== COUNTER) {
      lines.push(Number.isFinite(run.end[index]) ? lengthText(run.end[index] - run.ts[index]) : "not finished");
    }
    lines.push(`at ${lengthText(run.ts[index])} of ${visible(run.lane.name)}`);
    if (count > 1) lines.push(`and ${(count - 1).toLocaleString("en")} more in this pixel`);
    return lines.join("\n");
  }
}
