// Figures as texts. Each is a number and its unit, with a narrow space between them.

const SPACE = '\u202f';
/** For a figure that was not measured. */
export const NONE = '–';

/** @param {number} value Three digits at most are significant. */
function short(value) {
  const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** @param {number | undefined} bytes */
export function formatBytes(bytes) {
  if (bytes === undefined) return NONE;
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : short(value)}${SPACE}${BYTE_UNITS[unit]}`;
}

/**
 * What is used of a limit, if there is one.
 *
 * @param {number | undefined} bytes
 * @param {number | undefined} limit
 */
export function bytesOfLimit(bytes, limit) {
  return limit === undefined ? formatBytes(bytes) : `${formatBytes(bytes)} / ${formatBytes(limit)}`;
}

/** @param {number | undefined} bytesPerSecond */
export function formatRate(bytesPerSecond) {
  return bytesPerSecond === undefined ? NONE : `${formatBytes(bytesPerSecond)}/s`;
}

/** @param {number | undefined} millis Millicores, or cores from one core on. */
export function formatCpu(millis) {
  if (millis === undefined) return NONE;
  if (millis >= 1000) return `${short(millis / 1000)}${SPACE}${millis === 1000 ? 'core' : 'cores'}`;
  return `${millis >= 10 || millis === 0 ? Math.round(millis) : millis.toFixed(1)}${SPACE}m`;
}

/** @param {number | undefined} percent */
export function formatPercent(percent) {
  if (percent === undefined) return NONE;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)}${SPACE}%`;
}

/** @param {number | undefined} count */
export function formatCount(count) {
  return count === undefined ? NONE : String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, SPACE);
}

/** As `printable` of the agent: what would turn the direction of a text, or is invisible. Line feeds and tabs stay. */
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Each such character as `\u` and its number: a pod called `\u202egpj.exe` must not look like `exe.jpg`.
 *
 * @param {string} text
 */
export function printable(text) {
  return text.replace(STEERING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Colours and moves of a terminal: CSI sequences, and OSC sequences such as titles and links. */
const TERMINAL = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/g;

/**
 * A line of a log as a terminal shows it, without its colours.
 *
 * @param {string} line
 */
export function formatLogLine(line) {
  return printable(line.replace(TERMINAL, '').replace(/\r$/, ''));
}

/** @type {readonly (readonly [string, number])[]} */
const AGES = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
];

/**
 * `3d 4h`, `12m 5s`: two units at most.
 *
 * @param {number | undefined} ms
 */
export function formatAge(ms) {
  if (ms === undefined) return NONE;
  let seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [];
  for (const [unit, size] of AGES) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? '0s' : parts.join(' ');
}

/**
 * An amount of a signal.
 *
 * @param {number | undefined} amount
 * @param {'bytes' | 'inodes' | 'processes'} unit
 */
export function formatAmount(amount, unit) {
  return unit === 'bytes' ? formatBytes(amount) : formatCount(amount);
}

/**
 * The time of day, with the date if it is another day.
 *
 * @param {number} atMs
 * @param {number} [nowMs]
 */
export function formatTime(atMs, nowMs = Date.now()) {
  const at = new Date(atMs);
  const time = at.toLocaleTimeString(undefined, { hour12: false });
  if (at.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${at.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })} ${time}`;
}
