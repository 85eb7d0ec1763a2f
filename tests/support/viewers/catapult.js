// Imports Chrome JSON files as chrome://tracing does, and prints what it made of each: a line of JSON a file, after one that says
// that the importer is there.
//
//     node catapult.js TRACE_VIEWER_FULL.html [--counts] < paths
//
// The page's script is run without a document: parts that draw fail, the model and the importers do not need them.
'use strict';
const fs = require('fs');
const vm = require('vm');

const [page, mode] = process.argv.slice(2);

function importer() {
  const context = vm.createContext({
    ...{console, setTimeout, clearTimeout, atob, btoa, performance, TextDecoder, URL},
    // So that it takes itself for one without a window.
    process: {versions: process.versions},
  });
  // Libraries leave themselves in a window, which is taken away after each of them.
  vm.runInContext(`{
    let current;
    this.global = this;
    Object.defineProperty(this, 'window', {get: () => current, set: next => {
      Object.assign(global, current);
      current = next;
    }});
  }`, context);
  const html = fs.readFileSync(page, 'utf8');
  for (const [, script] of html.matchAll(/<script>([\s\S]*?)<\/script>/g)) {
    for (const part of script.split(/(?='use strict';)/)) {
      try {
        vm.runInContext(part, context);
      } catch (error) {
        // What draws.
      }
    }
  }
  return context;
}

const context = importer();
const tr = vm.runInContext('tr', context);

function depthOf(slice) {
  let depth = 0;
  for (let outer = slice.parentSlice; outer; outer = outer.parentSlice) depth++;
  return depth;
}

function asyncRows(owner, slices, depth) {
  return slices.flatMap(slice => [
    [...owner, slice.title, slice.start, slice.duration, depth],
    ...asyncRows(owner, slice.subSlices, depth + 1),
  ]);
}

function rowsOf(model) {
  const processes = Object.values(model.processes);
  const threads = processes.flatMap(process => Object.values(process.threads));
  const owner = thread => [thread.parent.pid, thread.tid];
  return {
    processes: processes.map(process => [process.pid, process.name ?? '']),
    threads: threads.map(thread => [...owner(thread), thread.name ?? '', thread.sliceGroup.length]),
    slices: threads.flatMap(thread => thread.sliceGroup.slices.map(
      slice => [...owner(thread), slice.title, slice.start, slice.duration, depthOf(slice), !!slice.didNotFinish])),
    asyncs: threads.flatMap(thread => asyncRows(owner(thread), thread.asyncSliceGroup.slices, 0)),
    counters: processes.flatMap(process => Object.values(process.counters).flatMap(counter => counter.series.flatMap(
      series => series.samples.map(sample => [process.pid, counter.name, series.name, sample.timestamp, sample.value])))),
    cpus: Object.values(model.kernel.cpus).flatMap(
      cpu => cpu.slices.map(slice => [cpu.cpuNumber, slice.title, slice.start, slice.duration])),
    flows: model.flowEvents.map(flow => [flow.startSlice?.title, flow.endSlice?.title, flow.start, flow.duration]),
    instants: [...model.instantEvents, ...processes.flatMap(process => process.instantEvents)].map(
      instant => [instant.title, instant.start]),
    objects: processes.flatMap(process => process.objects.getAllObjectInstances().map(
      object => [process.pid, object.typeName, object.snapshots.length])),
    samples: model.samples.length,
  };
}

function imported(path) {
  const model = new tr.Model();
  const options = new tr.importer.ImportOptions();
  options.shiftWorldToZero = false;
  try {
    new tr.importer.Import(model, options).importTraces([fs.readFileSync(path, 'latin1').startsWith('\x1f\x8b') ?
      require('zlib').gunzipSync(fs.readFileSync(path)).toString('utf8') : fs.readFileSync(path, 'utf8')]);
  } catch (error) {
    return {error: String(error?.message ?? error)};
  }
  const warnings = {};
  for (const {type, message} of model.importWarnings_) {
    const text = `${type}: ${String(message).replace(/\d[\d.e+]*/g, 'N').replace(/"[^"]*"/g, '"..."')}`;
    const kind = type === 'async_slice_parse_error' || type === 'flow_slice_parse_error' ? text : type;
    warnings[kind] = (warnings[kind] ?? 0) + 1;
  }
  const rows = rowsOf(model);
  if (mode !== '--counts') return {warnings, ...rows};
  return {warnings, ...Object.fromEntries(Object.entries(rows).map(([name, found]) => [name, found.length ?? found]))};
}

process.stdout.write('{"ready": true}\n');
for (const path of fs.readFileSync(0, 'utf8').split('\n').filter(line => line)) {
  process.stdout.write(JSON.stringify(imported(path)) + '\n');
}
