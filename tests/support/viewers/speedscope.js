// Imports files as speedscope does, and prints what it made of each: a line of JSON a file, after one that says that the
// importer is there.
//
//     node speedscope.js DIST_RELEASE_FOLDER < paths
//
// The importer is inside the page's bundle: it is found there by its shape, and run without the page.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder] = process.argv.slice(2);
const IMPORTER = /async function ([\w$]+)\(([\w$]+)\)\{let [\w$]+=await \2\.name\(\),[\w$]+=await \2\.readAsArrayBuffer\(\)/;
const MODULE = /var ([\w$]+)=[\w$]+\(\(\)=>\{"use strict";/;

let warnings = {};
// An end that is ignored leaves its slice open: a call tree becomes a staircase.
function warn(...texts) {
  const kind = /Tried to end.*but the stack was empty/s.test(texts[0]) ? 'no begin' :
    /Doing nothing instead/.test(texts[0]) ? 'ignored end' :
    /Ending .* instead/s.test(texts[0]) ? 'other arguments' :
    /was still open at end of profile/.test(texts[0]) ? 'no end' :
    String(texts[0]).slice(0, 60);
  warnings[kind] = (warnings[kind] ?? 0) + 1;
}

function importer() {
  const name = fs.readdirSync(folder).find(name => /^speedscope[-.].*\.js$/.test(name));
  const bundle = fs.readFileSync(path.join(folder, name), 'utf8');
  const found = IMPORTER.exec(bundle);
  const module = found && MODULE.exec(bundle.slice(found.index));
  if (!module) throw new Error(`${name} is not laid out as expected`);
  const hook = `globalThis.importer={read:${found[1]},load:()=>${module[1]}()};`;
  const context = vm.createContext({
    ...{TextDecoder, TextEncoder, URL, performance, setTimeout, clearTimeout},
    console: {log() {}, warn, error: warn},
  });
  try {
    vm.runInContext(bundle.slice(0, found.index) + hook + bundle.slice(found.index), context);
  } catch (error) {
    // The page, which has no document here.
  }
  context.importer.load();
  return context.importer.read;
}

const read = importer();

// As speedscope does: arrays of events may end without their bracket.
function parse(text) {
  let json = text.trim();
  if (json[0] === '[') json = json.replace(/,$/, '').replace(/([^\]])$/, '$1]');
  return JSON.parse(json);
}

function source(file) {
  const data = fs.readFileSync(file);
  const text = data.toString('utf8');
  return {
    // Names decide what some files are taken for; contents decide for this one.
    name: async () => 'trace.json',
    readAsArrayBuffer: async () => data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength),
    readAsText: async () => ({
      firstChunk: () => text.slice(0, 1 << 20), splitLines: () => text.split('\n'), parseAsJSON: () => parse(text),
    }),
  };
}

// Also of calls that take no time.
function depthOf(root) {
  let depth = -1;
  for (let level = [root]; level.length; level = level.flatMap(node => node.children)) depth++;
  return depth;
}

function rowOf(profile) {
  let calls = 0;
  profile.forEachCall(() => calls++, () => {});
  const frames = [];
  profile.forEachFrame(frame => frames.push([frame.name, frame.getSelfWeight(), frame.getTotalWeight()]));
  const depth = depthOf(profile.getAppendOrderCalltreeRoot());
  return [profile.getName(), calls, depth, profile.getTotalWeight(), frames];
}

async function imported(file) {
  warnings = {};
  try {
    const group = await read(source(file));
    if (!group) return {error: 'not recognised'};
    return {warnings, profiles: group.profiles.map(rowOf)};
  } catch (error) {
    return {error: String(error?.message ?? error)};
  }
}

process.stdout.write('{"ready": true}\n');
(async () => {
  for (const file of fs.readFileSync(0, 'utf8').split('\n').filter(line => line)) {
    process.stdout.write(JSON.stringify(await imported(file)) + '\n');
  }
})();
