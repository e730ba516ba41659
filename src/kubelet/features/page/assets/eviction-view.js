// What would be evicted next: each signal against its thresholds, and the pods in the order of eviction. It is read
// while it is shown, since its readings cost more than the figures of the stream.

import { element, podAddress } from './dom.js';
import { formatAge, formatAmount, formatBytes } from './format.js';
import { Meter } from './meter.js';

/**
 * @typedef {import('../../../model/eviction-report.ts').EvictionReport} EvictionReport
 * @typedef {import('../../../model/eviction-report.ts').SignalReport} SignalReport
 * @typedef {import('../../../model/eviction-report.ts').RankingReport} RankingReport
 * @typedef {'bytes' | 'inodes' | 'processes'} Unit
 */

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
const PERIOD_MS = 5000;
/** Pods shown of each ranking. */
const RANKED = 10;

export class EvictionView {
  #place;
  #shown = '';
  #readAtMs = Number.NEGATIVE_INFINITY;

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#place = place;
  }

  /** @param {import('./store.js').Store} store */
  update(store) {
    const nowMs = performance.now();
    if (this.#place.hidden || nowMs - this.#readAtMs < PERIOD_MS) return;
    this.#readAtMs = nowMs;
    void this.#read(store);
  }

  /** @param {import('./store.js').Store} store */
  async #read(store) {
    try {
      const answer = await fetch('/api/eviction');
      if (answer.ok) this.#show(/** @type {EvictionReport} */ (await answer.json()), store);
      else this.#place.replaceChildren(element('p', { class: 'empty' }, (await answer.text()).trim()));
    } catch {
      this.#readAtMs = Number.NEGATIVE_INFINITY; // The next update asks again.
    }
  }

  /**
   * @param {EvictionReport} report
   * @param {import('./store.js').Store} store
   */
  #show({ signals, rankings, reclaimable, leaving }, store) {
    const limited = signals.filter(({ thresholds }) => thresholds.length > 0);
    // The age of a reading changes with every report.
    const json = JSON.stringify([limited.map((signal) => ({ ...signal, ageMs: 0 })), rankings, reclaimable, leaving]);
    if (json === this.#shown) return;
    this.#shown = json;
    const uids = new Map((store.state?.pods ?? []).map(({ uid, namespace, name }) => [`${namespace}/${name}`, uid]));
    const ranked = new Map(rankings.map((ranking) => [ranking.signal, ranking]));
    const { containers, images, imageBytes } = reclaimable;
    this.#place.replaceChildren(
      ...(leaving === undefined
        ? []
        : [
            element(
              'p',
              { class: 'problem' },
              `${leaving} is being evicted. No other pod is evicted before it is gone.`,
            ),
          ]),
      ...(limited.length === 0
        ? [element('p', { class: 'empty' }, 'No eviction thresholds are configured.')]
        : limited.map((signal) => signalCard(signal, ranked.get(signal.signal), uids, sameOrder(signal, rankings)))),
      element(
        'p',
        { class: 'note' },
        `Before a pod is evicted for disk space, the node removes ${containers} ended ${containers === 1 ? 'container' : 'containers'} and ${images} unused ${images === 1 ? 'image' : 'images'} (${formatBytes(imageBytes)}).`,
      ),
    );
  }
}

/**
 * @param {string} resource
 * @returns {Unit}
 */
const unitOf = (resource) => (resource === 'pids' ? 'processes' : resource === 'inodes' ? 'inodes' : 'bytes');

/**
 * Signals of one resource share an order.
 *
 * @param {SignalReport} report
 * @param {readonly RankingReport[]} rankings
 */
const sameOrder = ({ resource }, rankings) => rankings.find((ranking) => ranking.resource === resource)?.signal;

/**
 * @param {SignalReport} report
 * @param {RankingReport | undefined} ranking
 * @param {ReadonlyMap<string, string>} uids
 * @param {string | undefined} order The signal that is shown with the same order of pods
 */
function signalCard({ signal, resource, available, capacity, thresholds }, ranking, uids, order) {
  const meter = new Meter();
  const unit = unitOf(resource);
  const hard = thresholds.find(({ kind }) => kind === 'hard')?.amount;
  meter.set({
    value: capacity - available,
    max: capacity,
    mark: hard === undefined ? undefined : capacity - hard,
  });
  const met = thresholds.find(({ metForMs }) => metForMs !== undefined);
  const limits = thresholds.map(
    ({ amount, graceMs }) => `below ${formatAmount(amount, unit)}${graceMs === 0 ? '' : ` for ${formatAge(graceMs)}`}`,
  );
  const state = met === undefined ? '' : `Short of it for ${formatAge(met.metForMs)}. `;
  return element(
    'section',
    { class: 'card rank', 'aria-label': `Eviction by ${signal}` },
    element(
      'div',
      { class: 'rank-head' },
      element('h3', {}, TITLES.get(signal) ?? signal, element('span', { class: 'namespace' }, signal)),
      element('p', { class: met === undefined ? 'value' : 'value bad' }, `${formatAmount(available, unit)} free`),
    ),
    meter.node,
    element('p', { class: 'note' }, `${state}Evicts ${limits.join(' or ')}, of ${formatAmount(capacity, unit)}.`),
    ...(ranking === undefined
      ? order === undefined
        ? []
        : [element('p', { class: 'note' }, `The order of eviction is that of ${order}.`)]
      : ranking.pods.length === 0
        ? [element('p', { class: 'note' }, 'There is no pod to evict.')]
        : [rankTable(ranking, unit, uids)]),
  );
}

/**
 * @param {RankingReport} ranking
 * @param {Unit} unit
 * @param {ReadonlyMap<string, string>} uids
 */
function rankTable({ signal, pods }, unit, uids) {
  const head = ['Place', 'Pod', 'Uses', 'Request', 'Above request', 'Priority'].map((title, at) =>
    element(
      'th',
      { scope: 'col', class: at > 1 ? 'number' : undefined },
      at === 0 ? element('span', { class: 'hidden-text' }, title) : title,
    ),
  );
  let place = 0;
  const rows = pods.slice(0, RANKED).map(({ pod, usage, request, priority, spared }) => {
    const [namespace = '', ...rest] = pod.split('/');
    const name = rest.join('/');
    const uid = uids.get(pod);
    const above = usage === undefined ? undefined : Math.max(0, usage - request);
    const figures = [
      formatAmount(usage, unit),
      formatAmount(request, unit),
      formatAmount(above, unit),
      String(priority),
    ];
    return element(
      'tr',
      { class: spared ? 'spared' : undefined },
      element('td', { class: 'place' }, spared ? 'kept' : String(++place)),
      element(
        'th',
        { scope: 'row' },
        uid === undefined ? name : element('a', { href: podAddress(uid) }, name),
        element('span', { class: 'namespace' }, namespace),
      ),
      ...figures.map((text) => element('td', { class: 'number' }, text)),
    );
  });
  return element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Order of eviction by ${signal}` },
    element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows)),
  );
}
