"use strict";
// The states of threads: what they are called, their colours, and when each thread was in which.

/** Groups of states by the first letter of Linux's; "R+" was preempted. */
const STATE_GROUPS = { "R+": "preempted", R: "runnable", S: "sleeping", D: "uninterruptible", I: "idle" };
const STATE_TEXTS = {
  running: "running",
  runnable: "runnable",
  preempted: "runnable (preempted)",
  sleeping: "sleeping",
  uninterruptible: "uninterruptible sleep",
  idle: "idle kernel thread",
  other: "stopped or dead",
  off: "not running (why is not known)",
};

function stateGroup(name) {
  if (!name) return "off";
  return name === "Running" ? "running" : STATE_GROUPS[name] ?? STATE_GROUPS[name.slice(0, 1)] ?? "other";
}

/** The states of a thread, each until the next. */
class StateRun extends Run {
  constructor(lane, ts, end, states, wakers, names) {
    super(STATES, lane, -1, ts, end);
    Object.assign(this, { states, wakers, names, groups: names.map(stateGroup) });
  }

  groupAt(index) {
    return this.groups[this.states[index]];
  }

  textAt(index) {
    const name = this.names[this.states[index]], text = STATE_TEXTS[this.groupAt(index)];
    return name && name !== "Running" ? `${text}: ${name}` : text;
  }

  /** What the thread runs, summed up: entry i is of all before item i. */
  get busy() {
    if (!this.sums) {
      this.sums = new Float64Array(this.count + 1);
      for (let i = 0; i < this.count; i++) {
        this.sums[i + 1] = this.sums[i] + (this.groupAt(i) === "running" ? this.end[i] - this.ts[i] : 0);
      }
    }
    return this.sums;
  }
}

/** Add its states to each thread, as the first of its rows. */
function addStates(timeline) {
  const { stateLane, stateCount, stateTs, state, stateWaker } = timeline.columns;
  let first = 0;
  for (let thread = 0; thread < stateLane.length; thread++) {
    const last = first + stateCount[thread], lane = timeline.lanes[stateLane[thread] - 1];
    const ts = new Float64Array(last - first), end = new Float64Array(last - first);
    let now = 0;
    for (let i = 0; i < ts.length; i++) ts[i] = now += stateTs[first + i];
    end.set(ts.subarray(1));
    end[end.length - 1] = timeline.length;
    if (lane) {
      const names = timeline.header.states;
      const run = new StateRun(lane, ts, end, state.subarray(first, last), stateWaker.subarray(first, last), names);
      lane.items.unshift((lane.states = run));
    }
    first = last;
  }
}

/** What the colours mean, of the states that there are. */
function showLegend(element, timeline) {
  const there = new Set(timeline.header.states.map(stateGroup));
  const shown = Object.keys(STATE_TEXTS).filter((group) => there.has(group));
  element.replaceChildren(
    ...shown.map((group) => {
      const entry = document.createElement("span");
      entry.className = group;
      entry.textContent = STATE_TEXTS[group];
      return entry;
    }),
  );
}
