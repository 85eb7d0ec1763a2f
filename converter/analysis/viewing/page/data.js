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

/** What events say besides name and time, unpacked when somebody looks. */
class Arguments {
  constructor(element, described) {
    [this.texts, this.sources] = described;
    this.element = element;
    this.columns = new Map();
  }

  /** Pairs of name and text; null where the page does not have them. */
  async of(source, row) {
    const fields = this.sources[source];
    if (!fields) return null;
    this.data ??= new Data(this.element);
    const result = [];
    for (const field of fields) result.push([field.name, await this.value(field, row)]);
    return result;
  }

  async value(field, row) {
    if (!this.columns.has(field)) {
      const signed = field.type === "signed" || field.type === "float";
      this.columns.set(field, await (signed ? this.data.raw(field) : this.whole(field)));
    }
    const column = this.columns.get(field);
    switch (field.type) {
      case "text":
        this.words ??= await this.data.json(this.texts);
        return this.words[column[row]];
      case "boolean":
        return column[row] ? "true" : "false";
      case "float":
        return String(field.width === 4 ? column.getFloat32(4 * row, true) : column.getFloat64(8 * row, true));
      case "signed":
        return labelled(field, signedAt(column, field.width, row));
      default:
        return labelled(field, BigInt(column[row]));
    }
  }

  /** Unsigned integers, exact also where they have eight bytes. */
  async whole(field) {
    if (field.width <= 4) return this.data.numbers(field);
    const bytes = await this.data.unpacked(field);
    const result = new BigUint64Array(field.length);
    for (let i = 0; i < field.length; i++) {
      let value = 0n;
      for (let weight = field.width - 1; weight >= 0; weight--) {
        value = (value << 8n) | BigInt(bytes[weight * field.length + i]);
      }
      result[i] = value;
    }
    return result;
  }
}

function signedAt(view, width, row) {
  switch (width) {
    case 1: return BigInt(view.getInt8(row));
    case 2: return BigInt(view.getInt16(2 * row, true));
    case 4: return BigInt(view.getInt32(4 * row, true));
    default: return view.getBigInt64(8 * row, true);
  }
}

/** An integer as it is meant to be read: by its label, of flags by theirs. */
function labelled(field, value) {
  const digits = field.hexadecimal ? `0x${BigInt.asUintN(64, value).toString(16)}` : value.toString();
  const labels = field.labels ?? [];
  if (field.flags) {
    const set = labels.filter(([mask]) => BigInt(mask) !== 0n && (value & BigInt(mask)) === BigInt(mask));
    return set.length ? `${set.map(([, , text]) => text).join("|")} (${digits})` : digits;
  }
  const label = labels.find(([low, high]) => BigInt(low) <= value && value <= BigInt(high));
  return label ? `${label[2]} (${digits})` : digits;
}
