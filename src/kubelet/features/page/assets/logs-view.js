// The log of a container as it is written. Only the last lines are kept on the page.

import { element, setText } from './dom.js';
import { formatLogLine } from './format.js';

const TAIL_LINES = 500;
const KEPT_LINES = 2000;
/** A line is cut here; kubectl logs has the rest. */
const LINE_LIMIT = 4000;
/** Near the end of the log, new lines scroll it. */
const NEAR_PIXELS = 40;
/** Before a log whose connection was lost is opened again. */
const RETRY_MS = 3000;

export class LogsView {
  node;
  #select = element('select', { id: 'log-container', onchange: () => this.#open() });
  #previous = element('input', { type: 'checkbox', id: 'log-previous', onchange: () => this.#open() });
  #status = element('span', { class: 'note', role: 'status' });
  #text = element('pre', { class: 'log', tabindex: '0', role: 'log', 'aria-label': 'Log', 'aria-live': 'off' });
  /** @type {AbortController | undefined} */
  #reading;
  /** The log is opened when the container has started. */
  #isWaiting = false;
  /** @type {number | undefined} The run, by its count of restarts, whose log has ended */
  #endedRun;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  #pod;

  /** @param {import('./store.js').PagePod} pod */
  constructor(pod) {
    this.#pod = pod;
    this.update(pod);
    this.node = element(
      'section',
      { class: 'card', 'aria-labelledby': 'log-heading' },
      element(
        'div',
        { class: 'bar-row' },
        element('h3', { id: 'log-heading' }, 'Log'),
        element('label', { for: 'log-container' }, 'Container'),
        this.#select,
        element('label', { class: 'check' }, this.#previous, 'Previous run'),
        this.#status,
      ),
      this.#text,
    );
    const running = pod.containers.find(({ state, kind }) => state === 'running' && kind === 'container');
    if (running !== undefined) this.#select.value = running.name;
    this.#open();
  }

  /** @param {import('./store.js').PagePod} pod */
  update(pod) {
    this.#pod = pod;
    const names = pod.containers.map(({ name }) => name);
    const shown = [...this.#select.options].map(({ value }) => value);
    if (names.join('\n') !== shown.join('\n')) {
      const { value } = this.#select;
      this.#select.replaceChildren(...names.map((name) => element('option', { value: name }, name)));
      if (names.includes(value)) this.#select.value = value;
    }
    const container = pod.containers.find(({ name }) => name === this.#select.value);
    if (container === undefined) return;
    const isNextRun = this.#endedRun !== undefined && this.#endedRun !== container.restarts && !this.#previous.checked;
    if (isNextRun || (this.#isWaiting && hasStarted(container))) this.#open();
  }

  destroy() {
    clearTimeout(this.#retry);
    this.#reading?.abort();
  }

  #open() {
    this.destroy();
    this.#isWaiting = false;
    this.#endedRun = undefined;
    const container = this.#pod.containers.find(({ name }) => name === this.#select.value);
    if (container !== undefined && !hasStarted(container) && !this.#previous.checked) {
      this.#isWaiting = true;
      this.#text.replaceChildren();
      setText(this.#status, 'This container has not started yet.');
      return;
    }
    this.#reading = new AbortController();
    this.#text.replaceChildren();
    void this.#read(this.#reading.signal, container?.restarts);
  }

  /**
   * @param {AbortSignal} signal
   * @param {number | undefined} run
   */
  async #read(signal, run) {
    const { namespace, name } = this.#pod;
    const path = [namespace, name, this.#select.value].map((part) => encodeURIComponent(part.toWellFormed())).join('/');
    setText(this.#status, 'Opening');
    try {
      const answer = await fetch(
        `/api/logs/${path}?follow=true&tailLines=${TAIL_LINES}&previous=${this.#previous.checked}`,
        { signal },
      );
      if (!answer.ok || answer.body === null) {
        setText(this.#status, answer.status === 403 ? 'Logs need get of nodes/log.' : (await answer.text()).trim());
        this.#endedRun = run;
        return;
      }
      setText(this.#status, 'Following');
      const lines = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = '';
      for (let next = await lines.read(); !next.done; next = await lines.read()) {
        const pieces = (rest + next.value).split('\n');
        rest = (pieces.pop() ?? '').slice(0, LINE_LIMIT);
        this.#append(pieces);
      }
      if (rest !== '') this.#append([rest]);
      setText(this.#status, 'End of the log');
      this.#endedRun = run;
    } catch (error) {
      if (signal.aborted) return;
      const why = error instanceof Error ? error.message : String(error);
      setText(this.#status, `The connection was lost (${why}). The log is opened again.`);
      this.#retry = setTimeout(() => this.#open(), RETRY_MS);
    }
  }

  /** @param {readonly string[]} lines */
  #append(lines) {
    const { scrollHeight, scrollTop, clientHeight } = this.#text;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PIXELS;
    for (const line of lines.slice(-KEPT_LINES))
      this.#text.append(element('span', {}, `${formatLogLine(line.slice(0, LINE_LIMIT))}\n`));
    while (this.#text.childElementCount > KEPT_LINES) this.#text.firstElementChild?.remove();
    if (isAtEnd) this.#text.scrollTop = this.#text.scrollHeight;
  }
}

/**
 * A container that waits for its first start has no log.
 *
 * @param {import('./store.js').PagePod['containers'][number]} container
 */
function hasStarted({ state, restarts, reason }) {
  return state !== 'waiting' || restarts > 0 || reason === 'CrashLoopBackOff';
}
