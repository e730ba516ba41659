// One pod: what holds it up, its containers with limits, its charts, its timeline and its log.

import { element, setAttribute, setText } from './dom.js';
import { bytesOfLimit, formatAge, formatBytes, formatCpu, formatPercent, formatRate, formatTime } from './format.js';
import { LogsView } from './logs-view.js';
import { Meter } from './meter.js';
import { meterFacts, PodCharts } from './pod-charts.js';
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
  /** Of a pod that has ended. */
  #endMessage = '';
  #heading;
  #facts = element('p', { class: 'facts' });
  #dot = element('span', { class: 'dot', 'aria-hidden': 'true' });
  #status = element('span');
  #explanation = element('div', { class: 'explanation' });
  #timeline = element('ol', { class: 'timeline', tabindex: '0', 'aria-labelledby': 'timeline-heading' });
  #containers = element('tbody');
  /** @type {Map<string, ContainerRow>} */
  #rows = new Map();
  #charts;
  #logs;

  /** @param {PagePod} pod */
  constructor(pod) {
    this.uid = pod.uid;
    this.#heading = element('h2', { tabindex: '-1' }, pod.name);
    this.#logs = new LogsView(pod);
    this.#charts = new PodCharts(pod);
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
      this.#charts.node,
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
    this.#charts.destroy();
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
    this.#endMessage = pod.message ?? '';
    this.#charts.update(store, pod);
    this.#updateContainers(store, pod);
    this.#logs.update(pod);
    const mark = `${pod.timelineMark} ${pod.phase} ${pod.message ?? ''}`;
    if (mark !== this.#mark) {
      this.#mark = mark;
      void this.#explain();
    }
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

  /** Why a failed pod ended: nothing holds it up, but nothing will run either. */
  #failure() {
    return element(
      'div',
      { class: 'blocker' },
      element('p', { class: 'step' }, 'Failed: this pod does not run again.'),
      element('p', { class: 'error' }, this.#endMessage),
    );
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
  #show({ settled, phase, blockers, suggestions, timeline }) {
    this.#explanation.replaceChildren(
      ...(settled
        ? [
            phase === 'Failed'
              ? this.#failure()
              : element('p', { class: 'settled' }, 'Settled: nothing holds this pod up.'),
          ]
        : blockers.map((blocker) =>
            element(
              'div',
              { class: 'blocker' },
              element('p', { class: 'step' }, `Blocked on ${blocker.step}`),
              element('p', {}, `${blocker.cause}, since ${formatTime(blocker.sinceMs)}`),
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
  #cpuRequest = element('span', { class: 'note' });
  #cpuMeter = new Meter();
  #memory = element('span', { class: 'number' });
  #memoryOf = element('span', { class: 'of' });
  #memoryRequest = element('span', { class: 'note' });
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
        this.#cpuRequest,
      ),
      element(
        'td',
        { class: 'gauge' },
        element('span', { class: 'figures' }, this.#memory, this.#memoryOf),
        this.#memoryMeter.node,
        this.#memoryRequest,
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
    setText(this.#cpuRequest, requestText(container.cpuRequestMillis, formatCpu));
    this.#cpuMeter.set(
      meterFacts(use?.cpuMillis, container.cpuRequestMillis, cpuLimitMillis, (node?.cores ?? 0) * 1000),
    );
    setText(this.#memory, formatBytes(use?.memoryBytes));
    setText(this.#memoryOf, memoryLimitBytes === undefined ? '' : `/ ${formatBytes(memoryLimitBytes)}`);
    setText(this.#memoryRequest, requestText(container.memoryRequestBytes, formatBytes));
    this.#memoryMeter.set(
      meterFacts(use?.memoryBytes, container.memoryRequestBytes, memoryLimitBytes, node?.memoryBytes),
    );
    const { pressure } = use ?? {};
    const worst =
      pressure === undefined ? undefined : Math.max(pressure.cpu ?? 0, pressure.memory ?? 0, pressure.io ?? 0);
    const texts = [
      formatRate(use?.readBps),
      formatRate(use?.writeBps),
      bytesOfLimit(use?.diskBytes, container.storageLimitBytes),
      formatPercent(worst),
      String(container.restarts),
    ];
    this.#figures.forEach((cell, at) => setText(cell, texts[at] ?? ''));
  }
}

/**
 * @param {number | undefined} request
 * @param {(amount: number | undefined) => string} format
 */
const requestText = (request, format) => (request === undefined ? '' : `request ${format(request)}`);
