// The machine: a tile for each resource, with thresholds and allocatable drawn in.

import { Chart } from './charts.js';
import { element, setText } from './dom.js';
import { formatAge, formatBytes, formatCount, formatCpu, formatPercent, formatRate } from './format.js';
import { Meter } from './meter.js';
import { cpuChart, Figures, memoryChart, rateChart } from './resource-charts.js';

/** @typedef {import('./store.js').Store} Store */

class Tile {
  node;
  #value = element('p', { class: 'value' });
  #note = element('p', { class: 'note' });

  /**
   * @param {string} title
   * @param {...Node} children
   */
  constructor(title, ...children) {
    const heading = element('h3', {}, title);
    this.node = element(
      'section',
      { class: 'tile', 'aria-label': title },
      heading,
      this.#value,
      ...children,
      this.#note,
    );
  }

  /**
   * @param {string} value
   * @param {string} note
   */
  set(value, note) {
    setText(this.#value, value);
    setText(this.#note, note);
  }

  /**
   * Instead of one value.
   *
   * @param {Figures} figures
   */
  showFigures(figures) {
    this.#value.replaceWith(figures.node);
  }
}

export class NodeView {
  #cpuChart = cpuChart('the node');
  #memoryChart = memoryChart('the node');
  #networkChart = rateChart('Network', 'the node', ['Received', 'Sent']);
  #pressureChart = new Chart({
    label: 'Pressure on the node, last five minutes',
    series: [
      { name: 'CPU', color: '--line-1' },
      { name: 'Memory', color: '--line-2' },
      { name: 'I/O', color: '--line-3' },
    ],
    format: formatPercent,
    least: 1,
  });
  #networkFigures = new Figures([
    ['Received', 1],
    ['Sent', 2],
  ]);
  #pressureFigures = new Figures([
    ['CPU', 1],
    ['Memory', 2],
    ['I/O', 3],
  ]);
  #disks = element('div', { class: 'disks' });
  /** @type {Map<string, { row: HTMLElement, meter: Meter, value: HTMLElement, note: HTMLElement }>} */
  #diskRows = new Map();
  #cpuMeter = new Meter();
  #memoryMeter = new Meter();
  #cpu = new Tile('CPU', this.#cpuMeter.node, this.#cpuChart.node);
  #memory = new Tile('Memory', this.#memoryMeter.node, this.#memoryChart.node);
  #network = new Tile('Network', this.#networkChart.node);
  #pressure = new Tile('Pressure', this.#pressureChart.node);
  #disk = new Tile('Disk and processes', this.#disks);

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#network.showFigures(this.#networkFigures);
    this.#pressure.showFigures(this.#pressureFigures);
    place.append(...[this.#cpu, this.#memory, this.#disk, this.#network, this.#pressure].map(({ node }) => node));
  }

  /** @param {Store} store */
  update(store) {
    const { state, usage, nodeSamples } = store;
    if (state === undefined) return;
    const times = nodeSamples.map(({ atMs }) => atMs);
    const { node, thresholds } = state;
    const now = usage?.node;
    const { cpuMillis: allocatableCpu, memoryBytes: allocatableMemory } = node.allocatable;
    this.#cpu.set(
      formatCpu(now?.cpuMillis),
      [
        `of ${formatCpu((node.cores ?? 0) * 1000)}`,
        allocatableCpu === undefined ? '' : `${formatCpu(allocatableCpu)} allocatable`,
      ]
        .filter((each) => each !== '')
        .join(' · '),
    );
    const capacity = node.cores === undefined ? undefined : node.cores * 1000;
    this.#cpuMeter.set({ value: now?.cpuMillis, max: capacity, kind: 'scale' });
    this.#cpuChart.set(
      times,
      [nodeSamples.map(({ cpuMillis }) => cpuMillis)],
      capacity === undefined ? [] : [{ label: 'capacity', value: capacity, color: '--muted' }],
    );
    this.#updateMemory(store, times, allocatableMemory);
    this.#networkFigures.set([formatRate(now?.rxBps), formatRate(now?.txBps)]);
    this.#networkChart.set(times, [nodeSamples.map(({ rxBps }) => rxBps), nodeSamples.map(({ txBps }) => txBps)]);
    this.#updatePressure(store, times);
    this.#updateDisks(now, thresholds);
  }

  /**
   * @param {Store} store
   * @param {number[]} times
   * @param {number | undefined} allocatable
   */
  #updateMemory({ state, usage, nodeSamples }, times, allocatable) {
    const capacity = state?.node.memoryBytes;
    const memory = (state?.thresholds ?? []).filter(({ signal }) => signal === 'memory.available');
    const hard = memory.find(({ kind }) => kind === 'hard');
    const notes = [`of ${formatBytes(capacity)}`];
    if (allocatable !== undefined) notes.push(`${formatBytes(allocatable)} allocatable`);
    if (hard !== undefined) notes.push(`eviction below ${formatBytes(hard.amount)} free`);
    this.#memory.set(formatBytes(usage?.node.memoryBytes), notes.join(' · '));
    this.#memoryMeter.set({
      value: usage?.node.memoryBytes,
      max: capacity,
      mark: hard === undefined || capacity === undefined ? undefined : capacity - hard.amount,
    });
    this.#memoryChart.set(
      times,
      [nodeSamples.map(({ memoryBytes }) => memoryBytes)],
      [
        ...(capacity === undefined
          ? []
          : [{ label: 'capacity', value: capacity, color: /** @type {const} */ ('--muted') }]),
        ...memory.map(({ kind, amount }) => ({
          label: `${kind} eviction threshold`,
          value: (capacity ?? 0) - amount,
          color: kind === 'hard' ? /** @type {const} */ ('--bad') : /** @type {const} */ ('--warn'),
        })),
      ],
    );
  }

  /**
   * @param {Store} store
   * @param {number[]} times
   */
  #updatePressure({ usage, nodeSamples }, times) {
    const now = usage?.node.pressure;
    if (now === undefined && usage !== undefined) {
      this.#pressureFigures.node.hidden = true;
      this.#pressure.set('', 'Pressure is measured only on cgroup v2 with PSI.');
      this.#pressureChart.node.hidden = true;
      return;
    }
    this.#pressureChart.node.hidden = false;
    this.#pressureFigures.node.hidden = false;
    this.#pressureFigures.set([formatPercent(now?.cpu), formatPercent(now?.memory), formatPercent(now?.io)]);
    this.#pressure.set('', 'time in which a task waited, of the last 10 s');
    this.#pressureChart.set(
      times,
      /** @type {const} */ (['cpu', 'memory', 'io']).map((which) =>
        nodeSamples.map(({ pressure }) => pressure?.[which]),
      ),
    );
  }

  /**
   * @param {import('../page-state.ts').PageUsage['node'] | undefined} now
   * @param {readonly import('../page-state.ts').PageThreshold[]} thresholds
   */
  #updateDisks(now, thresholds) {
    const hard = (/** @type {string} */ signal) =>
      thresholds.find((each) => each.signal === signal && each.kind === 'hard')?.amount;
    const { rootFs, imageFs, tasks } = now ?? {};
    const bytesNote = (/** @type {number | undefined} */ threshold) =>
      threshold === undefined ? '' : `eviction below ${formatBytes(threshold)} free`;
    this.#row(
      'Node disk',
      rootFs === undefined ? undefined : rootFs.capacityBytes - rootFs.availableBytes,
      rootFs?.capacityBytes,
      hard('nodefs.available'),
      formatBytes,
      bytesNote(hard('nodefs.available')),
    );
    this.#row(
      'Inodes',
      rootFs === undefined ? undefined : rootFs.inodes - rootFs.inodesFree,
      rootFs?.inodes,
      hard('nodefs.inodesFree'),
      formatCount,
      '',
    );
    this.#row(
      'Image disk',
      imageFs === undefined ? undefined : imageFs.capacityBytes - imageFs.availableBytes,
      imageFs?.capacityBytes,
      hard('imagefs.available'),
      formatBytes,
      imageFs === undefined ? '' : `images ${formatBytes(imageFs.imagesBytes)}`,
    );
    this.#row('Tasks', tasks?.current, tasks?.limit, hard('pid.available'), formatCount, '');
  }

  /**
   * @param {string} name
   * @param {number | undefined} used
   * @param {number | undefined} capacity
   * @param {number | undefined} threshold Of what is free
   * @param {(amount: number | undefined) => string} format
   * @param {string} note
   */
  #row(name, used, capacity, threshold, format, note) {
    let row = this.#diskRows.get(name);
    if (row === undefined) {
      const meter = new Meter();
      const value = element('span', { class: 'number' });
      const noteText = element('span', { class: 'note' });
      row = {
        meter,
        value,
        note: noteText,
        row: element('div', { class: 'disk' }, element('span', {}, name), value, meter.node, noteText),
      };
      this.#diskRows.set(name, row);
      this.#disks.append(row.row);
    }
    setText(row.value, `${format(used)} of ${format(capacity)}`);
    setText(row.note, note);
    row.meter.set({
      value: used,
      max: capacity,
      mark: threshold === undefined || capacity === undefined ? undefined : capacity - threshold,
    });
  }
}

/**
 * The line below the node's name.
 *
 * @param {import('../page-state.ts').PageNode} node
 * @param {number} nowMs
 */
export function nodeFacts(node, nowMs) {
  const up = node.bootedAtMs === undefined ? undefined : `up ${formatAge(nowMs - node.bootedAtMs)}`;
  return [
    node.kubeletVersion,
    node.osVersion,
    node.kernelVersion === undefined ? undefined : `Linux ${node.kernelVersion}`,
    up,
  ]
    .filter((each) => each !== undefined)
    .join(' · ');
}
