// The charts of a pod, or of one of its containers.

import { element, setText } from './dom.js';
import { formatBytes, formatCpu, formatRate } from './format.js';
import { Meter } from './meter.js';
import { cpuChart, Figures, memoryChart, rateChart } from './resource-charts.js';

/**
 * @typedef {import('./store.js').Store} Store
 * @typedef {import('./store.js').PagePod} PagePod
 * @typedef {import('./store.js').PageUse} PageUse
 */

/** The choice that is no container. No container has an empty name. */
const WHOLE_POD = '';

export class PodCharts {
  node;
  #uid;
  #select = element('select', { id: 'charts-of', onchange: () => this.#chosen() });
  /** @type {{ store: Store, pod: PagePod } | undefined} */
  #last;
  #cpu = cpuChart('');
  #memory = memoryChart('');
  #network = rateChart('Network', '', ['Received', 'Sent']);
  #disk = rateChart('Disk', '', ['Read', 'Written']);
  #cpuNow = element('p', { class: 'value' });
  #memoryNow = element('p', { class: 'value' });
  #networkNow = new Figures([
    ['Received', 1],
    ['Sent', 2],
  ]);
  #diskNow = new Figures([
    ['Read', 1],
    ['Written', 2],
  ]);
  #cpuMeter = new Meter();
  #memoryMeter = new Meter();
  #cpuNote = element('p', { class: 'note' });
  #memoryNote = element('p', { class: 'note' });
  #networkTile;
  #diskTile;

  /** @param {PagePod} pod */
  constructor(pod) {
    this.#uid = pod.uid;
    const tile = (/** @type {string} */ title, /** @type {Node[]} */ ...children) =>
      element('section', { class: 'tile', 'aria-label': title }, element('h3', {}, title), ...children);
    // The containers of a pod share its network.
    this.#networkTile = tile('Network', this.#networkNow.node, this.#network.node);
    this.#diskTile = tile('Disk', this.#diskNow.node, this.#disk.node);
    this.#diskTile.hidden = true;
    this.node = element(
      'div',
      { class: 'pod-charts' },
      element('p', { class: 'choice' }, element('label', { for: 'charts-of' }, 'Charts of'), this.#select),
      element(
        'div',
        { class: 'tiles three' },
        tile('CPU', this.#cpuNow, this.#cpuMeter.node, this.#cpu.node, this.#cpuNote),
        tile('Memory', this.#memoryNow, this.#memoryMeter.node, this.#memory.node, this.#memoryNote),
        this.#networkTile,
        this.#diskTile,
      ),
    );
    this.#offer(pod);
  }

  destroy() {
    for (const chart of [this.#cpu, this.#memory, this.#network, this.#disk]) chart.destroy();
  }

  /**
   * @param {Store} store
   * @param {PagePod} pod
   */
  update(store, pod) {
    this.#last = { store, pod };
    this.#offer(pod);
    const container = pod.containers.find(({ name }) => name === this.#select.value);
    const useOf = (
      /** @type {(PageUse & { containers: readonly (PageUse & { name: string })[] }) | undefined} */ use,
    ) => (container === undefined ? use : use?.containers.find(({ name }) => name === container.name));
    const samples = store.podSamples.get(this.#uid) ?? [];
    const times = samples.map(({ atMs }) => atMs);
    const values = (/** @type {(use: PageUse) => number | undefined} */ figure) =>
      samples.map((sample) => {
        const use = useOf(sample);
        return use === undefined ? undefined : figure(use);
      });
    const use = useOf(store.use(this.#uid));
    const { cpuRequestMillis, cpuLimitMillis, memoryRequestBytes, memoryLimitBytes } = container ?? pod;
    const node = store.state?.node;
    setText(this.#cpuNow, formatCpu(use?.cpuMillis));
    this.#cpuMeter.set(meterFacts(use?.cpuMillis, cpuRequestMillis, cpuLimitMillis, (node?.cores ?? 0) * 1000));
    setText(this.#cpuNote, limitNote(cpuRequestMillis, cpuLimitMillis, formatCpu));
    this.#cpu.set(times, [values(({ cpuMillis }) => cpuMillis)], limitLines(cpuRequestMillis, cpuLimitMillis));
    setText(this.#memoryNow, formatBytes(use?.memoryBytes));
    this.#memoryMeter.set(meterFacts(use?.memoryBytes, memoryRequestBytes, memoryLimitBytes, node?.memoryBytes));
    setText(this.#memoryNote, limitNote(memoryRequestBytes, memoryLimitBytes, formatBytes));
    this.#memory.set(
      times,
      [values(({ memoryBytes }) => memoryBytes)],
      limitLines(memoryRequestBytes, memoryLimitBytes),
    );
    this.#networkTile.hidden = container !== undefined;
    this.#diskTile.hidden = container === undefined;
    if (container === undefined) {
      this.#networkNow.set([formatRate(use?.rxBps), formatRate(use?.txBps)]);
      this.#network.set(times, [values(({ rxBps }) => rxBps), values(({ txBps }) => txBps)]);
    } else {
      this.#diskNow.set([formatRate(use?.readBps), formatRate(use?.writeBps)]);
      this.#disk.set(times, [values(({ readBps }) => readBps), values(({ writeBps }) => writeBps)]);
    }
  }

  #chosen() {
    if (this.#last !== undefined) this.update(this.#last.store, this.#last.pod);
  }

  /**
   * The pod and its containers, with the choice kept.
   *
   * @param {PagePod} pod
   */
  #offer({ containers }) {
    const names = [WHOLE_POD, ...containers.map(({ name }) => name)];
    const shown = [...this.#select.options].map(({ value }) => value);
    if (shown.length === names.length && names.every((name, at) => name === shown[at])) return;
    const { value } = this.#select;
    this.#select.replaceChildren(
      ...names.map((name) => element('option', { value: name }, name === WHOLE_POD ? 'the whole pod' : name)),
    );
    this.#select.value = names.includes(value) ? value : WHOLE_POD;
  }
}

/**
 * Against the limit, or without one, against what the node has.
 *
 * @param {number | undefined} value
 * @param {number | undefined} request
 * @param {number | undefined} limit
 * @param {number | undefined} capacity
 * @returns {import('./meter.js').MeterFacts}
 */
export function meterFacts(value, request, limit, capacity) {
  return { value, max: limit ?? capacity, mark: request, kind: limit === undefined ? 'scale' : 'limit' };
}

/**
 * @param {number | undefined} request
 * @param {number | undefined} limit
 * @returns {import('./charts.js').ChartLine[]}
 */
function limitLines(request, limit) {
  return [
    ...(request === undefined || request === limit
      ? []
      : [{ label: 'request', value: request, color: /** @type {const} */ ('--muted') }]),
    ...(limit === undefined ? [] : [{ label: 'limit', value: limit, color: /** @type {const} */ ('--bad') }]),
  ];
}

/**
 * @param {number | undefined} request
 * @param {number | undefined} limit
 * @param {(amount: number | undefined) => string} format
 */
function limitNote(request, limit, format) {
  const parts = [
    request === undefined ? 'no request' : `request ${format(request)}`,
    limit === undefined ? 'no limit' : `limit ${format(limit)}`,
  ];
  return parts.join(' · ');
}
