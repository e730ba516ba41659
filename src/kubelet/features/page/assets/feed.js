// The stream of the node: it reconnects until the server refuses it.

/**
 * @typedef {object} FeedHandlers
 * @property {(state: import('../page-state.ts').PageState) => void} onState
 * @property {(history: import('./store.js').NodeSample[]) => void} onHistory
 * @property {(usage: import('../page-state.ts').PageUsage) => void} onUsage
 * @property {(status: 'live' | 'waiting' | 'full' | 'refused', why: string) => void} onStatus
 */

const RETRY_MS = 3000;

/** @param {FeedHandlers} handlers */
export function openFeed(handlers) {
  const source = new EventSource('/api/events');
  const on = (/** @type {string} */ name, /** @type {(value: any) => void} */ take) =>
    source.addEventListener(name, (event) => {
      take(JSON.parse(/** @type {MessageEvent} */ (event).data));
      handlers.onStatus('live', '');
    });
  on('state', handlers.onState);
  on('history', handlers.onHistory);
  on('usage', handlers.onUsage);
  source.addEventListener('full', () => {
    source.close();
    handlers.onStatus('full', 'Too many pages of this node are open. Close one of them and load this page again.');
  });
  source.addEventListener('error', () => {
    handlers.onStatus('waiting', '');
    // The browser reconnects after a lost connection, but not after a response with an error.
    if (source.readyState === EventSource.CLOSED) void afterRefusal(handlers);
  });
}

/** @param {FeedHandlers} handlers */
async function afterRefusal(handlers) {
  try {
    const answer = await fetch('/api/session');
    if (answer.status === 401) location.assign('/login');
    else if (answer.status === 403)
      handlers.onStatus(
        'refused',
        `You may not see this node. It needs get of nodes/stats and nodes/pods. The server says: ${await answer.text()}`,
      );
    else setTimeout(() => openFeed(handlers), RETRY_MS);
  } catch {
    setTimeout(() => void afterRefusal(handlers), RETRY_MS);
  }
}
