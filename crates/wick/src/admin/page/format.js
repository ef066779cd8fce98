// Amounts in the words of this page.

const whole = new Intl.NumberFormat("en-GB");
const tenth = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

const digits = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 2 });

export const NONE = "–";
const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

export const count = (value) => (known(value) ? whole.format(Math.round(value)) : NONE);

/** A rate or the like, where small ones need a digit more. */
export function amount(value) {
  if (!known(value)) return NONE;
  if (Number.isInteger(value) || Math.abs(value) >= 10) return whole.format(Math.round(value));
  return (Math.abs(value) < 1 ? digits : tenth).format(value);
}

export const percent = (share) => (known(share) ? `${tenth.format(share * 100)} %` : NONE);

export function bytes(value) {
  if (!known(value)) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) [value, at] = [value / 1024, at + 1];
  return `${at === 0 ? whole.format(value) : tenth.format(value)} ${units[at]}`;
}

export function time(microseconds) {
  if (!known(microseconds)) return NONE;
  if (microseconds < 1000) return `${whole.format(microseconds)} µs`;
  if (microseconds < 1e6) return `${amount(microseconds / 1000)} ms`;
  return `${amount(microseconds / 1e6)} s`;
}

export function length(seconds) {
  if (!known(seconds)) return NONE;
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const at = units.findIndex(([, size]) => seconds >= size);
  if (at < 0) return "0 s";
  const [[unit, size], next] = [units[at], units[at + 1]];
  const rest = next && Math.floor((seconds % size) / next[1]);
  return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${next[0]}` : ""}`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const full = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const atClock = (milliseconds) => clock.format(milliseconds);
export const atFull = (milliseconds) => full.format(milliseconds);

/** As exact as an axis of this many seconds needs. */
export function atAxis(milliseconds, seconds) {
  if (seconds <= 1200) return clock.format(milliseconds);
  if (seconds <= 2 * 86400) return minute.format(milliseconds);
  return day.format(milliseconds);
}
