"use strict";
// Times as people read them. Within the page they are nanoseconds since the trace's start, which numbers hold exactly
// for a hundred days.

/** A time of the trace's clock in seconds, with so many of its nine digits. */
function secondsText(nanoseconds, digits = 9) {
  const sign = nanoseconds < 0n ? "-" : "";
  const whole = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const rest = (whole % 1000000000n).toString().padStart(9, "0").slice(0, digits);
  return `${sign}${whole / 1000000000n}${rest && "."}${rest}`;
}

/** A length of time, exact, in the unit that makes it short: 1.234567 ms. */
function lengthText(nanoseconds) {
  for (const [size, digits, unit] of [[1e9, 9, "s"], [1e6, 6, "ms"], [1e3, 3, "µs"]]) {
    if (nanoseconds >= size) {
      const whole = Math.floor(nanoseconds / size);
      const rest = String(Math.round(nanoseconds - whole * size)).padStart(digits, "0").replace(/0+$/, "");
      return `${whole}${rest && "."}${rest} ${unit}`;
    }
  }
  return `${nanoseconds} ns`;
}

/** The time of day, to the nanosecond, of nanoseconds since 1970. */
function dateText(nanoseconds) {
  const rest = ((nanoseconds % 1000000000n) + 1000000000n) % 1000000000n;
  const date = new Date(Number((nanoseconds - rest) / 1000000n));
  if (Number.isNaN(date.getTime())) return null;
  return `${date.toISOString().slice(0, 19).replace("T", " ")}.${rest.toString().padStart(9, "0")} UTC`;
}

/** The time of day, with so many of the nine digits of its seconds. */
function dayText(nanoseconds, digits) {
  const text = dateText(nanoseconds);
  return text === null ? "" : text.slice(11, digits ? 20 + digits : 19);
}

/** Nanoseconds of a text of seconds, the reverse of `secondsText`; null for another text. */
function nanosecondsOf(text) {
  const parts = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(text);
  if (!parts) return null;
  const whole = BigInt(parts[2]) * 1000000000n + BigInt((parts[3] ?? "").padEnd(9, "0"));
  return parts[1] ? -whole : whole;
}

/** A text on one line without characters that nobody sees, or that turn others around. */
function visible(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
}
