// Connects the stream, the store and the views.

import { byId, element, setText } from './dom.js';
import { EvictionView } from './eviction-view.js';
import { openFeed } from './feed.js';
import { ManagersView } from './managers-view.js';
import { NodeView, nodeFacts } from './node-view.js';
import { PodView } from './pod-view.js';
import { PodsView } from './pods-view.js';
import { Store } from './store.js';
import { connectTabs } from './tabs.js';

const store = new Store();
const panel = byId('panel-pods');
const list = element('div', { id: 'pods-list' });
panel.append(list);
const nodeView = new NodeView(byId('machine'));
const podsView = new PodsView(list);
const evictionView = new EvictionView(byId('panel-eviction'));
const managersView = new ManagersView(byId('panel-managers'));
/** @type {PodView | undefined} */
let podView;

const VIEWS = ['pods', 'eviction', 'managers'];
const tablist = /** @type {HTMLElement} */ (document.querySelector('[role=tablist]'));
const showTab = connectTabs(tablist, (name) => {
  location.hash = `#/${name}`;
});

/** Shows what the address names: `#/pods`, `#/pods/UID`, `#/eviction`, `#/managers`. */
function navigate() {
  const [, name = '', uid = ''] = location.hash.split('/');
  const view = VIEWS.includes(name) ? name : 'pods';
  showTab(view);
  showPod(view === 'pods' && uid !== '' ? decoded(uid) : undefined);
  render();
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // The address was written by hand: no pod has this UID.
  }
}

/** @param {string | undefined} uid */
function showPod(uid) {
  const before = podView?.uid;
  if (before === uid) return;
  podView?.destroy();
  podView = undefined;
  const pod = uid === undefined ? undefined : store.pod(uid);
  if (pod !== undefined) {
    podView = new PodView(pod);
    panel.append(podView.node);
  }
  list.hidden = podView !== undefined;
  byId('machine').hidden = podView !== undefined;
  tablist.hidden = podView !== undefined;
  podView?.update(store);
  if (podView !== undefined) podView.focus();
  else if (before !== undefined) podsView.focusPod(before);
}

let isDrawing = false;
/** At most once per frame, and not while the page is hidden. */
function render() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    if (podView === undefined) {
      nodeView.update(store);
      podsView.update(store);
      evictionView.update(store);
      managersView.update(store);
    } else podView.update(store);
    renderHead();
  });
}

function renderHead() {
  const { state, usage } = store;
  if (state === undefined) return;
  const { node } = state;
  document.title = `${node.name} · node`;
  setText(byId('node-name'), node.name);
  setText(byId('node-facts'), nodeFacts(node, usage?.atMs ?? Date.now()));
  const shown = node.conditions.filter(({ type, status }) => (type === 'Ready' ? true : status === 'True'));
  byId('conditions').replaceChildren(
    ...shown.map(({ type, status, message }) => {
      const isGood = type === 'Ready' && status === 'True';
      const text = type === 'Ready' && !isGood ? 'Not ready' : type;
      return element('li', { class: `badge ${isGood ? 'good' : 'bad'}`, title: isGood ? undefined : message }, text);
    }),
  );
  byId('problems').replaceChildren(...node.problems.map((text) => element('p', { class: 'problem' }, text)));
}

const STATUS_TEXTS = { live: 'Live', waiting: 'Reconnecting', full: 'Not connected', refused: 'Not allowed' };

openFeed({
  onState: (state) => {
    const isFirst = store.state === undefined;
    store.setState(state);
    if (isFirst) navigate();
    render();
  },
  onHistory: (history) => {
    store.setHistory(history);
    render();
  },
  onUsage: (usage) => {
    store.setUsage(usage);
    render();
  },
  onStatus: (status, why) => {
    const live = byId('live');
    setText(live, STATUS_TEXTS[status]);
    live.className = `live is-${status}`;
    if (why !== '') byId('problems').replaceChildren(element('p', { class: 'problem', role: 'alert' }, why));
  },
});

addEventListener('hashchange', navigate);
addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (event.key === '/' && !isTyping && podView === undefined && !panel.hidden) {
    event.preventDefault();
    podsView.focusFilter();
  }
  if (event.key === 'Escape' && podView !== undefined && !isTyping) location.hash = '#/pods';
});
