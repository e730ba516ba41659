// What would be evicted next: each signal against its threshold, and the pods in the order of eviction.

import { element, podAddress } from './dom.js';
import { formatAge, formatAmount } from './format.js';
import { Meter } from './meter.js';

/** @typedef {import('../page-state.ts').PageRank} PageRank */

const TITLES = new Map([
  ['memory.available', 'Memory'],
  ['allocatableMemory.available', 'Memory of pods'],
  ['nodefs.available', 'Node disk'],
  ['nodefs.inodesFree', 'Inodes of the node disk'],
  ['imagefs.available', 'Image disk'],
  ['imagefs.inodesFree', 'Inodes of the image disk'],
  ['containerfs.available', 'Disk of writable layers'],
  ['containerfs.inodesFree', 'Inodes of writable layers'],
  ['pid.available', 'Process ids'],
]);

export class EvictionView {
  #place;
  #shown = '';

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#place = place;
  }

  /** @param {import('./store.js').Store} store */
  update({ state }) {
    if (state === undefined) return;
    const { eviction, thresholds } = state;
    const json = JSON.stringify([eviction, thresholds]);
    if (json === this.#shown) return;
    this.#shown = json;
    this.#place.replaceChildren(
      ...(eviction === undefined
        ? thresholdsOnly(thresholds)
        : eviction.length === 0
          ? [element('p', { class: 'empty' }, 'No eviction thresholds are configured.')]
          : eviction.map(rankCard)),
    );
  }
}

/** @param {readonly import('../page-state.ts').PageThreshold[]} thresholds */
function thresholdsOnly(thresholds) {
  const rows = thresholds.map(({ signal, kind, amount, graceMs }) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, TITLES.get(signal) ?? signal, element('span', { class: 'namespace' }, signal)),
      element('td', {}, kind),
      element('td', { class: 'number' }, formatAmount(amount, unitOf(signal))),
      element('td', { class: 'number' }, graceMs === 0 ? 'at once' : formatAge(graceMs)),
    ),
  );
  return [
    element('p', { class: 'note' }, 'This agent does not rank pods for eviction. These thresholds are configured:'),
    element(
      'section',
      { class: 'card' },
      element(
        'div',
        { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Eviction thresholds' },
        element(
          'table',
          {},
          element(
            'thead',
            {},
            element(
              'tr',
              {},
              ...['Signal', 'Kind', 'Less than', 'After'].map((title, at) =>
                element('th', { scope: 'col', class: at > 1 ? 'number' : undefined }, title),
              ),
            ),
          ),
          element('tbody', {}, ...rows),
        ),
      ),
    ),
  ];
}

/** @param {string} signal */
const unitOf = (signal) =>
  signal.startsWith('pid.') ? 'processes' : signal.endsWith('inodesFree') ? 'inodes' : 'bytes';

/** @param {PageRank} rank */
function rankCard({ signal, unit, available, capacity, thresholds, pods }) {
  const meter = new Meter();
  const hard = thresholds.find(({ graceMs }) => graceMs === 0)?.amount;
  meter.set({
    value: available === undefined || capacity === undefined ? undefined : capacity - available,
    max: capacity,
    mark: hard === undefined || capacity === undefined ? undefined : capacity - hard,
  });
  const isShort = available !== undefined && thresholds.some(({ amount }) => available < amount);
  const limits = thresholds.map(
    ({ amount, graceMs }) => `below ${formatAmount(amount, unit)}${graceMs === 0 ? '' : ` for ${formatAge(graceMs)}`}`,
  );
  return element(
    'section',
    { class: 'card rank', 'aria-label': `Eviction by ${signal}` },
    element(
      'div',
      { class: 'rank-head' },
      element('h3', {}, TITLES.get(signal) ?? signal, element('span', { class: 'namespace' }, signal)),
      element('p', { class: isShort ? 'value bad' : 'value' }, `${formatAmount(available, unit)} free`),
    ),
    meter.node,
    element(
      'p',
      { class: 'note' },
      `${isShort ? 'Under pressure. ' : ''}Evicts ${limits.join(' or ')}, of ${formatAmount(capacity, unit)}.`,
    ),
    pods.length === 0 ? element('p', { class: 'note' }, 'No pod would be evicted.') : rankTable(signal, unit, pods),
  );
}

/**
 * @param {string} signal
 * @param {PageRank['unit']} unit
 * @param {PageRank['pods']} pods
 */
function rankTable(signal, unit, pods) {
  const head = ['', 'Pod', 'Uses', 'Request', 'Above request', 'Priority'].map((title, at) =>
    element(
      'th',
      { scope: 'col', class: at > 1 ? 'number' : undefined },
      at === 0 ? element('span', { class: 'hidden-text' }, 'Place') : title,
    ),
  );
  let place = 0;
  const rows = pods.map(({ uid, namespace, name, usage, request, priority, spared }) =>
    element(
      'tr',
      { class: spared ? 'spared' : undefined },
      element('td', { class: 'place' }, spared ? 'kept' : String(++place)),
      element(
        'th',
        { scope: 'row' },
        element('a', { href: podAddress(uid) }, name),
        element('span', { class: 'namespace' }, namespace),
      ),
      ...[
        formatAmount(usage, unit),
        formatAmount(request, unit),
        formatAmount(usage === undefined ? undefined : Math.max(0, usage - request), unit),
        String(priority),
      ].map((text) => element('td', { class: 'number' }, text)),
    ),
  );
  return element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Order of eviction by ${signal}` },
    element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows)),
  );
}
