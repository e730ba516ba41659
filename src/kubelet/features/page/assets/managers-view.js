// Which CPUs and devices belong to which container.

import { element } from './dom.js';

/**
 * @typedef {import('./store.js').Store} Store
 * @typedef {NonNullable<import('../page-state.ts').PageManagers['cpus']>[number]} Cpu
 * @typedef {NonNullable<import('../page-state.ts').PageManagers['devices']>[number]} Device
 */

const OWNER_COLORS = 8;

export class ManagersView {
  #place;
  #shown = '';

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#place = place;
  }

  /** @param {Store} store */
  update(store) {
    const { state } = store;
    if (state === undefined) return;
    const { cpus, devices } = state.managers;
    const nameOf = (/** @type {{ uid: string, container: string }} */ { uid, container }) => {
      const pod = store.pod(uid);
      return pod === undefined ? container : `${pod.namespace}/${pod.name}, ${container}`;
    };
    const owners = [
      ...new Set(
        [...(cpus ?? []), ...(devices ?? [])].flatMap(({ owner }) => (owner === undefined ? [] : [nameOf(owner)])),
      ),
    ];
    const json = JSON.stringify([cpus, devices, owners]);
    if (json === this.#shown) return;
    this.#shown = json;
    const colorOf = (/** @type {string} */ owner) => `owner-${owners.indexOf(owner) % OWNER_COLORS}`;
    const parts = [
      ...(cpus === undefined ? [] : [cpuCard(cpus, nameOf, colorOf)]),
      ...(devices === undefined || devices.length === 0 ? [] : [deviceCard(devices, nameOf, colorOf)]),
    ];
    this.#place.replaceChildren(
      ...(parts.length > 0
        ? parts
        : [
            element(
              'p',
              { class: 'empty' },
              'No container has CPUs or devices of its own. Every container may run on every CPU.',
            ),
          ]),
    );
  }
}

/**
 * @param {readonly Cpu[]} cpus
 * @param {(owner: { uid: string, container: string }) => string} nameOf
 * @param {(owner: string) => string} colorOf
 */
function cpuCard(cpus, nameOf, colorOf) {
  const zones = Map.groupBy(cpus, ({ numa }) => numa);
  const cell = (/** @type {Cpu} */ { cpu, core, use, owner }) => {
    const who = owner === undefined ? use : nameOf(owner);
    const color = owner === undefined ? use : colorOf(who);
    return element(
      'li',
      { class: `cpu ${color}`, title: `CPU ${cpu}, core ${core}: ${who}` },
      element('span', { class: 'hidden-text' }, 'CPU '),
      String(cpu),
      element('span', { class: 'hidden-text' }, `: ${who}`),
    );
  };
  const owned = [
    ...new Map(cpus.flatMap(({ owner }) => (owner === undefined ? [] : [[nameOf(owner), colorOf(nameOf(owner))]]))),
  ];
  return element(
    'section',
    { class: 'card', 'aria-labelledby': 'cpus-heading' },
    element('h3', { id: 'cpus-heading' }, 'CPUs'),
    element(
      'div',
      { class: 'zones' },
      ...[...zones].map(([numa, members]) =>
        element(
          'div',
          { class: 'zone' },
          element('h4', {}, `NUMA node ${numa}, socket ${members[0]?.socket ?? 0}`),
          element(
            'ul',
            { class: 'cpus' },
            ...members.toSorted((left, right) => left.core - right.core || left.cpu - right.cpu).map(cell),
          ),
        ),
      ),
    ),
    element(
      'ul',
      { class: 'legend' },
      ...[['shared', 'shared'], ['reserved', 'reserved'], ...owned].map(([text, color]) =>
        element('li', {}, element('span', { class: `swatch ${color}`, 'aria-hidden': 'true' }), text),
      ),
    ),
  );
}

/**
 * @param {readonly Device[]} devices
 * @param {(owner: { uid: string, container: string }) => string} nameOf
 * @param {(owner: string) => string} colorOf
 */
function deviceCard(devices, nameOf, colorOf) {
  const rows = devices.map(({ resource, id, healthy, owner }) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, id, element('span', { class: 'namespace' }, resource)),
      element('td', { class: healthy ? 'health' : 'health bad' }, healthy ? 'healthy' : 'unhealthy'),
      element(
        'td',
        {},
        owner === undefined
          ? 'free'
          : element(
              'span',
              {},
              element('span', { class: `swatch ${colorOf(nameOf(owner))}`, 'aria-hidden': 'true' }),
              nameOf(owner),
            ),
      ),
    ),
  );
  return element(
    'section',
    { class: 'card', 'aria-labelledby': 'devices-heading' },
    element('h3', { id: 'devices-heading' }, 'Devices'),
    element(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Devices and their owners' },
      element(
        'table',
        {},
        element(
          'thead',
          {},
          element(
            'tr',
            {},
            ...['Device', 'Health', 'Belongs to'].map((title) => element('th', { scope: 'col' }, title)),
          ),
        ),
        element('tbody', {}, ...rows),
      ),
    ),
  );
}
