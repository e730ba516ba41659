// One pod: what holds it up, its containers with limits, its charts, its timeline and its log.

import { Chart } from './charts.js';
import { element, setAttribute, setText } from './dom.js';
import { formatAge, formatBytes, formatCpu, formatPercent, formatRate, formatTime } from './format.js';
import { LogsView } from './logs-view.js';
import { Meter } from './meter.js';
import { Figures } from './node-view.js';
import { levelOf } from './pods-view.js';

/**
 * @typedef {import('./store.js').Store} Store
 * @typedef {import('./store.js').PagePod} PagePod
 * @typedef {import('../../../../api/explanation/explanation.ts').PodExplanation} PodExplanation
 */

export class PodView {
  uid;
  node;
  #mark = '';
  #heading;
  #facts = element('p', { class: 'facts' });
  #dot = element('span', { class: 'dot', 'aria-hidden': 'true' });
  #status = element('span');
  #explanation = element('div', { class: 'explanation' });
  #timeline = element('ol', { class: 'timeline' });
  #containers = element('tbody');
  /** @type {Map<string, ContainerRow>} */
  #rows = new Map();
  #cpu = new Chart({
    label: 'CPU of the pod',
    series: [{ name: 'CPU', color: '--line-1', filled: true }],
    format: formatCpu,
    least: 10,
  });
  #memory = new Chart({
    label: 'Memory of the pod',
    series: [{ name: 'Memory', color: '--line-1', filled: true }],
    format: formatBytes,
    least: 1024 ** 2,
    binary: true,
  });
  #network = new Chart({
    label: 'Network of the pod',
    series: [
      { name: 'Received', color: '--line-1', filled: true },
      { name: 'Sent', color: '--line-2' },
    ],
    format: formatRate,
    least: 1024,
    binary: true,
  });
  #cpuNow = element('p', { class: 'value' });
  #memoryNow = element('p', { class: 'value' });
  #networkNow = new Figures([
    ['Received', 1],
    ['Sent', 2],
  ]);
  #cpuNote = element('p', { class: 'note' });
  #memoryNote = element('p', { class: 'note' });
  #logs;

  /** @param {PagePod} pod */
  constructor(pod) {
    this.uid = pod.uid;
    this.#heading = element('h2', { tabindex: '-1' }, pod.name);
    this.#logs = new LogsView(pod);
    const tile = (/** @type {string} */ title, /** @type {Node[]} */ ...children) =>
      element('section', { class: 'tile', 'aria-label': title }, element('h3', {}, title), ...children);
    this.node = element(
      'article',
      { class: 'pod', 'aria-label': `Pod ${pod.name}` },
      element('a', { class: 'back', href: '#/pods' }, '‹ All pods'),
      element(
        'div',
        { class: 'pod-head' },
        this.#heading,
        element('span', { class: 'state' }, this.#dot, this.#status),
      ),
      this.#facts,
      this.#explanation,
      element(
        'div',
        { class: 'tiles three' },
        tile('CPU', this.#cpuNow, this.#cpu.node, this.#cpuNote),
        tile('Memory', this.#memoryNow, this.#memory.node, this.#memoryNote),
        tile('Network', this.#networkNow.node, this.#network.node),
      ),
      element('div', { class: 'card' }, element('h3', {}, 'Containers'), this.#table()),
      element(
        'div',
        { class: 'split' },
        element(
          'section',
          { class: 'card', 'aria-labelledby': 'timeline-heading' },
          element('h3', { id: 'timeline-heading' }, 'Timeline'),
          this.#timeline,
        ),
        this.#logs.node,
      ),
    );
    void this.#explain();
  }

  focus() {
    this.#heading.focus();
  }

  destroy() {
    this.#logs.destroy();
    for (const chart of [this.#cpu, this.#memory, this.#network]) chart.destroy();
    this.node.remove();
  }

  /** @param {Store} store */
  update(store) {
    const pod = store.pod(this.uid);
    if (pod === undefined) {
      setText(this.#status, 'Gone');
      setAttribute(this.#dot, 'class', 'dot done');
      return;
    }
    const nowMs = store.usage?.atMs ?? Date.now();
    setText(this.#status, `${pod.status} · ${pod.ready} ready`);
    setAttribute(this.#dot, 'class', `dot ${levelOf(pod)}`);
    const age = pod.startedAtMs === undefined ? undefined : `started ${formatAge(nowMs - pod.startedAtMs)} ago`;
    const priority = pod.priority === 0 ? undefined : `priority ${pod.priority}`;
    setText(
      this.#facts,
      [`namespace ${pod.namespace}`, pod.qos, priority, age, `${pod.restarts} restarts`]
        .filter((each) => each !== undefined)
        .join(' · '),
    );
    this.#updateCharts(store, pod);
    this.#updateContainers(store, pod);
    this.#logs.update(pod);
    if (pod.timelineMark !== this.#mark) {
      this.#mark = pod.timelineMark;
      void this.#explain();
    }
  }

  /**
   * @param {Store} store
   * @param {PagePod} pod
   */
  #updateCharts(store, pod) {
    const samples = store.podSamples.get(this.uid) ?? [];
    const times = samples.map(({ atMs }) => atMs);
    const use = store.use(this.uid);
    setText(this.#cpuNow, formatCpu(use?.cpuMillis));
    setText(this.#cpuNote, limitNote(pod.cpuRequestMillis, pod.cpuLimitMillis, formatCpu));
    this.#cpu.set(
      times,
      [samples.map(({ cpuMillis }) => cpuMillis)],
      limitLines(pod.cpuRequestMillis, pod.cpuLimitMillis),
    );
    setText(this.#memoryNow, formatBytes(use?.memoryBytes));
    setText(this.#memoryNote, limitNote(pod.memoryRequestBytes, pod.memoryLimitBytes, formatBytes));
    this.#memory.set(
      times,
      [samples.map(({ memoryBytes }) => memoryBytes)],
      limitLines(pod.memoryRequestBytes, pod.memoryLimitBytes),
    );
    this.#networkNow.set([formatRate(use?.rxBps), formatRate(use?.txBps)]);
    this.#network.set(times, [samples.map(({ rxBps }) => rxBps), samples.map(({ txBps }) => txBps)]);
  }

  #table() {
    const head = (/** @type {string} */ title, /** @type {boolean} */ isNumber) =>
      element('th', { scope: 'col', class: isNumber ? 'number' : undefined }, title);
    const titles = ['CPU', 'Memory', 'Disk read', 'Disk written', 'Storage', 'Pressure', 'Restarts'];
    return element(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Containers' },
      element(
        'table',
        { class: 'pods' },
        element(
          'thead',
          {},
          element(
            'tr',
            {},
            head('Container', false),
            head('State', false),
            ...titles.map((title) => head(title, true)),
          ),
        ),
        this.#containers,
      ),
    );
  }

  /**
   * @param {Store} store
   * @param {PagePod} pod
   */
  #updateContainers(store, pod) {
    const uses = new Map((store.use(this.uid)?.containers ?? []).map((use) => [use.name, use]));
    for (const [name, row] of this.#rows)
      if (!pod.containers.some((container) => container.name === name)) {
        row.node.remove();
        this.#rows.delete(name);
      }
    for (const container of pod.containers) {
      const row = this.#rows.get(container.name) ?? new ContainerRow(container);
      if (!this.#rows.has(container.name)) this.#containers.append(row.node);
      this.#rows.set(container.name, row);
      row.update(container, uses.get(container.name), store.state?.node);
    }
  }

  async #explain() {
    try {
      const answer = await fetch(`/api/pods/${encodeURIComponent(this.uid.toWellFormed())}`);
      if (answer.ok) this.#show(/** @type {PodExplanation} */ (await answer.json()));
    } catch {
      this.#mark = ''; // The next update asks again.
    }
  }

  /** @param {PodExplanation} explanation */
  #show({ settled, blockers, suggestions, timeline }) {
    const nowMs = Date.now();
    this.#explanation.replaceChildren(
      ...(settled
        ? [element('p', { class: 'settled' }, 'Settled: nothing holds this pod up.')]
        : blockers.map((blocker) =>
            element(
              'div',
              { class: 'blocker' },
              element('p', { class: 'step' }, `Blocked on ${blocker.step}`),
              element('p', {}, `${blocker.cause}, since ${formatAge(nowMs - blocker.sinceMs)}`),
              blocker.lastError === undefined ? undefined : element('p', { class: 'error' }, blocker.lastError),
              blocker.nextTryAtMs === undefined
                ? undefined
                : element('p', { class: 'note' }, `Next try at ${formatTime(blocker.nextTryAtMs)}`),
              ...(blocker.details ?? []).map((detail) => element('p', { class: 'note' }, detail)),
            ),
          )),
      ...suggestions.map((suggestion) => element('p', { class: 'suggestion' }, suggestion)),
    );
    this.#timeline.replaceChildren(
      ...timeline
        .toReversed()
        .map(({ atMs, type, reason, message, count }) =>
          element(
            'li',
            { class: type === 'Warning' ? 'warning' : undefined },
            element('time', { datetime: new Date(atMs).toISOString() }, formatTime(atMs)),
            element(
              'span',
              {},
              element('strong', {}, reason),
              count > 1 ? element('span', { class: 'count' }, `×${count}`) : undefined,
              element('span', { class: 'message' }, message),
            ),
          ),
        ),
    );
  }
}

class ContainerRow {
  node;
  #state = element('span');
  #cpu = element('span', { class: 'number' });
  #cpuOf = element('span', { class: 'of' });
  #cpuMeter = new Meter();
  #memory = element('span', { class: 'number' });
  #memoryOf = element('span', { class: 'of' });
  #memoryMeter = new Meter();
  #figures = ['read', 'written', 'storage', 'pressure', 'restarts'].map(() => element('td', { class: 'number' }));

  /** @param {PagePod['containers'][number]} container */
  constructor({ name, kind, image }) {
    const role = kind === 'container' ? undefined : element('span', { class: 'namespace' }, kind);
    this.node = element(
      'tr',
      {},
      element('th', { scope: 'row' }, element('span', { title: image }, name), role),
      element('td', {}, this.#state),
      element(
        'td',
        { class: 'gauge' },
        element('span', { class: 'figures' }, this.#cpu, this.#cpuOf),
        this.#cpuMeter.node,
      ),
      element(
        'td',
        { class: 'gauge' },
        element('span', { class: 'figures' }, this.#memory, this.#memoryOf),
        this.#memoryMeter.node,
      ),
      ...this.#figures,
    );
  }

  /**
   * @param {PagePod['containers'][number]} container
   * @param {import('./store.js').PodUsage['containers'][number] | undefined} use
   * @param {import('../page-state.ts').PageNode | undefined} node
   */
  update(container, use, node) {
    const { state, reason, ready, exitCode, cpuLimitMillis, memoryLimitBytes } = container;
    const end = exitCode === undefined ? '' : ` (exit code ${exitCode})`;
    setText(
      this.#state,
      state === 'running'
        ? ready
          ? 'Running, ready'
          : 'Running, not ready'
        : `${reason === '' ? state : reason}${end}`,
    );
    setText(this.#cpu, formatCpu(use?.cpuMillis));
    setText(this.#cpuOf, cpuLimitMillis === undefined ? '' : `/ ${formatCpu(cpuLimitMillis)}`);
    this.#cpuMeter.set({
      value: use?.cpuMillis,
      max: cpuLimitMillis ?? (node?.cores === undefined ? undefined : node.cores * 1000),
      mark: container.cpuRequestMillis,
      kind: cpuLimitMillis === undefined ? 'scale' : 'limit',
    });
    setText(this.#memory, formatBytes(use?.memoryBytes));
    setText(this.#memoryOf, memoryLimitBytes === undefined ? '' : `/ ${formatBytes(memoryLimitBytes)}`);
    this.#memoryMeter.set({
      value: use?.memoryBytes,
      max: memoryLimitBytes ?? node?.memoryBytes,
      mark: container.memoryRequestBytes,
      kind: memoryLimitBytes === undefined ? 'scale' : 'limit',
    });
    const { pressure } = use ?? {};
    const worst =
      pressure === undefined ? undefined : Math.max(pressure.cpu ?? 0, pressure.memory ?? 0, pressure.io ?? 0);
    const texts = [
      formatRate(use?.readBps),
      formatRate(use?.writeBps),
      formatBytes(use?.diskBytes),
      formatPercent(worst),
      String(container.restarts),
    ];
    this.#figures.forEach((cell, at) => setText(cell, texts[at] ?? ''));
  }
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
