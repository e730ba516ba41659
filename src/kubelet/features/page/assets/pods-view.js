// All pods as a table: filter, sort, and a row that is updated in place.

import { element, podAddress, setAttribute, setText } from './dom.js';
import { formatAge, formatBytes, formatCpu, formatPercent, formatRate } from './format.js';
import { Meter } from './meter.js';

/**
 * @typedef {import('./store.js').Store} Store
 * @typedef {import('./store.js').PagePod} PagePod
 * @typedef {import('./store.js').PodUsage} PodUsage
 *
 * @typedef {object} Column
 * @property {string} id
 * @property {string} title
 * @property {boolean} [number] Aligned right, and first sorted from the highest
 * @property {(pod: PagePod, use: PodUsage | undefined) => string | number} key
 */

const worst = (/** @type {PodUsage | undefined} */ use) =>
  use?.pressure === undefined
    ? undefined
    : Math.max(use.pressure.cpu ?? 0, use.pressure.memory ?? 0, use.pressure.io ?? 0);

/** @type {readonly Column[]} */
const columns = [
  { id: 'name', title: 'Pod', key: ({ namespace, name }) => `${namespace}/${name}` },
  { id: 'status', title: 'Status', key: ({ settled, status }) => `${settled ? 1 : 0}${status}` },
  { id: 'cpu', title: 'CPU', number: true, key: (_pod, use) => use?.cpuMillis ?? -1 },
  { id: 'memory', title: 'Memory', number: true, key: (_pod, use) => use?.memoryBytes ?? -1 },
  { id: 'network', title: 'Network', number: true, key: (_pod, use) => (use?.rxBps ?? -1) + (use?.txBps ?? 0) },
  { id: 'disk', title: 'Disk', number: true, key: (_pod, use) => use?.diskBytes ?? -1 },
  { id: 'pressure', title: 'Pressure', number: true, key: (_pod, use) => worst(use) ?? -1 },
  { id: 'age', title: 'Age', number: true, key: ({ startedAtMs }) => -(startedAtMs ?? Number.MAX_SAFE_INTEGER) },
];

/** Rows far from the screen are updated with every so many updates: a screen reader reads them too. */
const FULL_UPDATE = 10;
/** @type {WeakMap<Element, PodRow>} */
const rowOf = new WeakMap();

export class PodsView {
  #filter = element('input', {
    type: 'search',
    id: 'filter',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'Name, namespace or status',
    oninput: () => this.#arrange(),
  });
  #count = element('span', { class: 'note', role: 'status' });
  #body = element('tbody');
  #empty = element('p', { class: 'empty', hidden: true });
  /** @type {Map<string, PodRow>} */
  #rows = new Map();
  /** @type {Map<string, HTMLElement>} */
  #heads = new Map();
  #sort = { id: 'name', down: false };
  /** @type {Store | undefined} */
  #store;
  #updates = 0;
  /** Rows on the screen or near it. */
  #near = new IntersectionObserver((entries) => this.#moved(entries), { rootMargin: '400px' });

  /** @param {HTMLElement} place */
  constructor(place) {
    const heads = columns.map((column) => this.#head(column));
    place.append(
      element('div', { class: 'bar-row' }, element('label', { for: 'filter' }, 'Filter'), this.#filter, this.#count),
      element(
        'div',
        { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Pods' },
        element(
          'table',
          { class: 'pods' },
          element('caption', { class: 'hidden-text' }, 'Pods of this node with their live use'),
          element('thead', {}, element('tr', {}, ...heads)),
          this.#body,
        ),
      ),
      this.#empty,
    );
  }

  /** @param {Store} store */
  update(store) {
    this.#store = store;
    const { state, usage } = store;
    if (state === undefined) return;
    const nowMs = usage?.atMs ?? Date.now();
    for (const [uid, row] of this.#rows)
      if (store.pod(uid) === undefined) {
        this.#near.unobserve(row.node);
        this.#rows.delete(uid);
      }
    const isFull = this.#updates++ % FULL_UPDATE === 0;
    for (const pod of state.pods) {
      const known = this.#rows.get(pod.uid);
      const row = known ?? new PodRow(pod);
      if (known === undefined) {
        this.#rows.set(pod.uid, row);
        this.#near.observe(row.node);
      }
      if (row.isNear || isFull || known === undefined) row.update(pod, store.use(pod.uid), { nowMs, node: state.node });
    }
    this.#arrange();
  }

  /** @param {readonly IntersectionObserverEntry[]} entries */
  #moved(entries) {
    const { state, usage } = this.#store ?? {};
    for (const { target, isIntersecting } of entries) {
      const row = rowOf.get(target);
      if (row === undefined || row.isNear === isIntersecting) continue;
      row.isNear = isIntersecting;
      const pod = isIntersecting ? this.#store?.pod(row.uid) : undefined;
      if (pod !== undefined && state !== undefined)
        row.update(pod, this.#store?.use(row.uid), { nowMs: usage?.atMs ?? Date.now(), node: state.node });
    }
  }

  focusFilter() {
    this.#filter.focus();
  }

  /** @param {string} uid */
  focusPod(uid) {
    this.#rows.get(uid)?.link.focus();
  }

  /** @param {Column} column */
  #head({ id, title, number }) {
    const button = element(
      'button',
      {
        type: 'button',
        onclick: () => {
          const isSame = this.#sort.id === id;
          this.#sort = { id, down: isSame ? !this.#sort.down : number === true };
          this.#arrange();
        },
      },
      title,
    );
    const head = element('th', { scope: 'col', class: number === true ? 'number' : undefined }, button);
    this.#heads.set(id, head);
    return head;
  }

  /** Sorts and filters; moves only rows that are at another place. */
  #arrange() {
    const store = this.#store;
    if (store?.state === undefined) return;
    for (const [id, head] of this.#heads)
      setAttribute(
        head,
        'aria-sort',
        id === this.#sort.id ? (this.#sort.down ? 'descending' : 'ascending') : undefined,
      );
    const words = this.#filter.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const wanted = store.state.pods.filter((pod) => {
      const text = `${pod.namespace}/${pod.name} ${pod.status}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const { key } = columns.find(({ id }) => id === this.#sort.id) ?? /** @type {Column} */ (columns[0]);
    const keys = new Map(wanted.map((pod) => [pod.uid, key(pod, store.use(pod.uid))]));
    const sign = this.#sort.down ? -1 : 1;
    const sorted = wanted.toSorted((left, right) => {
      const [one, other] = [keys.get(left.uid) ?? '', keys.get(right.uid) ?? ''];
      return one < other ? -sign : one > other ? sign : 0;
    });
    const nodes = sorted.flatMap(({ uid }) => this.#rows.get(uid)?.node ?? []);
    place(this.#body, nodes);
    const all = store.state.pods.length;
    setText(
      this.#count,
      wanted.length === all ? `${all} ${all === 1 ? 'pod' : 'pods'}` : `${wanted.length} of ${all} pods`,
    );
    this.#empty.hidden = wanted.length > 0;
    setText(this.#empty, all === 0 ? 'No pods on this node.' : 'No pod matches the filter.');
  }
}

/**
 * @param {Element} parent
 * @param {readonly Element[]} nodes
 */
function place(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, at) => {
    const there = parent.children[at];
    if (there !== node) parent.insertBefore(node, there ?? null);
  });
}

/** One figure with its bar. */
class Gauge {
  meter = new Meter();
  value = element('span', { class: 'number' });
  limit = element('span', { class: 'of' });
  cell = element(
    'td',
    { class: 'gauge' },
    element('span', { class: 'figures' }, this.value, this.limit),
    this.meter.node,
  );
}

class PodRow {
  uid;
  isNear = false;
  link;
  node;
  #dot = element('span', { class: 'dot', 'aria-hidden': 'true' });
  #status = element('span');
  #why = element('span', { class: 'why' });
  #cpu = new Gauge();
  #memory = new Gauge();
  #network = element('td', { class: 'number two' });
  #received = element('span');
  #sent = element('span');
  #disk = element('span');
  #diskLimit = element('span', { class: 'of' });
  #pressure = element('td', { class: 'number' });
  #age = element('td', { class: 'number' });

  /** @param {PagePod} pod */
  constructor({ uid, namespace, name }) {
    this.link = element('a', { href: podAddress(uid) }, name);
    this.uid = uid;
    this.#network.append(this.#received, this.#sent);
    this.node = element(
      'tr',
      {},
      element('th', { scope: 'row' }, this.link, element('span', { class: 'namespace' }, namespace)),
      element('td', { class: 'status' }, element('span', { class: 'state' }, this.#dot, this.#status), this.#why),
      this.#cpu.cell,
      this.#memory.cell,
      this.#network,
      element('td', { class: 'number two' }, this.#disk, this.#diskLimit),
      this.#pressure,
      this.#age,
    );
    rowOf.set(this.node, this);
  }

  /**
   * @param {PagePod} pod
   * @param {PodUsage | undefined} use
   * @param {{ nowMs: number, node: import('../page-state.ts').PageNode }} facts
   */
  update(pod, use, { nowMs, node }) {
    setText(
      this.#status,
      pod.containers.length > 0 && pod.phase === 'Running' ? `${pod.status} ${pod.ready}` : pod.status,
    );
    setAttribute(this.#dot, 'class', `dot ${levelOf(pod)}`);
    setText(this.#why, pod.blocker === undefined ? '' : `${pod.blocker.step}: ${pod.blocker.cause}`);
    setText(this.#cpu.value, formatCpu(use?.cpuMillis));
    setText(this.#cpu.limit, pod.cpuLimitMillis === undefined ? '' : `/ ${formatCpu(pod.cpuLimitMillis)}`);
    this.#cpu.meter.set({
      value: use?.cpuMillis,
      max: pod.cpuLimitMillis ?? (node.cores === undefined ? undefined : node.cores * 1000),
      mark: pod.cpuRequestMillis,
      kind: pod.cpuLimitMillis === undefined ? 'scale' : 'limit',
    });
    setText(this.#memory.value, formatBytes(use?.memoryBytes));
    setText(this.#memory.limit, pod.memoryLimitBytes === undefined ? '' : `/ ${formatBytes(pod.memoryLimitBytes)}`);
    this.#memory.meter.set({
      value: use?.memoryBytes,
      max: pod.memoryLimitBytes ?? node.memoryBytes,
      mark: pod.memoryRequestBytes,
      kind: pod.memoryLimitBytes === undefined ? 'scale' : 'limit',
    });
    setText(this.#received, `↓ ${formatRate(use?.rxBps)}`);
    setText(this.#sent, `↑ ${formatRate(use?.txBps)}`);
    setText(this.#disk, formatBytes(use?.diskBytes));
    setText(this.#diskLimit, pod.storageLimitBytes === undefined ? '' : `/ ${formatBytes(pod.storageLimitBytes)}`);
    setText(this.#pressure, formatPercent(worst(use)));
    setText(this.#age, pod.startedAtMs === undefined ? '–' : formatAge(nowMs - pod.startedAtMs));
  }
}

/**
 * How the state of a pod is coloured. The text beside it says the same.
 *
 * @param {PagePod} pod
 */
export function levelOf({ settled, phase, status, containers }) {
  if (phase === 'Failed' || /Err|BackOff|Error|OOM|Invalid/.test(status)) return 'bad';
  if (!settled) return containers.some(({ state }) => state === 'running') ? 'warn' : 'wait';
  return phase === 'Succeeded' ? 'done' : 'good';
}
