"use strict";
// The arguments of events: what they say besides name and time.

/** Unpacked when somebody looks, or searches. */
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
    const result = [];
    for (const field of fields) result.push([field.name, await this.value(field, row)]);
    return result;
  }

  async column(field) {
    this.data ??= new Data(this.element);
    if (!this.columns.has(field)) {
      const signed = field.type === "signed" || field.type === "float";
      this.columns.set(field, await (signed ? this.data.raw(field) : this.whole(field)));
      if (field.type === "text") this.words ??= await this.data.json(this.texts);
    }
    return this.columns.get(field);
  }

  /** The rows of a source that say a text somewhere, as flags; null where none does. Numbers say only all of theirs. */
  async saying(source, wanted) {
    let found = null;
    const flag = (row, length) => ((found ??= new Uint8Array(length))[row] = 1);
    for (const field of this.sources[source] ?? []) {
      const column = await this.column(field);
      if (field.type === "text") {
        const matches = (this.matching ??= this.words.map((word) => word.toLowerCase().includes(wanted)));
        for (let row = 0; row < field.length; row++) if (matches[column[row]]) flag(row, field.length);
      } else if (field.type !== "float" && field.type !== "boolean") {
        for (const value of valuesOf(field, wanted)) {
          for (let row = 0; row < field.length; row++) {
            if (wholeAt(column, field, row) === value) flag(row, field.length);
          }
        }
      }
    }
    return found;
  }

  async value(field, row) {
    const column = await this.column(field);
    switch (field.type) {
      case "text":
        return this.words[column[row]];
      case "boolean":
        return column[row] ? "true" : "false";
      case "float":
        return String(field.width === 4 ? column.getFloat32(4 * row, true) : column.getFloat64(8 * row, true));
      default:
        return labelled(field, BigInt(wholeAt(column, field, row)));
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

/** A whole number: a BigInt of eight bytes, else a Number. */
function wholeAt(column, field, row) {
  if (field.type !== "signed") return column[row];
  switch (field.width) {
    case 1: return column.getInt8(row);
    case 2: return column.getInt16(2 * row, true);
    case 4: return column.getInt32(4 * row, true);
    default: return column.getBigInt64(8 * row, true);
  }
}

/** The values of a field that a text means: its number, or what a label with the text in it is for. */
function valuesOf(field, wanted) {
  const values = [];
  if (/^(-?\d+|0x[0-9a-f]+)$/.test(wanted)) values.push(BigInt(wanted));
  for (const [low, high, text] of field.labels ?? []) {
    if (low === high && text.toLowerCase().includes(wanted)) values.push(BigInt(low));
  }
  return field.width > 4 ? values : values.map(Number);
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
