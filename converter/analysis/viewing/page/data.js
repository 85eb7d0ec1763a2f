"use strict";
// The data of the page: base64 of packed columns, one after the other (see packing.py).

/** The bytes of base64. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

class Data {
  /** The element's text goes once it has been read: it may be large. */
  constructor(element) {
    this.bytes = bytesOf(element.textContent.trim());
    element.remove();
  }

  /** What was packed at a place. */
  async unpacked({ at, size }) {
    const packed = new Blob([this.bytes.subarray(at, at + size)]).stream();
    const plain = packed.pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(plain).arrayBuffer());
  }

  async json(place) {
    return JSON.parse(new TextDecoder().decode(await this.unpacked(place)));
  }

  /** Numbers that are not negative; those of more than four bytes are exact up to 2 ** 53. */
  async numbers(column) {
    const bytes = await this.unpacked(column);
    const { length, width } = column;
    if (width === 1) return bytes;
    // Bytes of equal weight stand together, the least first.
    const low = width === 2 ? new Uint16Array(length) : new Uint32Array(length);
    for (let weight = 0; weight < Math.min(width, 4); weight++) {
      for (let i = 0, plane = weight * length; i < length; i++) low[i] |= bytes[plane + i] << (8 * weight);
    }
    if (width <= 4) return low;
    const result = Float64Array.from(low);
    for (let weight = 4; weight < width; weight++) {
      const plane = weight * length, scale = 2 ** (8 * weight);
      for (let i = 0; i < length; i++) result[i] += bytes[plane + i] * scale;
    }
    return result;
  }

  /** Values of any type of as many bytes as the column has: a view of them. */
  async raw(column) {
    const bytes = await this.unpacked(column);
    const { length, width } = column;
    const result = new Uint8Array(length * width);
    for (let weight = 0; weight < width; weight++) {
      for (let i = 0, plane = weight * length; i < length; i++) result[i * width + weight] = bytes[plane + i];
    }
    return new DataView(result.buffer);
  }
}

/** The timeline's data begin with what says where all the rest is, which stands at their end. */
async function headerOf(data) {
  const digits = new TextDecoder().decode(data.bytes.subarray(-24));
  return data.json({ at: parseInt(digits.slice(0, 12), 16), size: parseInt(digits.slice(12), 16) });
}
