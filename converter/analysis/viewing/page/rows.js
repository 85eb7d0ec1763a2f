"use strict";
// The order of processes and threads, and which of them are shown.

/** What a thread is sorted by, the least first. */
const ORDERS = {
  events: null,
  name: (lane) => lane.name.toLowerCase(),
  busy: (lane) => -busyTime(lane),
  start: (lane) => Math.min(...lane.items.map((run) => run.ts[0])),
};

/** How long a thread ran; without states, how long it was in slices. */
function busyTime(lane) {
  const run = lane.states ?? lane.items.find((one) => one.kind === SLICES);
  if (!run) return 0;
  lane.busy ??= run.kind === STATES ? run.busy[run.count] : sliceTime(run);
  return lane.busy;
}

function sliceTime(run) {
  let sum = 0;
  for (let i = 0; i < run.count; i++) if (Number.isFinite(run.end[i])) sum += run.end[i] - run.ts[i];
  return sum;
}

class Rows {
  constructor(timeline, order, filter) {
    Object.assign(this, { timeline, order, filter });
  }

  /** Groups with the lanes of theirs that are shown, in order. CPUs stay above processes, other tracks below. */
  groups() {
    const wanted = this.filter.value.trim().toLowerCase(), key = ORDERS[this.order.value];
    const has = (one) => one.name.toLowerCase().includes(wanted);
    const shown = [];
    for (const group of this.timeline.groups) {
      const lanes = has(group) ? [...group.lanes] : group.lanes.filter(has);
      if (!lanes.length) continue;
      if (key && group.process) sortBy(lanes, key);
      shown.push({ group, lanes, isAlone: Boolean(group.process) && group.lanes.length === 1 });
    }
    if (!key) return shown;
    const processes = shown.filter((one) => one.group.process);
    sortBy(processes, (one) => (this.order.value === "name" ? one.group.name.toLowerCase() : key(one.lanes[0])));
    return shown.map((one) => (one.group.process ? processes.shift() : one));
  }

  /** Have a lane among those that are shown. */
  include(lane) {
    if (this.groups().some((one) => one.lanes.includes(lane))) return false;
    this.filter.value = "";
    return true;
  }
}

function sortBy(list, key) {
  const keys = new Map(list.map((one) => [one, key(one)]));
  list.sort((a, b) => (keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : 0));
}
