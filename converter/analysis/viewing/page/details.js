"use strict";
// What the selected item says, as text: nothing of a trace becomes markup.

class Details {
  constructor(element, timeline, data) {
    this.element = element;
    this.timeline = timeline;
    this.arguments = data;
  }

  async show(selected) {
    this.now = selected;
    if (!selected) {
      this.element.hidden = true;
      this.element.replaceChildren();
      return;
    }
    const rows = this.common(selected);
    const { run, index } = selected;
    const item = run.first + index;
    if (run.first >= 0) {
      const begin = await this.said(this.timeline.columns.source[item], this.timeline.row[item]);
      const end = await this.said(this.timeline.columns.last[item], this.timeline.lastRow[item]);
      const isNew = ([name, value]) => !begin.some((one) => one[0] === name && one[1] === value);
      rows.push(...begin, ...end.filter(isNew));
    }
    if (this.now === selected) this.fill(rows);
  }

  /** The arguments of an event: of those that begin an item, or end it. Number 0 is none. */
  async said(source, row) {
    if (!source) return [];
    return (await this.arguments.of(source - 1, row)) ?? [["arguments", "left out to keep the page small"]];
  }

  common({ run, index, count }) {
    const { timeline } = this, item = run.first + index;
    const rows = [];
    if (run.kind === STATES) {
      rows.push(["state", run.textAt(index)]);
      const waker = timeline.lanes[run.wakers[index] - 1];
      if (waker) rows.push(["woken by", waker.name]);
    } else if (run.kind === COUNTER) rows.push(["counter", run.lane.name], ["value", String(run.value[index])]);
    else rows.push(["name", timeline.nameOf(item)]);
    const many = timeline.columns.count?.[item] ?? 1;
    if (run.first >= 0 && many > 1) {
      rows.push(["stands for", `${many} items, of which this is the longest; in all ${lengthText(timeline.columns.busy[item])}`]);
    } else if (count > 1) {
      rows.push(["beside it", `${count - 1} more in this pixel: zoom in to see them`]);
    }
    const start = timeline.clock(run.ts[index]);
    rows.push(["time", `${secondsText(start)} s`], ["since the start", lengthText(run.ts[index])]);
    if (timeline.header.epoch !== null) {
      const date = dateText(BigInt(timeline.header.epoch) + start);
      if (date) rows.push(["date", date]);
    }
    if (run.kind !== INSTANTS && run.kind !== COUNTER) {
      const end = run.end[index];
      rows.push(["duration", Number.isFinite(end) ? `${lengthText(end - run.ts[index])}` : "not finished"]);
    }
    rows.push(["on", run.lane.name], ["of", run.lane.group.name]);
    return rows;
  }

  fill(rows) {
    const table = document.createElement("table");
    for (const [name, value] of rows) {
      const row = table.insertRow();
      const head = document.createElement("th");
      head.textContent = name;
      row.append(head);
      row.insertCell().textContent = value;
    }
    this.element.replaceChildren(table);
    this.element.hidden = false;
  }
}
