"use strict";
// The timeline: rows ("runs") of items, each by time, on lanes, in groups.

const SLICES = 0, INSTANTS = 1, TASKS = 2, COUNTER = 3, STATES = 4;

/** The first index from `from` to `to` whose value is not less; all before are. */
function firstNotBefore(values, value, from, to) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Likewise, where it is probably close to `from`. */
function nextNotBefore(values, value, from, to) {
  let step = 1;
  while (from + step < to && values[from + step] < value) step *= 2;
  return firstNotBefore(values, value, from, Math.min(from + step + 1, to));
}

/** How many items one entry of a summary stands for. */
const BLOCK = 64;

/** Items of one row: those of the timeline from `first` on, or of its own (`first` is -1). */
class Run {
  constructor(kind, lane, first, ts, end) {
    Object.assign(this, { kind, lane, first, ts, end });
  }

  get count() {
    return this.ts.length;
  }

  /** What items take, summed up: entry i is of all before item i. */
  get busy() {
    if (!this.sums) {
      this.sums = new Float64Array(this.count + 1);
      for (let i = 0; i < this.count; i++) this.sums[i + 1] = this.sums[i] + this.end[i] - this.ts[i];
    }
    return this.sums;
  }

  /** The item that takes longest among those from `from` to `to`. */
  longest(from, to) {
    this.tops ??= this.blocks((best, i) => (this.end[i] - this.ts[i] > this.end[best] - this.ts[best] ? i : best));
    let best = from;
    const better = (i) => {
      if (this.end[i] - this.ts[i] > this.end[best] - this.ts[best]) best = i;
    };
    this.scan(from, to, better, (block) => better(this.tops[block]));
    return best;
  }

  blocks(better) {
    const result = new Uint32Array(Math.ceil(this.count / BLOCK));
    for (let block = 0; block < result.length; block++) {
      let best = block * BLOCK;
      const end = Math.min(best + BLOCK, this.count);
      for (let i = best + 1; i < end; i++) best = better(best, i);
      result[block] = best;
    }
    return result;
  }

  /** Visit whole blocks between two items, and the items that are in none. */
  scan(from, to, item, block) {
    let i = from;
    while (i < to && i % BLOCK) item(i++);
    while (i + BLOCK <= to) {
      block(i / BLOCK);
      i += BLOCK;
    }
    while (i < to) item(i++);
  }
}

/** Values of a counter, each until the next. */
class CounterRun extends Run {
  constructor(lane, ts, value, end) {
    super(COUNTER, lane, -1, ts, null);
    this.value = value;
    this.over = end;
    this.least = Infinity;
    this.greatest = -Infinity;
    for (const one of value) {
      if (one < this.least) this.least = one;
      if (one > this.greatest) this.greatest = one;
    }
  }

  /** The extremes of the values from `from` to `to`. */
  extremes(from, to) {
    this.lows ??= this.blocks((best, i) => (this.value[i] < this.value[best] ? i : best));
    this.highs ??= this.blocks((best, i) => (this.value[i] > this.value[best] ? i : best));
    let least = Infinity, greatest = -Infinity;
    const see = (i) => {
      least = Math.min(least, this.value[i]);
      greatest = Math.max(greatest, this.value[i]);
    };
    this.scan(from, to, see, (block) => {
      see(this.lows[block]);
      see(this.highs[block]);
    });
    return [least, greatest];
  }
}

class Timeline {
  static async from(data) {
    const header = await headerOf(data);
    const names = Object.keys(header.columns);
    const columns = await Promise.all(
      names.map((name) => (name === "counterValue" ? data.raw(header.columns[name]) : data.numbers(header.columns[name]))),
    );
    return new Timeline(header, Object.fromEntries(names.map((name, i) => [name, columns[i]])));
  }

  constructor(header, columns) {
    this.header = header;
    this.start = BigInt(header.start);
    /** The length of the trace; one of nothing is shown as one of a nanosecond. */
    this.length = Math.max(Number(BigInt(header.end) - this.start), 1);
    this.names = header.names;
    this.columns = columns;
    this.name = columns.name;
    this.groups = header.groups;
    this.lanes = this.groups.flatMap((group) => group.lanes);
    this.lanes.forEach((lane, number) => {
      lane.number = number;
      lane.items = [];
    });
    for (const group of this.groups) for (const lane of group.lanes) lane.group = group;
    /** What stands for an idle CPU among those who run. */
    this.idle = this.lanes.length + 1;
    this.addItems(columns);
    addStates(this);
    /** When samples are, in order. */
    this.sampleTs = new Float64Array(columns.sampleTs.length);
    for (let i = 0, now = 0; i < this.sampleTs.length; i++) this.sampleTs[i] = now += columns.sampleTs[i];
    this.row = this.rowsOf(columns.source);
    this.lastRow = this.rowsOf(columns.last);
  }

  addItems({ runKind, runCount, ts: steps, took, counterTs, counterValue }) {
    const laneOf = new Uint32Array(runKind.length);
    for (const lane of this.lanes) for (const run of lane.runs) laneOf[run] = lane.number;
    const ts = new Float64Array(steps.length), end = new Float64Array(steps.length);
    const counters = new Float64Array(counterTs.length);
    const values = new Float64Array(counterValue.buffer);
    this.ts = ts;
    this.end = end;
    this.runs = [];
    let first = 0, firstValue = 0, next = 0;
    for (let number = 0; number < runKind.length; number++) {
      const kind = runKind[number], count = runCount[number], lane = this.lanes[laneOf[number]];
      let run;
      if (kind === COUNTER) {
        let now = 0;
        for (let i = firstValue; i < firstValue + count; i++) counters[i] = now += counterTs[i];
        run = new CounterRun(lane, counters.subarray(firstValue, firstValue + count), values.subarray(firstValue, firstValue + count), this.length);
        firstValue += count;
      } else {
        const last = first + count;
        let now = 0;
        for (let i = first; i < last; i++) ts[i] = now += steps[i];
        for (let i = first; i < last; i++) {
          if (kind === SLICES) {
            const length = took[next++];
            end[i] = length ? ts[i] + length - 1 : Infinity;
          } else {
            end[i] = kind === INSTANTS ? ts[i] : i + 1 < last ? ts[i + 1] : this.length;
          }
        }
        run = new Run(kind, lane, first, ts.subarray(first, last), end.subarray(first, last));
        first = last;
      }
      this.runs.push(run);
    }
    for (const lane of this.lanes) lane.items = lane.runs.map((number) => this.runs[number]).filter((run) => run.count);
  }

  /** Arguments stand in the order of the items of a class. */
  rowsOf(source) {
    const seen = new Uint32Array(this.header.sources[1].length + 1);
    const result = new Uint32Array(source.length);
    for (let i = 0; i < source.length; i++) result[i] = seen[source[i]]++;
    return result;
  }

  nameOf(item) {
    return this.names[this.name[item]];
  }

  /** The run that an item is in. */
  runOf(item) {
    let low = 0, high = this.itemRuns.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.itemRuns[middle].first <= item) low = middle;
      else high = middle - 1;
    }
    return this.itemRuns[low];
  }

  get itemRuns() {
    this.ofItems ??= this.runs.filter((run) => run.kind !== COUNTER && run.count);
    return this.ofItems;
  }

  /** A time of the page as one of the trace's clock. */
  clock(time) {
    return this.start + BigInt(Math.round(time));
  }

  /** The name of what an item of a run is about. */
  textOf(run, index) {
    if (run.kind === STATES) return run.textAt(index);
    if (run.kind === COUNTER) return `${run.lane.name}: ${run.value[index]}`;
    return this.nameOf(run.first + index);
  }
}
