// Charts of one resource, the same for the machine, a pod and a container.

import { Chart } from './charts.js';
import { element, setText } from './dom.js';
import { formatBytes, formatCpu, formatRate } from './format.js';

/** @param {string} of What uses it, as in "CPU of the node"; empty for what the page is about */
export function cpuChart(of) {
  return new Chart({
    label: labelOf('CPU', of),
    series: [{ name: 'CPU', color: '--line-1', filled: true }],
    format: formatCpu,
    least: 10,
  });
}

/** @param {string} of */
export function memoryChart(of) {
  return new Chart({
    label: labelOf('Memory', of),
    series: [{ name: 'Memory', color: '--line-1', filled: true }],
    format: formatBytes,
    least: 1024 ** 2,
    binary: true,
  });
}

/**
 * Bytes a second in two directions.
 *
 * @param {string} name
 * @param {string} of
 * @param {readonly [string, string]} directions
 */
export function rateChart(name, of, [first, second]) {
  return new Chart({
    label: labelOf(name, of),
    series: [
      { name: first, color: '--line-1', filled: true },
      { name: second, color: '--line-2' },
    ],
    format: formatRate,
    least: 1024,
    binary: true,
  });
}

const labelOf = (/** @type {string} */ name, /** @type {string} */ of) =>
  `${name}${of === '' ? '' : ` of ${of}`}, last five minutes`;

/** Several values, each with the colour of its line. */
export class Figures {
  node;
  /** @type {HTMLElement[]} */
  #values = [];

  /** @param {readonly (readonly [name: string, color: 1 | 2 | 3])[]} entries */
  constructor(entries) {
    this.node = element(
      'dl',
      { class: 'legend-figures' },
      ...entries.map(([name, color]) => {
        const value = element('dd');
        this.#values.push(value);
        return element(
          'div',
          {},
          element('dt', {}, element('span', { class: `line-${color}`, 'aria-hidden': 'true' }), name),
          value,
        );
      }),
    );
  }

  /** @param {readonly string[]} values */
  set(values) {
    this.#values.forEach((target, at) => setText(target, values[at] ?? ''));
  }
}
